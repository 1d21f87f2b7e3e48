"""Patterns that provers remember of one another: what is said of one depends on it alone.

Every prover made under `remembering` begins with what those before it decided. What they gave up
on (TIMEOUT) is forgotten between two files: it may have been asked for by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice

from rewriter.core.edit import Grade


@dataclass(frozen=True, slots=True)
class Decided:
    """What is known of a pattern; one that is proved has its name."""

    grade: Grade
    key: str = ""


Kind = tuple[int, int]
"""A prover's width in bits and cell in bytes: what the same pattern means depends on them."""
Patterns = Mapping[Kind, Mapping[bytes, Decided]]

_LASTING = frozenset({Grade.PROVED, Grade.REFUTED})


@dataclass
class Memory:
    """Decided patterns by kind of prover and digest."""

    decided: dict[Kind, dict[bytes, Decided]] = field(default_factory=dict)
    _told: dict[Kind, int] = field(default_factory=dict)

    def of(self, kind: Kind) -> dict[bytes, Decided]:
        """What provers of one kind share."""
        return self.decided.setdefault(kind, {})

    def learn(self, patterns: Patterns) -> None:
        """What others decided; no news to anybody."""
        self.news()
        for kind, decided in patterns.items():
            self.of(kind).update(decided)
            self._told[kind] = len(self.of(kind))

    def news(self) -> Patterns:
        """What was decided since the last time; what was given up on is forgotten."""
        found: dict[Kind, dict[bytes, Decided]] = {}
        for kind, decided in self.decided.items():
            new = dict(islice(decided.items(), self._told.get(kind, 0), None))
            lasting = {d: one for d, one in new.items() if one.grade in _LASTING}
            for digest in new.keys() - lasting.keys():
                del decided[digest]
            self._told[kind] = len(decided)
            if lasting:
                found[kind] = lasting
        return found


_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)


@contextmanager
def remembering(memory: Memory) -> Iterator[None]:
    """As long as this lasts provers share what they decide."""
    before = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(before)


def shared(kind: Kind) -> dict[bytes, Decided]:
    """Where a new prover of this kind keeps what it decides."""
    memory = _memory.get()
    return {} if memory is None else memory.of(kind)
