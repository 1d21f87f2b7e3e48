"""The register stack engine: frames below the current one, in registers or in memory.

Registers are numbered along the backing store by `frames.ordinal`.  Those from `stored` up to the
current frame's first, `bottom`, are dirty: only in registers.  The engine is lazy: it writes what
the 96 physical registers cannot hold, and reads what a return needs (SDM vol. 2, 6.1).
"""

from __future__ import annotations

from rewriter.core.readings.interpret import Memory
from targets.ia64.machine.frames import WORD, address_of, bit_of, collection, ordinal

PHYSICAL = 96  # of Itanium 2

Held = tuple[int, int]  # a value and its NaT bit


class RegisterStack:
    """The stack of one processor, growing up from `backing` (an address, multiple of 8)."""

    def __init__(self, memory: Memory, backing: int) -> None:
        self.memory = memory
        self.bottom = self.stored = ordinal(backing)
        self.rnat = 0
        self._held: dict[int, Held] = {}

    @property
    def bsp(self) -> int:
        """Address of the current frame's first register."""
        return address_of(self.bottom)

    @property
    def bspstore(self) -> int:
        """Address of the next register to be written."""
        return address_of(self.stored)

    def put(self, registers: list[Held]) -> None:
        """The current frame's registers, before another frame becomes the current one."""
        for number, held in enumerate(registers, self.bottom):
            self._held[number] = held

    def take(self, size: int, unknown: int) -> list[Held]:
        """The registers of the frame at `bottom`; what was in none of them is `unknown`."""
        if self.bottom < self.stored:
            self._reload(self.bottom)
        self.need(size)
        frame = range(self.bottom, self.bottom + size)
        registers = [self._held.pop(number, (unknown, 0)) for number in frame]
        for number in [number for number in self._held if number >= self.bottom]:
            del self._held[number]
        return registers

    def need(self, size: int) -> None:
        """Makes room for a frame of so many registers."""
        while self.bottom + size - self.stored > PHYSICAL:
            self._spill()

    def flush(self) -> None:
        """Writes everything below the current frame (flushrs)."""
        while self.stored < self.bottom:
            self._spill()

    def load(self, size: int) -> None:
        """Has exactly the last `size` bytes below the current frame in registers (loadrs)."""
        first = ordinal(address_of(self.bottom) - size)
        if first < self.stored:
            self._reload(first)
        self.stored = first

    def restart(self, address: int) -> None:
        """Goes on at another place of memory, with the dirty registers (mov ar.bspstore=)."""
        first = ordinal(address)
        moved = first - self.stored
        self._held = {
            number + moved: held for number, held in self._held.items() if number >= self.stored
        }
        self.bottom += moved
        self.stored = first

    def _spill(self) -> None:
        value, nat = self._held.pop(self.stored)
        address = address_of(self.stored)
        self.memory.write(address, value.to_bytes(WORD, "little"))
        bit = 1 << bit_of(address)
        self.rnat = self.rnat | bit if nat else self.rnat & ~bit
        self.stored += 1
        if collection(address) == address + WORD:
            self.memory.write(address + WORD, self.rnat.to_bytes(WORD, "little"))
            self.rnat = 0

    def _reload(self, first: int) -> None:
        """Reads the registers from `first` on that are in memory only."""
        for number in range(first, self.stored):
            self._held[number] = self._fill(number)
        group = collection(address_of(first))
        if group < self.bspstore:
            self.rnat = int.from_bytes(self.memory.read(group, WORD), "little")
        self.stored = first

    def _fill(self, number: int) -> Held:
        address = address_of(number)
        value = int.from_bytes(self.memory.read(address, WORD), "little")
        nats = self.rnat
        if (group := collection(address)) < self.bspstore:
            nats = int.from_bytes(self.memory.read(group, WORD), "little")
        return value, nats >> bit_of(address) & 1
