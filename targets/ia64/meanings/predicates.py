"""Compares and tests: what they do to two predicates (SDM vol. 3, cmp, tbit, tnat, tf)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import eq, ge, gt, le, lt, ne

from rewriter.core.isa.instruction import Insn
from targets.ia64.machine.faults import IllegalOperation
from targets.ia64.machine.state import State
from targets.ia64.meanings.binding import Meaning, Run, named, sources
from targets.ia64.registers import PR

Write = Callable[[State, int, int, bool, int], None]


def _both(m: State, p1: int, p2: int, relation: bool, nat: int) -> None:
    if p1 == p2:
        raise IllegalOperation(f"both results go to p{p1 - PR}")
    m.put_predicate(p1, relation and not nat)
    m.put_predicate(p2, not relation and not nat)


def _and(m: State, p1: int, p2: int, relation: bool, nat: int) -> None:
    if nat or not relation:
        m.put_predicate(p1, 0)
        m.put_predicate(p2, 0)


def _or(m: State, p1: int, p2: int, relation: bool, nat: int) -> None:
    if relation and not nat:
        m.put_predicate(p1, 1)
        m.put_predicate(p2, 1)


def _or_andcm(m: State, p1: int, p2: int, relation: bool, nat: int) -> None:
    if relation and not nat:
        m.put_predicate(p1, 1)
        m.put_predicate(p2, 0)


def _clear(m: State, p1: int, p2: int) -> None:
    if p1 == p2:
        raise IllegalOperation(f"both results go to p{p1 - PR}")
    m.put_predicate(p1, 0)
    m.put_predicate(p2, 0)


# What an unconditional compare does when its qualifying predicate is false.
CLEAR = named(_clear)

# The completers of a compare's type.
TYPES: Mapping[str, Write] = {
    "": _both,
    ".unc": _both,
    ".and": _and,
    ".or": _or,
    ".or.andcm": _or_andcm,
}

# The relation, and whether it takes its operands as signed.
_RELATIONS: Mapping[str, tuple[Callable[[int, int], bool], bool]] = {
    "eq": (eq, False),
    "ne": (ne, False),
    "lt": (lt, True),
    "le": (le, True),
    "gt": (gt, True),
    "ge": (ge, True),
    "ltu": (lt, False),
}
# Those of a compare that writes both results, and those of a parallel one.
_ALONE, _TOGETHER = ("eq", "lt", "ltu"), ("eq", "ne", "lt", "le", "gt", "ge")
_SIZES = {"cmp": 64, "cmp4": 32}


def _compare(relation: str, bits: int, write: Write) -> Meaning:
    holds, is_signed = _RELATIONS[relation]
    mask, flip = (1 << bits) - 1, 1 << bits - 1 if is_signed else 0

    def bind(insn: Insn, address: int) -> Run:
        p1, p2 = insn.operand("p1"), insn.operand("p2")
        found = sources(insn)
        (register, a), (_, b) = found if len(found) == 2 else ((True, 0), *found)

        def run(m: State) -> None:
            left = m.r[a] if register else a
            nat = m.nat[b] | (m.nat[a] if register else 0)
            write(m, p1, p2, holds((left & mask) ^ flip, (m.r[b] & mask) ^ flip), nat)

        return run

    return bind


def _compares() -> Iterator[tuple[str, Meaning]]:
    for name, bits in _SIZES.items():
        for completer, write in TYPES.items():
            for relation in _ALONE if write is _both else _TOGETHER:
                yield f"{name}.{relation}{completer}", _compare(relation, bits, write)


def _test_bit(write: Write, sense: int) -> Meaning:
    def does(m: State, p1: int, p2: int, r3: int, pos6: int) -> None:
        write(m, p1, p2, m.r[r3] >> pos6 & 1 == sense, m.nat[r3])

    return named(does)


def _test_nat(write: Write, sense: int) -> Meaning:
    def does(m: State, p1: int, p2: int, r3: int) -> None:
        write(m, p1, p2, m.nat[r3] == sense, 0)

    return named(does)


def _test_feature(write: Write, sense: int) -> Meaning:
    def does(m: State, p1: int, p2: int, pos5: int) -> None:
        write(m, p1, p2, m.files.get(("cpuid", 4), 0) >> pos5 & 1 == sense, 0)

    return named(does)


_SENSES = (".z", 0), (".nz", 1)


def _tests() -> Iterator[tuple[str, Meaning]]:
    for completer, write in TYPES.items():
        for letter, sense in _SENSES[: 1 if write is _both else 2]:
            yield f"tbit{letter}{completer}", _test_bit(write, sense)
            yield f"tnat{letter}{completer}", _test_nat(write, sense)
            yield f"tf{letter}{completer}", _test_feature(write, sense)


MEANINGS = {**dict(_compares()), **dict(_tests())}
