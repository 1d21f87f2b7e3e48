"""Runs whose accesses may stand anywhere: what is shown to do the same, and what is not.

Aliasing with partial overlaps, addresses that wrap around, bytes in either order.  Each mutant of
the rules is a mistake that somebody could make, and some pair of runs shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from rewriter.core.isa.registers import Reg
from rewriter.core.readings.extents import Extent
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.readings.unaligned import Unaligned
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.terms.lower import Lowering
from rewriter.verify.terms.prover import Prover
from rewriter.verify.terms.remembered import shared
from rewriter.verify.walk import equivalence
from rewriter.verify.walk.equivalence import Comparison, Different

Run = Callable[[Any, Term, Term, Term], Term | None]
"""Does something with a machine, two addresses and a value; gives what is read afterwards."""


class Pair(NamedTuple):
    """Two runs, whether they do the same, and the order of bytes that this is so in."""

    old: Run
    new: Run
    same: bool
    order: ByteOrder = "big"
    width: int = 32


def _word(m: Any, p: Term, q: Term, v: Term) -> Term:
    return m.load(p, 4)


def _halves(m: Any, p: Term, q: Term, v: Term) -> Term:
    return m.shl(m.load(p, 2), m.const(16)) | m.load(p + m.const(2), 2)


def _swapped(m: Any, p: Term, q: Term, v: Term) -> Term:
    return m.shl(m.load(p + m.const(2), 2), m.const(16)) | m.load(p, 2)


def _at(distance: int, size: int) -> Run:
    """A load at a distance, zero-extended."""
    return lambda m, p, q, v: m.load(p + m.const(distance), size)


def _byte_of_word(shift: int) -> Run:
    """A load of a word that keeps one byte."""
    return lambda m, p, q, v: m.zext(m.lshr(m.load(p, 4), m.const(shift)), 8)


def _stored(*parts: tuple[int, int, int]) -> Run:
    """Stores of the value: how far from p, size, how far it is shifted right before."""

    def run(m: Any, p: Term, q: Term, v: Term) -> None:
        for distance, size, shift in parts:
            m.store(p + m.const(distance), m.lshr(v, m.const(shift)), size)

    return run


def _around(distance: int, size: int, first: bool, base: str = "p") -> Run:
    """A load of a word at q, or at a distance from p, before or behind a store at p."""

    def run(m: Any, p: Term, q: Term, v: Term) -> Term:
        place = (p if base == "p" else q) + m.const(distance)
        found = m.load(place, size) if first else None
        m.store(p, v, 4)
        return found if found is not None else m.load(place, size)

    return run


def _passing(distance: int, size: int, same: bool, base: str = "p") -> Pair:
    """A load that goes before a store of four bytes."""
    return Pair(_around(distance, size, False, base), _around(distance, size, True, base), same)


def _both(swapped: bool, distance: int) -> Run:
    """Two stores at a distance, in one order or the other, and what the first place then holds."""

    def run(m: Any, p: Term, q: Term, v: Term) -> Term:
        parts = [(p, v, 4), (p + m.const(distance), ~v, 4)]
        for place, value, size in parts[::-1] if swapped else parts:
            m.store(place, value, size)
        return m.load(p, 4)

    return run


def _through(middle: int, size: int, taken: int) -> Run:
    """A word is stored, part of it is stored over, and a part of all that is read."""

    def run(m: Any, p: Term, q: Term, v: Term) -> Term:
        m.store(p, v, 4)
        m.store(q, v, size)
        return m.load(p + m.const(middle), taken)

    return run


def _by_hand(m: Any, p: Term, q: Term, v: Term) -> Term:
    """`_through(0, 1, 4)`, where q is in the word if it is as far from p as it must be for that."""
    m.store(p, v, 4)
    m.store(q, v, 1)
    found = v
    for byte in range(4):
        shift = m.const(24 - 8 * byte)
        inside = m.eq(q, p + m.const(byte))
        mixed = (found & ~m.shl(m.const(0xFF), shift)) | m.shl(m.zext(v, 8), shift)
        found = m.ite(inside, mixed, found)
    return found


PAIRS = {
    "a word is its halves, the high one first": Pair(_word, _halves, True),
    "the other order": Pair(_word, _swapped, False),
    "little-endian, the low half first": Pair(_word, _swapped, True, "little"),
    "little-endian, as if it were big": Pair(_word, _halves, False, "little"),
    "the first byte is the highest": Pair(_byte_of_word(24), _at(0, 1), True),
    "the first byte is not the lowest": Pair(_byte_of_word(0), _at(0, 1), False),
    "the last byte is the lowest": Pair(_byte_of_word(0), _at(3, 1), True),
    "little-endian, the first byte is the lowest": Pair(
        _byte_of_word(0), _at(0, 1), True, "little"
    ),
    "in a doubleword": Pair(_byte_of_word(24), _at(0, 1), True, width=64),
    "less is read": Pair(_byte_of_word(8), _at(2, 1), True),
    "the byte behind is not the word's": Pair(_byte_of_word(0), _at(4, 1), False),
    "a word is two stores": Pair(_stored((0, 4, 0)), _stored((0, 2, 16), (2, 2, 0)), False),
    "two stores are a word": Pair(_stored((0, 2, 16), (2, 2, 0)), _stored((0, 4, 0)), False),
    "a store becomes narrower": Pair(_stored((0, 4, 0)), _stored((0, 2, 16)), False),
    "a store becomes wider": Pair(_stored((0, 1, 0)), _stored((0, 2, 0)), False),
    "a store elsewhere": Pair(_stored((0, 2, 0)), _stored((1, 2, 0)), False),
    "the same store": Pair(_stored((1, 2, 0)), _stored((1, 2, 0)), True),
    "a load behind all bytes of the store": _passing(4, 4, True),
    "a load before all of them": _passing(-4, 4, True),
    "a load that begins in the store": _passing(3, 4, False),
    "a load that ends in the store": _passing(-3, 4, False),
    "a byte before the store": _passing(-1, 1, True),
    "a byte of the store": _passing(2, 1, False),
    "a load that begins a byte before": _passing(-1, 2, False),
    "wrapped around": _passing(2**32 - 2, 4, False),
    "wrapped around, apart": _passing(2**32 - 2, 2, True),
    "nothing is known of the other address": _passing(0, 4, False, "q"),
    "not even of a byte": _passing(0, 1, False, "q"),
    "stores apart change places": Pair(_both(False, 4), _both(True, 4), False),
    "stores that overlap change places": Pair(_both(False, 2), _both(True, 2), False),
    "a byte that may be in a word": Pair(_through(0, 1, 4), _by_hand, True),
    "two bytes that may be": Pair(_through(0, 2, 4), _by_hand, False),
}


def compared(pair: Pair) -> bool:
    """Whether two runs are shown to do the same; nothing is remembered from before."""
    shared((pair.width, pair.width // 8)).clear()
    terms = Terms(pair.width)
    states = []
    for run in (pair.old, pair.new):
        machine = Unaligned(terms, {}, pair.order)
        result = run(machine, *(machine.get(Reg(n)) for n in range(3)))
        if result is not None:
            machine.set(Reg(3), result)
        states.append(machine)
    comparison = Comparison(Prover(pair.width, pair.width // 8), terms, ("p", "q", "v", "result"))
    try:
        comparison.check(states[0], states[1], 1 << 3)
    except Different:
        return False
    return True


@pytest.mark.parametrize("name", PAIRS)
def test_what_does_the_same(name: str) -> None:
    assert compared(PAIRS[name]) == PAIRS[name].same


# What would be wrong --------------------------------------------------------------------------


def _backwards(extent: Extent, byte: int) -> int:
    return 8 * (extent.size - 1 - byte if extent.order == "little" else byte)


def _always_apart(terms: Terms, memory: Term, address: Term, extent: Extent) -> Term:
    """A read that looks past every write that does not hold all of it."""
    while memory.kind == "write" and memory.args[1] is not address:
        memory = memory.args[0]
    return terms.make("read", memory, address, data=extent.data)


def _by_cell(terms: Terms, memory: Term, address: Term, extent: Extent) -> Term:
    """A read that looks past writes that start at another address, as cells allow."""
    root, place = terms.linear(address)
    while memory.kind == "write":
        base, start = terms.linear(memory.args[1])
        if base is not root or start == place:
            break
        memory = memory.args[0]
    return terms.make("read", memory, address, data=extent.data)


def _signed(terms: Terms, memory: Term, address: Term, extent: Extent) -> Term:
    """A read that takes bytes before a write for bytes apart from it, however long it is."""
    root, place = terms.linear(address)
    while memory.kind == "write":
        base, start = terms.linear(memory.args[1])
        if base is not root or 0 <= place - start < Extent.of(memory.data).size:
            break
        memory = memory.args[0]
    return terms.make("read", memory, address, data=extent.data)


def _first_byte(lowering: Lowering, byte: Any, other: Any) -> Any:
    """Bytes meet only where what they are reached from is one."""
    return byte[0] == other[0] and byte[1] == other[1]


def _one_byte(machine: Unaligned, address: Term, size: int, reach: Any) -> Any:
    """Only the first byte of an access is said to be touched."""
    known = set(machine.loaded)
    found = reach(machine, address, size)
    machine.loaded.intersection_update(known | {address})
    return found


def _no_width(comparison: Comparison, old: Any, new: Any, what: str) -> None:
    """Stores are the same though they take more or fewer bytes."""
    comparison.same(old[0], new[0], what)
    comparison._stands_for(comparison.through(new[2]), old[2])


MUTANTS: dict[str, tuple[object, str, object]] = {
    "bytes in the other order": (Extent, "significance", _backwards),
    "every other write is elsewhere": (Terms, "read", _always_apart),
    "apart by cell": (Terms, "read", _by_cell),
    "what begins before a write is apart": (Terms, "read", _signed),
    "other roots never meet": (Lowering, "_same_byte", _first_byte),
    "stores of any width": (equivalence.Comparison, "_store", _no_width),
    "only the first byte is touched": (
        Unaligned, "_reach", lambda m, a, n, reach=Unaligned._reach: _one_byte(m, a, n, reach)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, attribute, wrong = MUTANTS[name]
    monkeypatch.setattr(where, attribute, wrong)
    found = [claim for claim, pair in PAIRS.items() if compared(pair) != pair.same]
    assert found, "nothing shows it"
