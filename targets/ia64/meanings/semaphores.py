"""Semaphores and prefetches (SDM vol. 3, cmpxchg, fetchadd, lfetch, xchg)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Insn
from targets.ia64.machine.state import MASK, State
from targets.ia64.meanings.binding import Meaning, Run, named
from targets.ia64.meanings.memory import CSD, post_increment
from targets.ia64.registers import NUMBERS

_CCV = NUMBERS["ar.ccv"]


def _exchange(size: int) -> Meaning:
    def does(m: State, r1: int, r3: int, r2: int) -> None:
        address, value = m.plain(r3), m.plain(r2)
        old = m.load(address, size)
        m.store(address, value, size)
        m.put(r1, old)

    return named(does)


def _compare_exchange(size: int) -> Meaning:
    def does(m: State, r1: int, r3: int, r2: int) -> None:
        address, value = m.plain(r3), m.plain(r2)
        old = m.load(address, size)
        if old == m.r[_CCV]:
            m.store(address, value, size)
        m.put(r1, old)

    return named(does)


def _compare_exchange_wide(m: State, r1: int, r3: int, r2: int) -> None:
    address, value = m.plain(r3), m.plain(r2)
    old = m.load(address, 8)
    if old == m.r[_CCV]:
        m.store(address & -16, value | m.r[CSD] << 64, 16)
    m.put(r1, old)


def _fetch_add(size: int) -> Meaning:
    def does(m: State, r1: int, r3: int, inc3: int) -> None:
        address = m.plain(r3)
        old = m.load(address, size)
        m.store(address, old + inc3 & MASK, size)
        m.put(r1, old)

    return named(does)


def _semaphores() -> Iterator[tuple[str, Meaning]]:
    for size in (1, 2, 4, 8):
        yield f"xchg{size}", _exchange(size)
        for order in (".acq", ".rel"):
            yield f"cmpxchg{size}{order}", _compare_exchange(size)
            if size >= 4:
                yield f"fetchadd{size}{order}", _fetch_add(size)
    for order in (".acq", ".rel"):
        yield f"cmp8xchg16{order}", named(_compare_exchange_wide)


def _prefetch(faults: bool) -> Meaning:
    def bind(insn: Insn, address: int) -> Run:
        increment, r3 = post_increment(insn), insn.operand("r3")

        def run(m: State) -> None:
            if faults and not m.deferring:
                m.memory.read(m.plain(r3), 1)
            m.deferring = False
            if not m.nat[r3]:
                m.access, m.size, m.stored = m.r[r3], 0, False
            if increment:
                increment(m)

        return run

    return bind


def _prefetches() -> Iterator[tuple[str, Meaning]]:
    for kind in ("", ".excl", ".count"):
        yield f"lfetch{kind}", _prefetch(faults=False)
    for kind in (".fault", ".fault.excl"):
        yield f"lfetch{kind}", _prefetch(faults=True)


MEANINGS: dict[str, Meaning] = {**dict(_semaphores()), **dict(_prefetches())}
