"""Whether ports are left in a cycle, asked once of a CPU's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from targets.ia64.fields import Unit

_UNITS = tuple(Unit)
Issued = tuple[tuple[int, Unit], ...]
"""What issues in one cycle, in order: the kind and the unit of its slot."""


class Ports:
    """Whether ports are left in a cycle; `fits` says so, and is asked once.

    What issues in a cycle has a number: 0 is nothing.  A key is a kind, shifted by three, and
    the number of a unit; `nops` has those of nops by unit.  `next` has what is known already: for
    each number the answers by key.
    """

    def __init__(self, fits: Callable[[Issued], bool], nops: Mapping[Unit, int]) -> None:
        self._fits = fits
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
