"""Answers about instructions that are asked again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from rewriter.core.isa.instruction import Insn

_Answer = TypeVar("_Answer")
_KEPT = 1 << 16  # objects, and answers


def itself(insn: Insn) -> Hashable:
    """The instruction by its row, of which there is one object, and its operands."""
    return id(insn.op), insn.operands


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
