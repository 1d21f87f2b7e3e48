"""Runs machine code on plain integers and says what it did, step by step.

The meaning of each row is the table's own (`Concrete`); this adds memory with permissions, the
fetch of code from it, and the trace that the timing model and the differential runs read.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.isa.table import Table
from rewriter.core.readings.concrete import Concrete, Misaligned
from rewriter.core.readings.written import Does, written

PREFETCH = "prefetch"  # the event of a load that has no result: a hint that never faults
POISON = 0xA5  # what a line holds after a hint that allows its bytes to be lost
_NO_SIZE = 0  # of a hint: it concerns whatever line the address is in


class AccessFault(Exception):
    """An access outside every region, or one that a region does not permit."""

    def __init__(self, address: int, size: int, write: bool) -> None:
        kind = "store to" if write else "read of"
        super().__init__(f"{size}-byte {kind} {address:#x}")
        self.address = address
        self.size = size
        self.write = write


class BadInstruction(Exception):
    """A word that no row of the table matches was about to be executed."""

    def __init__(self, address: int, word: int) -> None:
        super().__init__(f"{word:#x} at {address:#x} is no instruction")
        self.address = address
        self.word = word


class LimitReached(Exception):
    """The stop address was not reached within the limit of instructions."""

    def __init__(self, address: int, limit: int) -> None:
        super().__init__(f"still running at {address:#x} after {limit} instructions")
        self.address = address
        self.limit = limit


class Unspecified(Exception):
    """An instruction whose result the table does not say, and no handler was given."""

    def __init__(self, address: int, name: str) -> None:
        super().__init__(f"{name} at {address:#x} has no meaning here: give the interpreter one")
        self.address = address
        self.name = name


@dataclass(slots=True, unsafe_hash=True)
class Step:
    """One executed instruction.  Nobody changes one: as with `Insn`, millions are made.

    `access` is the address of a load or store, aligned as the instruction aligns it, or of a
    hint; `size` is in bytes, of all parts together, zero for a hint without one; `target` is where
    control went when it was transferred.

    Nobody changes one; a class that sees to that takes twice as long to make one.
    """

    address: int
    insn: Insn
    access: int | None
    size: int
    store: bool
    target: int | None


@dataclass(order=True)
class _Region:
    start: int
    end: int = field(compare=False)
    data: bytearray = field(compare=False)
    read: bool = field(compare=False)
    write: bool = field(compare=False)
    execute: bool = field(compare=False)


class Memory:
    """Byte-addressed regions, each with its permissions."""

    def __init__(self) -> None:
        self._regions: list[_Region] = []
        self._near: _Region | None = None  # accesses come in clusters

    def map(
        self,
        start: int,
        content: bytes | bytearray | int,
        write: bool = True,
        read: bool = True,
        execute: bool = True,
    ) -> None:
        """Adds a region that holds `content`, or so many zero bytes.

        Raises ValueError where a region is already.
        """
        data = bytearray(content)
        region = _Region(start, start + len(data), data, read, write, execute)
        if any(start < other.end and other.start < region.end for other in self._regions):
            raise ValueError(f"{start:#x}-{region.end:#x} is mapped already")
        insort(self._regions, region)

    def region(self, address: int, size: int) -> _Region | None:
        """The region that holds all of an access; None if there is none."""
        near = self._near
        if near is not None and near.start <= address and address + size <= near.end:
            return near
        index = bisect_right(self._regions, address, key=lambda r: r.start) - 1
        if index < 0 or address + size > self._regions[index].end:
            return None
        self._near = self._regions[index]
        return self._near

    def parts(self, address: int, size: int, ones: int) -> list[tuple[int, int]]:
        """An access as (address, size) of what lies in one region; `ones` is the last address."""
        found, done = list[tuple[int, int]](), 0
        while done < size:
            at = address + done & ones
            region = self.region(at, 1)
            if region is None:
                return [(address, size)]
            count = min(size - done, region.end - at)
            found.append((at, count))
            done += count
        return found

    def read(self, address: int, size: int) -> bytes:
        """The bytes there; raises AccessFault."""
        region = self.region(address, size)
        if region is None or not region.read:
            raise AccessFault(address, size, write=False)
        at = address - region.start
        return bytes(region.data[at : at + size])

    def write(self, address: int, content: bytes) -> None:
        """Changes the bytes there; raises AccessFault."""
        size = len(content)
        region = self.region(address, size)
        if region is None or not region.write:
            raise AccessFault(address, size, write=True)
        at = address - region.start
        region.data[at : at + size] = content

    def fetch(self, address: int, size: int) -> bytes:
        """The bytes of code there; raises AccessFault."""
        region = self.region(address, size)
        if region is None or not region.execute:
            raise AccessFault(address, size, write=False)
        at = address - region.start
        return bytes(region.data[at : at + size])


Opaque = Callable[..., int | None]
"""Called with the name and the operand values of what the table leaves open; gives the result.

None says that it does not know either."""


Effect = Callable[..., Sequence[int]]
"""What an event does: called with the machine and the event's operands, it may load and store.

It gives what is observed of the event afterwards, in order."""


class Arithmetic(Protocol):
    """What a target's table leaves open, on plain numbers."""

    def answer(self, name: str, *values: int) -> int | None:
        """What an operation gives; None where it is not known."""
        ...

    def lasting(self, event: tuple[object, ...]) -> bool:
        """Whether an event is more than a wait, or something that is put back as it was."""
        ...


_Decoded = tuple[Does, bool, int, int, Step, "Way"]
"""What an instruction does, and whether it is quiet; where its target leads and what follows; the
step where there is no more to say, and the way on."""

Way = tuple[int, int | None]
"""An instruction that was executed, and where control was transferred from it (None: on)."""

Stored = Callable[[int, int], None]
"""Called with the address and the size of a store that was done."""


class _Machine(Concrete):
    """The concrete reading over a `Memory`, remembering the last access."""

    ones = 0  # an attribute: the inherited property is too slow for this

    def __init__(self, table: Table, memory: Memory, opaque: Opaque | None) -> None:
        super().__init__(
            width=table.width,
            byteorder=table.byteorder,
            aligned=table.aligned,
            constants=table.constants,
        )
        self.ones = (1 << self.width) - 1
        self.registers = dict.fromkeys(range(len(table.register_names)), 0) | table.constants
        self.space = memory
        self.order = table.byteorder
        self.access: int | None = None
        self.size = 0
        self.stored = False
        self.write_hints: Mapping[str, int] = {}
        self.effects: Mapping[str, Effect] = {}
        self.seen: list[int] = []
        self.poison = POISON
        self.pc = 0
        self.answer = opaque

    def load(self, address: int, size: int) -> int:
        address &= self.ones
        if address & size - 1:
            raise Misaligned(address, size)
        self.access, self.size, self.stored = address, size, False
        region = self.space.region(address, size)
        if region is None or not region.read:
            raise AccessFault(address, size, write=False)
        at = address - region.start
        return int.from_bytes(region.data[at : at + size], self.order)

    def store(self, address: int, value: int, size: int) -> None:
        address &= self.ones
        if address & size - 1:
            raise Misaligned(address, size)
        self.access, self.size, self.stored = address, size, True
        region = self.space.region(address, size)
        if region is None or not region.write:
            raise AccessFault(address, size, write=True)
        at = address - region.start
        low = value & (1 << 8 * size) - 1
        region.data[at : at + size] = low.to_bytes(size, self.order)

    def event(self, name: str, *values: int) -> None:
        self.events.append((name, *(value & self.ones for value in values)))
        if name == PREFETCH:
            self.access, self.size, self.stored = values[0] & self.ones, _NO_SIZE, False
        elif name in self.write_hints:
            self._allocate(values[0] & self.ones, self.write_hints[name])
        elif name in self.effects:
            self.seen = list(self.effects[name](self, *values))

    def observed(self, name: str, *values: int) -> int:
        return self.seen.pop(0) if self.seen else self.opaque(name, *values)

    def _allocate(self, address: int, size: int) -> None:
        """A hint that the whole line will be written: until then its bytes may be anything."""
        start = address & -size
        self.access, self.size, self.stored = start, size, True
        region = self.space.region(start, size)
        if region is not None and region.write:
            at = start - region.start
            region.data[at : at + size] = bytes((self.poison,)) * size

    def opaque(self, name: str, *values: int) -> int:
        found = None if self.answer is None else self.answer(name, *values)
        if found is None:
            raise Unspecified(self.pc, name)
        return found


class _Unaligned(_Machine):
    """The same where an access may stand anywhere, and so in two regions.

    What an instruction accesses in parts is one access.
    """

    def _reach(self, address: int, size: int, stored: bool) -> None:
        first = address if self.access is None else min(address, self.access)
        end = 0 if self.access is None else self.access + self.size
        self.access, self.size, self.stored = first, max(address + size, end) - first, stored

    def load(self, address: int, size: int) -> int:
        address &= self.ones
        self._reach(address, size, False)
        region = self.space.region(address, size)
        if region is not None and region.read:
            at = address - region.start
            return int.from_bytes(region.data[at : at + size], self.order)
        parts = self.space.parts(address, size, self.ones)
        return int.from_bytes(b"".join(self.space.read(*part) for part in parts), self.order)

    def store(self, address: int, value: int, size: int) -> None:
        address &= self.ones
        self._reach(address, size, True)
        content = (value & (1 << 8 * size) - 1).to_bytes(size, self.order)
        region = self.space.region(address, size)
        if region is not None and region.write:
            at = address - region.start
            region.data[at : at + size] = content
            return
        parts = self.space.parts(address, size, self.ones)
        for at, count in parts:  # it does nothing if any of it faults
            region = self.space.region(at, count)
            if region is None or not region.write:
                raise AccessFault(at, count, write=True)
        for at, count in parts:
            self.space.write(at, content[:count])
            content = content[count:]


class Interpreter:
    """A machine with its memory, run from an address to an address.

    `registers` may be changed between runs.  After an exception `pc` is the instruction that
    raised it, with registers and memory as before it, so a fault handler may go on from elsewhere.
    `write_hints` names the events that give up a line's content, with the line's size; such a
    line is filled with `poison`; `effects` says what others do.  Code is decoded once per address:
    it must not change.
    """

    def __init__(
        self,
        table: Table,
        memory: Memory,
        registers: Mapping[int, int] | None = None,
        *,
        write_hints: Mapping[str, int] | None = None,
        poison: int = POISON,
        opaque: Opaque | None = None,
    ) -> None:
        self.table = table
        self.memory = memory
        self._machine = (_Machine if table.aligned else _Unaligned)(table, memory, opaque)
        self._machine.write_hints = dict(write_hints or {})
        self._machine.poison = poison
        self._decoded: dict[int, _Decoded] = {}
        for register, value in (registers or {}).items():
            self._machine.set(Reg(register), value)

    @property
    def registers(self) -> dict[int, int]:
        """Register values by number; may be changed."""
        return self._machine.registers

    @property
    def effects(self) -> Mapping[str, Effect]:
        """What events do to memory, by name; may be changed between runs."""
        return self._machine.effects

    @effects.setter
    def effects(self, effects: Mapping[str, Effect]) -> None:
        self._machine.effects = effects

    @property
    def events(self) -> list[tuple[object, ...]]:
        """What the world saw, in order: name and operand values."""
        return self._machine.events

    @property
    def pc(self) -> int:
        """The instruction that is being executed, or was the last one."""
        return self._machine.pc

    def run(self, start: int, stop: int, limit: int = 1_000_000) -> list[Step]:
        """All steps from `start` until control reaches `stop`; see `steps` for what it raises."""
        return list(self.steps(start, stop, limit))

    def steps(self, start: int, stop: int, limit: int = 1_000_000) -> Iterator[Step]:
        """Executes, and yields what was done, until control reaches `stop`.

        Raises AccessFault, Misaligned, BadInstruction, Unspecified, and LimitReached after
        `limit` instructions.
        """
        machine, decoded = self._machine, self._decoded
        pc = start
        for _ in range(limit):
            if pc == stop:
                return
            machine.pc = pc
            does, _, goal, following, plain, _ = decoded.get(pc) or self._decode(pc)
            machine.access = None
            target = does(machine, machine.registers, goal, following)
            pc = following if target is None else target
            if machine.access is not None:
                where, size, stored = machine.access, machine.size, machine.stored
                yield Step(plain.address, plain.insn, where, size, stored, target)
            elif target is not None:
                yield Step(plain.address, plain.insn, None, 0, False, target)
            else:
                yield plain
        if pc != stop:
            raise LimitReached(pc, limit)

    def follow(self, start: int, stop: int, limit: int, ways: set[Way], stored: Stored) -> None:
        """As `steps`, and only adds where control went, and tells of stores: twice as fast.

        What `stored` raises ends it, at the instruction that stored.
        """
        machine, decoded, add = self._machine, self._decoded, ways.add
        registers = machine.registers
        pc = start
        for _ in range(limit):
            if pc == stop:
                return
            machine.pc = pc
            does, quiet, goal, following, _plain, on = decoded.get(pc) or self._decode(pc)
            if quiet:
                target = does(machine, registers, goal, following)
            else:
                machine.access = None
                target = does(machine, registers, goal, following)
                if machine.access is not None and machine.stored:
                    stored(machine.access, machine.size)
            if target is None:
                add(on)
                pc = following
            else:
                add((pc, target))
                pc = target
        if pc != stop:
            raise LimitReached(pc, limit)

    def _decode(self, pc: int) -> _Decoded:
        """The instruction at an address with its operands bound; most steps are always the same."""
        machine = self._machine
        word = int.from_bytes(self.memory.fetch(pc, self.table.size), machine.order)
        insn = self.table.decode(word)
        if insn is None:
            raise BadInstruction(pc, word)
        following = pc + insn.size & machine.ones
        does, quiet = self._does(insn)
        plain = Step(pc, insn, None, 0, False, None)
        goal = machine.const(insn.target(pc) or 0)
        entry = self._decoded[pc] = does, quiet, goal, following, plain, (pc, None)
        return entry

    def _does(self, insn: Insn) -> tuple[Does, bool]:
        """The function of an instruction; without a handler no call into the system is answered."""
        if insn.op.flow not in (Flow.TRAP, Flow.STOP) or self._machine.answer is not None:
            found = written(self.table, insn)
            return found.does, found.quiet

        def does(machine: _Machine, registers: dict[int, int], goal: int, following: int) -> None:
            raise Unspecified(machine.pc, insn.name)

        return does, False
