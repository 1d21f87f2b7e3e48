"""Assignments on which conditions hold that hardly any assignment fulfils.

A claim under conditions is refuted by an assignment on which they hold and its terms differ.
Where none of those that are drawn fulfils the conditions, a solver would be asked claim by claim;
here it is asked once for an assignment, and the claims under the same conditions are tried on that
and on others like it.  What they say is true whatever the solver said: the conditions are looked at
again on each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewriter.core.readings.batched import Lanes
from rewriter.core.terms.term import Term
from rewriter.verify.terms.noise import Conditions, Memory
from rewriter.verify.terms.samples import FEW, Signatures

_EXACT = np.arange(FEW) < FEW // 2
"""The lanes in which all is as was said; in the others some of it is, so that nothing else is the
same in all."""


@dataclass(frozen=True, slots=True)
class Said:
    """What is free in conditions, as somebody said it: by the numbers of nodes or of terms.

    `cells` are those of memories by address, or bytes; `results` are by a function's name what it
    gives for arguments, without those that are memories.
    """

    values: Mapping[int, int]
    cells: Mapping[int, Mapping[int, int]]
    results: Mapping[str, Mapping[tuple[int, ...], int]]

    def of(self, terms: Mapping[int, Term]) -> Said:
        """The same by the numbers of terms, of which each node stands for one."""
        values = {terms[node].number: value for node, value in self.values.items()}
        cells = {terms[node].number: held for node, held in self.cells.items()}
        return Said(values, cells, self.results)


class Witness(Signatures):
    """What terms of one store are where what is free is as was said, as far as it was said."""

    def __init__(self, width: int, said: Said) -> None:
        super().__init__(width)
        self._said = said

    def _value(self, term: Term) -> Any:
        if term.kind in ("mem", "world"):
            return self._memory(term)
        value = super()._value(term)
        if term.kind == "opaque":
            return self._result(str(term.data), [self.known[a.number] for a in term.args], value)
        if (said := self._said.values.get(term.number)) is None:
            return value
        return np.where(self._kept(f"value {term.number}"), np.uint64(said), value)

    def _memory(self, term: Term) -> Memory:
        """What stands at addresses; an event's memory may be any, as it may for a solver."""
        name = str(term.data) if term.kind == "mem" else f"world {term.number}"
        plain, cells = self.noise.memory(name), self._said.cells.get(term.number, {})

        def initial(address: Lanes) -> Lanes:
            found = plain.initial(address)
            for at, value in cells.items():
                here = (address == np.uint64(at)) & self._kept(f"cell {at}")
                found = np.where(here, np.uint64(value), found)
            return found

        return Memory(initial) if cells else plain

    def _result(self, name: str, args: Sequence[Any], value: Lanes) -> Lanes:
        """What a function gives."""
        numbers = [arg for arg in args if not isinstance(arg, Memory)]
        for said, result in self._said.results.get(name, {}).items():
            here = self._kept(name)
            for number, one in zip(numbers, said, strict=True):
                here = here & (number == np.uint64(one))
            value = np.where(here, np.uint64(result), value)
        return value

    def _kept(self, name: str) -> Conditions:
        """The lanes in which it is as was said."""
        kept: Conditions = _EXACT | self.noise.condition(name) | self.noise.condition(f"{name}'")
        return kept
