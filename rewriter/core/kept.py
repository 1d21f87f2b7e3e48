"""Answers about instructions that are asked again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from rewriter.core.isa import Insn

_Answer = TypeVar("_Answer")
_OBJECTS, _ANSWERS = 1 << 16, 1 << 17  # that are kept


def itself(insn: Insn) -> Hashable:
    """The instruction by its row, of which there is one object, and its operands."""
    return id(insn.op), insn.operands


class Kept(Generic[_Answer]):
    """A function of an instruction alone, whose answers are kept.

    It looks at the object first and at its value only when the object is new: decoded words are
    kept, so that most instructions come again as the same object, and comparing costs more than
    most answers.  Instructions with one `key` have one answer.
    """

    def __init__(
        self, answer: Callable[[Insn], _Answer], key: Callable[[Insn], Hashable] = itself
    ) -> None:
        self._answer, self._key = answer, key
        # An object is held as long as its number is.
        self._objects: dict[int, tuple[Insn, _Answer]] = {}
        self._values: dict[Hashable, _Answer] = {}

    def __call__(self, insn: Insn) -> _Answer:
        """The answer."""
        found = self._objects.get(id(insn))
        return self._new(insn) if found is None else found[1]

    def _new(self, insn: Insn) -> _Answer:
        if len(self._objects) >= _OBJECTS:
            self._objects.clear()
        if len(self._values) >= _ANSWERS:
            self._values.clear()
        key = self._key(insn)
        answer = self._values.get(key)
        if answer is None:
            answer = self._values[key] = self._answer(insn)
        self._objects[id(insn)] = insn, answer
        return answer
