"""Rows: branches, the condition register, traps (Power ISA 3.1B, Book I, chapter 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rewriter.core.isa.instruction import Flow, Op
from targets.ppc.isa.features import wide
from targets.ppc.isa.formats import BRANCH_HINTS, d, row, x
from targets.ppc.meanings import control
from targets.ppc.meanings.control import Asked
from targets.ppc.registers import CTR, LR, TAR

_AA, _LK = 2, 1

# What BO asks for: the name of the operand that holds what is left of BO (`formats`), and its
# fixed bits (Power ISA 3.1B, Book I, section 2.4, figure 40).
_ASKED = {
    "bo_nz_f": Asked(zero=False, true=False),
    "bo_z_f": Asked(zero=True, true=False),
    "bo_f": Asked(true=False),
    "bo_nz_t": Asked(zero=False, true=True),
    "bo_z_t": Asked(zero=True, true=True),
    "bo_t": Asked(true=True),
    "bo_nz": Asked(zero=False),
    "bo_z": Asked(zero=True),
    "bo_always": Asked(),
}


def _fixed(bo: str) -> int:
    return BRANCH_HINTS[bo].fixed << 21


def _tested(asked: Asked) -> str:
    """The name of the operand in the BI field."""
    return "bi" if asked.true is not None else "bi_any"


def _unconditional() -> Iterator[Op]:
    for name, target, bits, links in (
        ("b", "li", 0, False),
        ("bl", "li", _LK, True),
        ("ba", "li_abs", _AA, False),
        ("bla", "li_abs", _AA | _LK, True),
    ):
        flow = Flow.CALL if links else Flow.JUMP
        yield row(name, target, d(18, bits), control.branch(links), "branch", flow=flow)


def _conditional() -> Iterator[Op]:
    for name, target, bits, links in (
        ("bc", "bd", 0, False),
        ("bcl", "bd", _LK, True),
        ("bca", "bd_abs", _AA, False),
        ("bcla", "bd_abs", _AA | _LK, True),
    ):
        for bo, asked in _ASKED.items():
            text, meaning = (
                f"{bo},{_tested(asked)},{target}",
                control.branch_conditional(asked, links),
            )
            flow = _placed(asked, links)
            yield row(name, text, d(16, bits) | _fixed(bo), meaning, "branch", flow=flow)


def _where_it_stands() -> Op:
    """`bcl 20,31,.+4` is no call: LR gets its address (Power ISA 3.1B, Book I, section 2.4)."""
    calls = (op for op in _conditional() if (op.name, op.flow) == ("bcl", Flow.CALL))
    (call,) = calls
    word = 0x429F0005
    assert word & call.mask == call.match
    return replace(call, match=word, mask=call.mask | 0xFFFFFFFF, flow=Flow.HERE)


def _placed(asked: Asked, links: bool) -> Flow:
    if asked.always:
        return Flow.CALL if links else Flow.JUMP
    return Flow.CALL_IF if links else Flow.BRANCH


# name, register, extended opcode, feature
COUNT_CACHE = 0x4C400420
_REGISTERS = (("bclr", LR, 16, ""), ("bcctr", CTR, 528, ""), ("bctar", TAR, 560, "2.07"))


def _to_registers() -> Iterator[Op]:
    for name, register, extended, needs in _REGISTERS:
        for bo, asked in _ASKED.items():
            if register == CTR and asked.zero is not None:
                continue  # an invalid form: it would count the target down
            for links in (False, True):
                text = f"{bo},{_tested(asked)},bh"
                meaning = control.branch_to(register, asked, links)
                bits, flow = x(19, extended, links) | _fixed(bo), _computed(name, asked, links)
                yield row(name + "l" * links, text, bits, meaning, "jmpreg", needs, flow)


def _counting_down() -> Op:
    """`bcctr 2,0,0`, an invalid form: Linux empties the count cache with it (PPC_BCCTR_FLUSH)."""
    bits = x(19, 528) | _fixed("bo_z_f")
    made = row(
        "bcctr", "bo_z_f,bi,bh", bits, control.empty_count_cache, "jmpreg", "", Flow.INDIRECT_IF
    )
    assert COUNT_CACHE & made.mask == made.match
    return replace(made, match=COUNT_CACHE, mask=made.mask | 0xFFFFFFFF)


def _computed(name: str, asked: Asked, links: bool) -> Flow:
    if links:
        return Flow.INDIRECT_CALL if asked.always else Flow.INDIRECT_CALL_IF
    if name == "bclr":
        return Flow.RETURN if asked.always else Flow.RETURN_IF
    return Flow.INDIRECT if asked.always else Flow.INDIRECT_IF


_LOGIC: tuple[tuple[str, int, control.Logic], ...] = (
    ("crnor", 33, lambda m, a, b: ~(a | b)),
    ("crandc", 129, lambda m, a, b: a & ~b),
    ("crxor", 193, lambda m, a, b: a ^ b),
    ("crnand", 225, lambda m, a, b: ~(a & b)),
    ("crand", 257, lambda m, a, b: a & b),
    ("creqv", 289, lambda m, a, b: ~(a ^ b)),
    ("crorc", 417, lambda m, a, b: a | ~b),
    ("cror", 449, lambda m, a, b: a | b),
)


def _fields() -> Iterator[Op]:
    for name, extended, function in _LOGIC:
        meaning = control.logic(function)
        yield row(name, "bt,ba,bb", x(19, extended), meaning, "cr_logical")
    one = 1 << 20
    yield row("mcrf", "bf,bfa", x(19, 0), control.move_field, "cr_logical")
    yield row("mfcr", "rt", x(31, 19), control.read_all, "mfcr")
    yield row("mfocrf", "rt,fxm_one", x(31, 19) | one, control.read_one, "mfcrf", "2.00")
    yield row("mtcrf", "fxm,rs", x(31, 144), control.write_some, "mtcr")
    yield row("mtocrf", "fxm_one,rs", x(31, 144) | one, control.write_some, "mtcr", "2.00")


def _traps() -> Iterator[Op]:
    for name, second, bits, needs in (
        ("tdi", "si", d(2), wide()),
        ("twi", "si", d(3), ""),
        ("tw", "rb", x(31, 4), ""),
        ("td", "rb", x(31, 68), wide()),
    ):
        meaning = control.trap(name)
        yield row(name, f"to,ra,{second}", bits, meaning, "trap", needs, Flow.TRAP)


ROWS = (
    *_unconditional(),
    *_conditional(),
    _where_it_stands(),
    *_to_registers(),
    _counting_down(),
    *_fields(),
    *_traps(),
)
