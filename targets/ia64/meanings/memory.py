"""Loads and stores of general registers, and checks of speculation (SDM vol. 3, ld, st, chk)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault
from targets.ia64.machine.faults import IllegalOperation
from targets.ia64.machine.frames import bit_of
from targets.ia64.machine.state import MASK, POISON, UNAT, State
from targets.ia64.meanings.binding import Meaning, Run, named
from targets.ia64.registers import NUMBERS

CSD = NUMBERS["ar.csd"]
SPECULATIVE = (".s", ".sa")
ADVANCED = (".a", ".sa", ".c.nc")  # enter what they load into the ALAT
_ORDERINGS = ("", ".bias", ".acq")

Access = Callable[[State, int], None]


def post_increment(insn: Insn) -> Run | None:
    """What an access does to its address register; None without an increment."""
    layout = insn.op.format
    if "r3" not in layout.updates:  # type: ignore[attr-defined]
        return None
    r3 = insn.operand("r3")
    if insn.has("r2") and "[{r3}],{r2}" in layout.syntax:
        r2 = insn.operand("r2")
        return lambda m: m.put(r3, m.r[r3] + m.r[r2], m.nat[r3] | m.nat[r2])
    step = insn.operand("imm9") if insn.has("imm9") else int(layout.syntax.rpartition(",")[2])
    return lambda m: m.put(r3, m.r[r3] + step, m.nat[r3])


def at_address(make: Callable[[Insn], Access]) -> Meaning:
    """An access at r3, which may not be a NaT, and the increment of r3."""

    def bind(insn: Insn, address: int) -> Run:
        access, increment, r3 = make(insn), post_increment(insn), insn.operand("r3")
        if increment is None:
            return lambda m: access(m, m.plain(r3))
        if insn.has("r1") and insn.operand("r1") == r3:
            raise IllegalOperation("the loaded register is the incremented one")

        def run(m: State) -> None:
            access(m, m.plain(r3))
            increment(m)

        return run

    return bind


def speculated(make: Callable[[Insn], tuple[Access, Run]]) -> Meaning:
    """As `at_address`, but a fault or a NaT in r3 is deferred: `make` gives also what happens
    then."""

    def bind(insn: Insn, address: int) -> Run:
        (access, defer), increment = make(insn), post_increment(insn)
        r3 = insn.operand("r3")

        def run(m: State) -> None:
            if m.nat[r3] or m.deferring:
                m.deferring = False
                defer(m)
            else:
                try:
                    access(m, m.r[r3])
                except (AccessFault, Misaligned):
                    defer(m)
            if increment:
                increment(m)

        return run

    return bind


def _load(size: int, enter: bool) -> Callable[[Insn], Access]:
    def make(insn: Insn) -> Access:
        r1 = insn.operand("r1")

        def access(m: State, address: int) -> None:
            m.put(r1, m.load(address, size))
            if enter:
                m.alat.enter(m.physical(r1), address, size)

        return access

    return make


def _checked(size: int, clear: bool) -> Callable[[Insn], Access]:
    """ld.c: a load only if the ALAT has lost the entry."""
    reload = _load(size, enter=not clear)

    def make(insn: Insn) -> Access:
        r1, again = insn.operand("r1"), reload(insn)

        def access(m: State, address: int) -> None:
            if not m.alat.check(m.physical(r1), clear):
                again(m, address)

        return access

    return make


def _deferring(size: int, enter: bool) -> Callable[[Insn], tuple[Access, Run]]:
    load = _load(size, enter)

    def make(insn: Insn) -> tuple[Access, Run]:
        r1 = insn.operand("r1")

        def defer(m: State) -> None:
            m.alat.entries.pop(m.physical(r1), None)
            m.put(r1, POISON & (1 << 8 * size) - 1, 1)

        return load(insn), defer

    return make


def _fill(insn: Insn) -> Access:
    r1 = insn.operand("r1")

    def access(m: State, address: int) -> None:
        m.put(r1, m.load(address, 8), m.r[UNAT] >> bit_of(address) & 1)

    return access


def _load16(m: State, r1: int, r3: int) -> None:
    value = m.load(m.plain(r3), 16)
    m.put(r1, value)
    m.r[CSD] = value >> 64


def _loads() -> Iterator[tuple[str, Meaning]]:
    for size in (1, 2, 4, 8):
        for kind in _ORDERINGS:
            yield f"ld{size}{kind}", at_address(_load(size, enter=False))
        yield f"ld{size}.a", at_address(_load(size, enter=True))
        for kind in SPECULATIVE:
            yield f"ld{size}{kind}", speculated(_deferring(size, kind in ADVANCED))
        for kind in (".c.clr", ".c.nc", ".c.clr.acq"):
            yield f"ld{size}{kind}", at_address(_checked(size, kind not in ADVANCED))
    yield "ld8.fill", at_address(_fill)
    yield "ld16", named(_load16)
    yield "ld16.acq", named(_load16)


def _store(size: int) -> Callable[[Insn], Access]:
    def make(insn: Insn) -> Access:
        r2 = insn.operand("r2")
        return lambda m, address: m.store(address, m.plain(r2), size)

    return make


def _spill(insn: Insn) -> Access:
    r2 = insn.operand("r2")

    def access(m: State, address: int) -> None:
        m.store(address, m.r[r2], 8)
        bit = 1 << bit_of(address)
        m.r[UNAT] = m.r[UNAT] | bit if m.nat[r2] else m.r[UNAT] & ~bit

    return access


def _store16(m: State, r3: int, r2: int) -> None:
    m.store(m.plain(r3), m.plain(r2) | m.r[CSD] << 64, 16)


def _stores() -> Iterator[tuple[str, Meaning]]:
    for size in (1, 2, 4, 8):
        for kind in ("", ".rel"):
            yield f"st{size}{kind}", at_address(_store(size))
    yield "st8.spill", at_address(_spill)
    yield "st16", named(_store16)
    yield "st16.rel", named(_store16)


def _check_speculation(m: State, r2: int, target25: int) -> None:
    if m.nat[r2]:
        m.target = target25


def _check_advanced(clear: bool) -> Meaning:
    """chk.a: to the recovery code if the ALAT has lost the register's entry."""

    def bind(insn: Insn, address: int) -> Run:
        register = insn.operand("r1" if insn.has("r1") else "f1")
        target = (address & -16) + insn.operand("target25") & MASK

        def run(m: State) -> None:
            if not m.alat.check(m.physical(register), clear):
                m.target = target

        return run

    return bind


def _invalidate_all(m: State) -> None:
    m.alat.entries.clear()


def _invalidate_general(m: State, r1: int) -> None:
    m.alat.entries.pop(m.physical(r1), None)


def _invalidate_floating(m: State, f1: int) -> None:
    m.alat.entries.pop(m.physical(f1), None)


_CHECKS = {
    "chk.s.i": named(_check_speculation),
    "chk.s.m": named(_check_speculation),
    "chk.a.clr": _check_advanced(clear=True),
    "chk.a.nc": _check_advanced(clear=False),
    "invala": named(_invalidate_all),
    "invala.e {r1}": named(_invalidate_general),
    "invala.e {f1}": named(_invalidate_floating),
}

MEANINGS: dict[str, Meaning] = {
    **dict(_loads()),
    **dict(_stores()),
    **_CHECKS,
}
