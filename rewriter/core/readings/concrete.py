"""The concrete reading: Python integers, one run, with traps for what hardware would trap on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import ByteOrder, Machine


class Misaligned(Exception):
    """A naturally aligned access was not; `address` and `size` say which."""

    def __init__(self, address: int, size: int) -> None:
        super().__init__(f"{size}-byte access at {address:#x}")
        self.address = address
        self.size = size


@dataclass(kw_only=True)
class Concrete(Machine):
    """One run.  Registers and memory bytes not yet written come from `initial` functions.

    `aligned` says that an access traps whose size does not divide its address.
    """

    width: int
    constants: dict[int, int] = field(default_factory=dict)
    byteorder: ByteOrder
    aligned: bool
    initial_register: Callable[[int], int] = lambda register: 0
    initial_byte: Callable[[int], int] = lambda address: 0
    registers: dict[int, int] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    events: list[tuple[object, ...]] = field(default_factory=list)
    target: int | None = None
    following: int = 0

    @property
    def ones(self) -> int:
        """All bits of a register."""
        return (1 << self.width) - 1

    def get(self, source: Reg | int) -> int:
        if not isinstance(source, Reg):
            return source
        if source in self.constants:
            return self.constants[source]
        if source not in self.registers:
            self.registers[source] = self.initial_register(source) & self.ones
        return self.registers[source]

    def set(self, register: Reg, value: int) -> None:
        if register not in self.constants:
            self.registers[register] = value & self.ones

    def _bytes(self, address: int, size: int) -> list[int]:
        address &= self.ones
        if self.aligned and address % size:
            raise Misaligned(address, size)
        addresses = [at & self.ones for at in range(address, address + size)]
        return addresses if self.byteorder == "little" else addresses[::-1]

    def load(self, address: int, size: int) -> int:
        value = 0
        for shift, at in enumerate(self._bytes(address, size)):
            if at not in self.memory:
                self.memory[at] = self.initial_byte(at) & 0xFF
            value |= self.memory[at] << 8 * shift
        return value

    def store(self, address: int, value: int, size: int) -> None:
        for shift, at in enumerate(self._bytes(address, size)):
            self.memory[at] = value >> 8 * shift & 0xFF

    def conditional_store(self, address: int, value: int, size: int) -> int:
        self.store(address, value, size)
        return 1  # one run on one processor: nothing takes the lock away

    def branch(self, condition: bool, target: int) -> None:
        self.target = target & self.ones if condition else None

    def jump(self, target: int) -> None:
        self.target = target & self.ones

    def opaque(self, name: str, *values: int) -> int:
        raise NotImplementedError(f"{name} has no concrete meaning")

    def event(self, name: str, *values: int) -> None:
        self.events.append((name, *(value & self.ones for value in values)))

    def const(self, value: int) -> int:
        return value & self.ones

    def code(self, address: int) -> int:
        return self.const(address)

    def _signed(self, value: int) -> int:
        value &= self.ones
        return value - (1 << self.width) if value >> (self.width - 1) else value

    def shl(self, value: int, amount: int) -> int:
        return value << (amount & self.width - 1) & self.ones

    def lshr(self, value: int, amount: int) -> int:
        return (value & self.ones) >> (amount & self.width - 1)

    def ashr(self, value: int, amount: int) -> int:
        return self._signed(value) >> (amount & self.width - 1) & self.ones

    def eq(self, a: int, b: int) -> bool:
        return (a - b) & self.ones == 0

    def ult(self, a: int, b: int) -> bool:
        return a & self.ones < b & self.ones

    def slt(self, a: int, b: int) -> bool:
        return self._signed(a) < self._signed(b)

    def both(self, a: bool, b: bool) -> bool:
        return a and b

    def negate(self, condition: bool) -> bool:
        return not condition

    def ite(self, condition: bool, a: int, b: int) -> int:
        return a if condition else b

    def umulh(self, a: int, b: int) -> int:
        return (a & self.ones) * (b & self.ones) >> self.width

    def ctpop(self, value: int) -> int:
        return (value & self.ones).bit_count()

    def cttz(self, value: int) -> int:
        value &= self.ones
        return (value & -value).bit_length() - 1 if value else self.width

    def ctlz(self, value: int) -> int:
        return self.width - (value & self.ones).bit_length()
