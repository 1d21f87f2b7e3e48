"""The symbolic reading where accesses may stand anywhere: memory as bytes, in either order."""

from __future__ import annotations

from rewriter.core.readings.extents import Extent, extent
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.terms.term import Term


class Unaligned(Symbolic):
    """A straight run on a machine that does not trap on a misaligned access.

    Memory is an array of bytes, addresses count modulo two to the power of the width, and two
    accesses are apart only where both are reached from one value and their bytes are not the
    same ones.  `loaded` are the bytes read or written, each by its address; `stored` has the
    address and the number as it is written; `narrow` stays empty.
    """

    def places(self, address: Term, size: int) -> tuple[Term, ...]:
        """The first byte and the last one, which may be on another page."""
        return address, self.terms.add(address, self.const(size - 1))

    def _reach(self, address: Term, size: int) -> Extent:
        """Notes the bytes of an access."""
        for byte in range(size):
            place = self.terms.add(address, self.const(byte))
            self._accesses.append((address, place, 1))  # it has no alignment
            self.loaded.add(place)
        return extent(size, self.byteorder)

    def load(self, address: Term, size: int) -> Term:
        return self.terms.read(self.memory, address, self._reach(address, size))

    def store(self, address: Term, value: Term, size: int) -> None:
        wide = self._reach(address, size)
        value = self.terms.and_(value, self.const(wide.mask))
        self.memory = self.terms.make("write", self.memory, address, value, data=wide.data)
        self.stored.append((address, value, self.memory, self.const(wide.mask)))
