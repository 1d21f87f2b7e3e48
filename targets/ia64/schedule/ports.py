"""Whether a cycle goes on: what ports are left, and what ends it, asked once of a CPU's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from targets.ia64.isa.fields import Unit
from targets.ia64.schedule.shapes import SHAPE

_UNITS = tuple(Unit)
Issued = tuple[tuple[int, Unit], ...]
"""What issues in one cycle, in order: the kind and the unit of its slot."""


@dataclass(frozen=True, slots=True)
class Closing:
    """The shapes behind which the cycle ends, by their codes: always, and with something in the
    last slot; and those behind which a long bundle is in another cycle."""

    always: frozenset[int]
    busy: frozenset[int]
    before_long: frozenset[int]

    @classmethod
    def of(cls, closes: Callable[[str, bool], bool], apart: Callable[[str, str], bool]) -> Closing:
        """Those of a CPU, which is asked about shapes by the letters of their units."""
        named = {code: "".join(unit.name for unit, _, _ in s.steps) for code, s in SHAPE.items()}
        return cls(
            frozenset(code for code, name in named.items() if closes(name, False)),
            frozenset(code for code, name in named.items() if closes(name, True)),
            frozenset(code for code, name in named.items() if apart(name, "MX")),
        )


class Ports:
    """Whether ports are left in a cycle; `fits` says so, and is asked once.

    What issues in a cycle has a number: 0 is nothing.  A key is a kind, shifted by three, and
    the number of a unit; `nops` has those of nops by unit.  `next` has what is known already: for
    each number the answers by key.
    """

    def __init__(
        self, fits: Callable[[Issued], bool], nops: Mapping[Unit, int], closing: Closing
    ) -> None:
        self._fits, self.closing = fits, closing
        self.nops = {int(unit): kind << 3 | unit for unit, kind in nops.items()}
        self._issued: list[Issued] = [()]
        self._numbers: dict[Issued, int] = {(): 0}
        self.next: list[dict[int, int]] = [{}]

    def take(self, issued: int, key: int) -> int:
        """What issues together with one more; -1 if there is no port left."""
        found = self.next[issued].get(key)
        return self._asked(issued, key) if found is None else found

    def _asked(self, issued: int, key: int) -> int:
        more = (*self._issued[issued], (key >> 3, _UNITS[key & 7]))
        number = -1
        if not issued or self._fits(more):
            number = self._numbers.setdefault(more, len(self._issued))
            if number == len(self._issued):
                self._issued.append(more)
                self.next.append({})
        self.next[issued][key] = number
        return number
