"""A pattern on many assignments: whether one refutes it, and which of its parts always agree."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from rewriter.verify.terms.noise import Conditions, Memory, Noise, pool_of
from rewriter.verify.terms.patterns import Pattern


class Tried:
    """What each node of a pattern is on `lanes` assignments."""

    def __init__(self, pattern: Pattern, width: int, lanes: int) -> None:
        self.pattern, self.lanes = pattern, lanes
        constants = (node[1] for node in pattern.nodes if node[0] == "const")
        self._noise = Noise(lanes, width, pool_of(constants), _distances(pattern))
        self.values: list[Any] = []
        for number, (kind, data, *args) in enumerate(pattern.nodes):
            if kind == "?":
                self.values.append(self._free(str(number), data))
            else:
                found = self._noise.apply(kind, data, [self.values[n] for n in args])
                self.values.append(found)

    def _free(self, name: str, sort: str | int) -> Any:
        if sort == "mem":
            return self._noise.memory(name)
        if sort == "bool":
            return self._noise.condition(name)
        return self._noise.value(name, int(sort))

    @cached_property
    def holding(self) -> Conditions:
        """The assignments on which all that is given holds."""
        holding = np.ones(self.lanes, dtype=bool)
        for condition in self.pattern.given:
            holding &= self.values[condition]
        return holding

    @property
    def refuted(self) -> bool:
        """Whether an assignment refutes the pattern; a solver needs far longer to say so."""
        a, b = (self.values[n] for n in self.pattern.roots)
        return not isinstance(a, Memory) and bool(((a != b) & self.holding).any())

    def signature(self, node: int) -> bytes:
        """What a node is where all that is given holds; nothing for one that hardly varies."""
        value = self.values[node]
        if isinstance(value, Memory) or len(value) != self.lanes:
            return b""
        seen = value[self.holding]
        first = seen[:1]
        return seen.tobytes() if (seen != first).any() else b""


def _distances(pattern: Pattern) -> dict[str, tuple[int, ...]]:
    """The constants that are added to a node, by its number."""
    found: dict[str, dict[int, None]] = {}
    for kind, _, *args in pattern.nodes:
        if kind == "add" and pattern.nodes[args[1]][0] == "const":
            found.setdefault(str(args[0]), {})[pattern.nodes[args[1]][1]] = None
    return {name: tuple(distances) for name, distances in found.items()}
