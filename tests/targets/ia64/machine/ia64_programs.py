"""Real IA-64 files in a memory, and their routines as functions of Python."""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile

from fixtures import inputs
from rewriter.contracts.contract import Arena, Case, Contract, Result, View, widen
from rewriter.core.readings.interpret import Memory
from targets.ia64.machine.alat import Policy
from targets.ia64.machine.calling import RETURN, prepare
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.trace import Executed
from targets.ia64.meanings.floating.real import DOUBLE
from targets.ia64.registers import FR, GR

BACKING, STACK, ROOMS = 0x6000_0000_0000_0000, 0x7000_0000_0000_0000, 0x2000_0000_0000_0000
_SIZE = 0x10000
R8 = GR + 8
ARENA = Arena(ROOMS, page=0x10000, width=64, room=0x40000)  # the kernel's pages are of 64 KiB


@dataclass(frozen=True)
class Program:
    """A file: its segments, where its functions are, its global pointer."""

    segments: tuple[tuple[int, bytes, bool], ...]
    symbols: dict[str, int]
    gp: int

    def memory(self) -> Memory:
        """The file mapped, with a stack, a backing store and the rooms of `ARENA`."""
        memory = Memory()
        for address, content, writable in self.segments:
            memory.map(address, content, write=writable)
        memory.map(BACKING, _SIZE, execute=False)
        memory.map(STACK, _SIZE, execute=False)
        for room in range(ARENA.rooms):
            memory.map(ARENA.start(room), ARENA.room, execute=False)
        return memory


@functools.cache
def program(name: str) -> Program:
    """A test input, or the test is skipped."""
    with inputs.require(name).open("rb") as stream:
        elf = ELFFile(stream)
        segments = tuple(
            (s["p_vaddr"], s.data() + bytes(s["p_memsz"] - s["p_filesz"]), not s["p_flags"] & 1)
            for s in elf.iter_segments("PT_LOAD")
        )
        symbols = _symbols(elf)
        dynamic = elf.get_section_by_name(".dynamic")
        if dynamic is None:
            return Program(segments, symbols, symbols["__gp"])
        (tag,) = dynamic.iter_tags("DT_PLTGOT")
        return Program(segments, symbols, tag["d_ptr"])


def _symbols(elf: ELFFile) -> dict[str, int]:
    """Names and values of .symtab; a whole kernel in a moment."""
    table = elf.get_section_by_name(".symtab")
    names = elf.get_section(table["sh_link"]).data()
    entries = struct.iter_unpack("<IBBHQQ", table.data())
    return {names[at : names.index(0, at)].decode(): value for at, _, _, _, value, _ in entries}


class Routines:
    """The routines of a file on one processor: `run` gives the result and what was executed."""

    def __init__(self, name: str, policy: Policy | None = None) -> None:
        self.program = program(name)
        self.memory = self.program.memory()
        self.processor = Processor(self.memory, BACKING, policy)

    def run(self, name: str, *arguments: int, limit: int = 1_000_000) -> tuple[int, list[Executed]]:
        """Calls the routine with integer arguments."""
        self.run_prepared(arguments)
        trace = self.processor.run(self.program.symbols[name], RETURN, limit)
        return self.processor.state.plain(R8), trace

    def run_doubles(self, name: str, *arguments: float) -> float:
        """Calls the routine with double-precision arguments and result."""
        self.run_prepared(())
        state = self.processor.state
        for register, value in enumerate(arguments, FR + 8):
            (bits,) = struct.unpack("<Q", struct.pack("<d", value))
            state.put_floating(register, DOUBLE.to_register(bits))
        self.processor.run(self.program.symbols[name], RETURN)
        bits = DOUBLE.from_register(state.r[FR + 8])
        (result,) = struct.unpack("<d", struct.pack("<Q", bits))
        assert isinstance(result, float)
        return result

    def run_prepared(self, arguments: Sequence[int]) -> None:
        """Sets up the registers for a call."""
        prepare(self.processor, arguments, sp=STACK + _SIZE - 0x100, gp=self.program.gp)

    def check(self, contract: Contract, case: Case, name: str = "") -> list[Executed]:
        """Runs one case, and compares result and memory with the contract's model."""
        for piece in case.pieces:
            self.memory.write(piece.address, piece.data)
        view = View(case.pieces, "little")
        expected = contract.model(view, *case.arguments)
        found, trace = self.run(name or contract.name, *case.arguments)
        if contract.result is not Result.NOTHING:
            assert expected is not None
            assert _as(contract.result, found) == _as(contract.result, expected), case.arguments
        after = tuple(self.memory.read(piece.address, len(piece.data)) for piece in case.pieces)
        assert after == view.after(), case.arguments
        return trace


def _as(result: Result, value: int) -> int:
    if result is Result.QUAD:
        return value % (1 << 64)
    number = widen(value)
    if result is Result.INT or number == 0:
        return number
    return -1 if number >> 63 else 1


def sample(contract: Contract, count: int) -> list[Case]:
    """`count` of the contract's smaller cases, spread evenly over all plans."""
    points = [point for plan, point in contract.few()]
    step = max(1, len(points) // count)
    return [contract.case(ARENA, point) for point in itertools.islice(points, 0, None, step)]
