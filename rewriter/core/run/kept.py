"""Answers about instructions that are asked again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cache
from operator import itemgetter
from typing import TypeVar

from rewriter.core.isa.instruction import Insn, Op

Operands = Callable[[Op], Iterable[int]]
"""The positions of operands of a row."""

_Answer = TypeVar("_Answer")
_KEPT = 1 << 16  # objects, and answers
_ANSWERS = 1 << 14  # where no object is kept


def itself(insn: Insn) -> Hashable:
    """The instruction by its row, of which there is one object, and its operands."""
    return id(insn.op), insn.operands


def by(operands: Operands) -> Callable[[Insn], Hashable]:
    """The key of an instruction: its row, of which there is one object, and these operands."""

    @cache
    def picking(op: Op) -> Callable[[tuple[int, ...]], Hashable]:
        chosen = tuple(operands(op))
        return itemgetter(*chosen) if chosen else len

    def key(insn: Insn) -> Hashable:
        return id(insn.op), picking(insn.op)(insn.operands)

    return key


def alike(
    answer: Callable[[Insn], _Answer], key: Callable[[Insn], Hashable]
) -> Callable[[Insn], _Answer]:
    """A function of what a `key` says of an instruction; no instruction is held for its answer."""
    values: dict[Hashable, _Answer] = {}

    def asked(insn: Insn) -> _Answer:
        named = key(insn)
        found = values.get(named)
        if found is None:
            if len(values) >= _ANSWERS:
                values.clear()
            found = values[named] = answer(insn)
        return found

    return asked


def kept(
    answer: Callable[[Insn], _Answer], key: Callable[[Insn], Hashable] = itself
) -> Callable[[Insn], _Answer]:
    """A function of an instruction alone, whose answers are kept.

    It looks at the object first and at its value only when the object is new: decoded words are
    kept, so that most instructions come again as the same object, and comparing costs more than
    most answers.  Instructions with one `key` have one answer.

    A class with a `__call__` would take twice as long to find an answer.
    """
    objects: dict[int, tuple[Insn, _Answer]] = {}  # an object is held as long as its number is
    values: dict[Hashable, _Answer] = {}

    def asked(insn: Insn) -> _Answer:
        found = objects.get(id(insn))
        return new(insn) if found is None else found[1]

    def new(insn: Insn) -> _Answer:
        if len(objects) >= _KEPT:
            objects.clear()
        if len(values) >= _KEPT:
            values.clear()
        named = key(insn)
        found = values.get(named)
        if found is None:
            found = values[named] = answer(insn)
        objects[id(insn)] = insn, found
        return found

    return asked
