"""A function run on numbers, from a random state to where control leaves it or comes to a call."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rewriter.analysis.program import Program
from rewriter.core.code.dataflow import Fact
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.concrete import Concrete, Misaligned

ARENA, ARENA_QUADS = 0x1_2000_0000, 6  # pointers meet in a few quadwords
LIMIT = 300  # instructions of a run: more is a loop, and no verdict
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)


class Start:
    """A random state at the start, the same for every run from it."""

    def __init__(self, seed: int, literals: Sequence[int]) -> None:
        self.seed, self.literals = seed, [0, *literals]
        self.aligned = random.Random(seed).random()
        self.known: dict[tuple[str, int], int] = {}

    def value(self, kind: str, number: int) -> int:
        """A pointer into the arena, bytes that the code may look for, or any number."""
        key = kind, number
        if key not in self.known:
            self.known[key] = self._draw(random.Random(f"{self.seed} {kind} {number}"), kind)
        return self.known[key]

    def _draw(self, draw: random.Random, kind: str) -> int:
        if draw.random() < (0.7 if kind == "r" else 0.3):
            low = 0 if draw.random() < self.aligned else draw.randrange(8)
            return ARENA + 8 * draw.randrange(ARENA_QUADS) + low
        if draw.random() < 0.5:
            size = draw.choice((1, 8))
            return int.from_bytes(value & 0xFF for value in draw.choices(self.literals, k=size))
        sparse = draw.getrandbits(64) << draw.randrange(64) if draw.random() < 0.3 else -1
        return draw.getrandbits(64) & sparse


class World(Concrete):
    """The concrete reading from a start; what has no meaning gives a random number."""

    def __init__(self, start: Start, constants: dict[int, int]) -> None:
        self.start = start
        super().__init__(
            width=64,
            byteorder="little",
            aligned=True,
            constants=constants,
            initial_register=lambda register: start.value("r", register),
            initial_byte=lambda at: start.value("m", at >> 3) >> 8 * (at & 7) & 0xFF,
        )

    def opaque(self, name: str, *values: int) -> int:
        return random.Random(f"{self.start.seed} {name} {values}").getrandbits(64)

    def known(self, fact: Fact) -> int:
        """What a register must hold of which this is known; a narrow one's high bits go."""
        value, size = self.get(Reg(fact.base)) + fact.distance, self.width // 8
        value = self.load(value & -size, size) if fact.cell else value
        return value & (1 << (self.width if fact.bits is None else fact.bits)) - 1

    def byte(self, at: int) -> int:
        """Memory, whether this run has seen it or not."""
        return self.memory.get(at, self.initial_byte(at) & 0xFF)


@dataclass(frozen=True)
class End:
    """Where a run ended: the transfer, or "out", "data", "trap" or "limit"; and at which address.

    `link` is the register that a call leaves its own address in.
    """

    kind: str
    address: int
    target: int | None
    world: World
    link: int | None = None


@dataclass(frozen=True)
class Code:
    """A function's instructions in one version of the file."""

    program: Program
    function: Function
    data: bytes

    def insn(self, address: int) -> Insn | None:
        """The instruction at an address of the function."""
        at = self.program.image.offset_of(address)
        return self.program.target.table.decode(int.from_bytes(self.data[at : at + 4], "little"))

    def insns(self) -> Iterator[tuple[int, Insn | None]]:
        """Every address with its instruction."""
        for address in range(self.function.start, self.function.end, 4):
            yield address, self.insn(address)

    def run(
        self,
        address: int,
        world: World,
        visit: Callable[[int], None] | None = None,
        limit: int = LIMIT,
    ) -> End:
        """Runs from an address until control leaves the function, calls, or runs too long.

        With `visit`, calls are stepped over and each address is visited before it runs.
        """
        for _ in range(limit):
            if address not in self.function:
                return End("out", address, address, world)
            if visit is not None:
                visit(address)
            insn = self.insn(address)
            if insn is None:
                return End("data", address, None, world)
            world.target, here = None, address
            try:
                world.execute(insn, address)
            except Misaligned:
                return End("trap", address, None, world)
            flow, target, address = insn.op.flow, insn.target(address), address + insn.size
            if flow in (Flow.JUMP, Flow.BRANCH):
                address = target if world.target is not None and target is not None else address
            elif flow in (*_CALLS, Flow.TRAP) and visit is not None:
                continue
            elif flow is not Flow.NEXT:
                outside = target if target is None or target not in self.function else None
                link = insn.operand("ra") if flow in _CALLS else None
                return End(f"{insn.name} {insn.operands[:1]}", here, outside, world, link)
        return End("limit", address, None, world)


def literals_of(program: Program, function: Function) -> list[int]:
    """The small numbers in a function's instructions."""
    return [
        value
        for insn in program.listing.insns(function.start, function.end)
        if insn is not None
        for operand, value in zip(insn.op.format.operands, insn.operands, strict=True)
        if operand.kind is Kind.IMMEDIATE and operand.width == 8
    ]
