"""Accepted rewrites against their originals, run on numbers: an oracle without a solver.

Every twelfth function of the libc that has sites is tuned; each accepted rewrite's block is run
before and after on the concrete reading, from the same random registers and memory, and must
leave by the same exit with the same live registers, memory and events.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from passes.bitscan import BitScan
from passes.bytes import Bytes
from passes.lib.changes import Accepted
from passes.lib.tune import Tuner
from rewriter.analysis.program import Program
from rewriter.analysis.reservations import locked_addresses
from rewriter.core.code.dataflow import registers_of
from rewriter.core.code.superblock import Superblock
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.concrete import Concrete, Misaligned
from rewriter.verify.terms.prover import Prover

EVERY = 12
RUNS, TRIES = 8, 60  # runs that count, of so many tries: a block may trap on what we draw
ARENA, ARENA_QUADS = 0x1_2000_0000, 6  # pointers meet in a few quadwords
SLOTS = Sequence[Insn | None]


class World(Concrete):
    """The concrete reading, from a random state; what has no meaning gives a random number."""

    def __init__(self, seed: int, constants: dict[int, int], known: Sequence[int]) -> None:
        self.seed, self.known = seed, [0, *known]
        aligned = random.Random(seed).random()
        super().__init__(
            width=64,
            byteorder="little",
            aligned=True,
            constants=constants,
            initial_register=lambda register: self._value("r", register, aligned),
            initial_byte=lambda at: self._value("m", at >> 3, aligned) >> 8 * (at & 7) & 0xFF,
        )

    def _value(self, kind: str, number: int, aligned: float) -> int:
        """A pointer into the arena, of any alignment or not; bytes that the block may look for
        (its literals); or a number of some density."""
        draw = random.Random(f"{self.seed} {kind} {number}")
        if draw.random() < (0.7 if kind == "r" else 0.3):
            low = 0 if draw.random() < aligned else draw.randrange(8)
            return ARENA + 8 * draw.randrange(ARENA_QUADS) + low
        if draw.random() < 0.5:
            size = draw.choice((1, 8))
            return int.from_bytes(value & 0xFF for value in draw.choices(self.known, k=size))
        sparse = draw.getrandbits(64) << draw.randrange(64) if draw.random() < 0.3 else -1
        return draw.getrandbits(64) & sparse

    def opaque(self, name: str, *values: int) -> int:
        return random.Random(f"{self.seed} {name} {values}").getrandbits(64)

    def byte(self, at: int) -> int:
        """Memory, whether this run has seen it or not."""
        return self.memory.get(at, self.initial_byte(at) & 0xFF)


@dataclass(frozen=True)
class End:
    """Where a run left a block, and what it did."""

    exit: int
    target: int | None
    world: World


def run(block: Superblock, slots: SLOTS, seed: int, constants: dict[int, int]) -> End:
    """Runs the slots until control leaves."""
    literals = [
        value
        for insn in block.insns
        for operand, value in zip(insn.op.format.operands, insn.operands, strict=True)
        if operand.kind is Kind.IMMEDIATE
    ]
    world, exits, address = World(seed, constants, literals), dict(block.leaving), block.address
    for slot, (insn, old) in enumerate(zip(slots, block.insns, strict=True)):
        if insn is not None:
            world.target = None
            world.execute(insn, address)
            if world.target is not None:
                assert slot in exits, "control left where there is no exit"
                return End(slot, world.target, world)
        address += old.size
    return End(len(slots) - 1, None, world)


def difference(block: Superblock, before: End, after: End) -> str:
    """What tells two runs apart, or nothing."""
    if (before.exit, before.target) != (after.exit, after.target):
        return "exit"
    if before.world.events != after.world.events:
        return "events"
    for at in sorted(before.world.memory.keys() | after.world.memory.keys()):
        if before.world.byte(at) != after.world.byte(at):
            return f"memory at {at:#x}"
    for register in registers_of(dict(block.leaving)[before.exit]):
        if before.world.get(Reg(register)) != after.world.get(Reg(register)):
            return f"register {register}"
    return ""


def compare(
    block: Superblock, before: SLOTS, after: SLOTS, preconditions: bool, constants: dict[int, int]
) -> tuple[int, str]:
    """How many runs counted, and the first difference."""
    counted = 0
    for seed in range(TRIES):
        try:
            old = run(block, before, seed, constants)
        except Misaligned:
            continue  # the original traps: nothing to compare
        try:
            found = difference(block, old, run(block, after, seed, constants))
        except Misaligned:
            found = "" if preconditions else "trap"
            if preconditions:
                continue
        counted += 1
        if found or counted == RUNS:
            return counted, found
    return counted, ""


@dataclass(frozen=True)
class Sample:
    """A superblock with what was accepted in it."""

    block: Superblock
    accepted: tuple[Accepted, ...]


@pytest.fixture(scope="module")
def program(libc_program: Program) -> Program:
    return libc_program


@pytest.fixture(scope="module")
def samples(program: Program) -> list[Sample]:
    return [s for n, found in enumerate(_tuned(program)) if n % EVERY == 0 for s in found]


def _tuned(program: Program) -> Iterator[list[Sample]]:
    """Function by function with sites; only every twelfth one is tuned, the others are empty."""
    target, prover = program.target, Prover(64, 8)
    techniques, locked = (Bytes(), BitScan()), locked_addresses(program.graph)
    triggers = {
        name for t in techniques for c in target.spelling.TRIGGERS[t.name] for name in c.names
    }
    number = 0
    for function in program.functions:
        superblocks = (
            [b for b in program.superblocks(function) if any(i.name in triggers for i in b.insns)]
            if not program.not_understood(function)
            else []
        )
        if not superblocks:
            continue
        found = []
        for block in superblocks if number % EVERY == 0 else ():
            cpu = target.cpus["ev67"]
            tuner = Tuner(block, techniques, target, cpu, prover, locked)
            tuned = tuner.tune(lambda *_: True)
            if tuned.accepted:
                found.append(Sample(block, tuple(tuned.accepted)))
        number += 1
        yield found


def constants_of(program: Program) -> dict[int, int]:
    return dict(program.target.table.constants)


def test_rewrites_do_the_same(program: Program, samples: list[Sample]) -> None:
    constants, ran, total = constants_of(program), 0, 0
    for sample in samples:
        given = False  # `after` has every rewrite so far, with what each assumes
        for one in sample.accepted:
            given = given or bool(one.evidence.preconditions)
            counted, found = compare(sample.block, sample.block.insns, one.after, given, constants)
            where = f"{one.technique} at {sample.block.address:#x}+{4 * one.rewrite.site}"
            assert not found, f"{where}: {found} differs"
            ran, total = ran + (counted > 0), total + 1
    assert total > 100
    assert ran >= 0.95 * total, f"only {ran} of {total} could be run"


def mutants(one: Accepted) -> Iterator[SLOTS]:
    """The rewrite with a new instruction dropped, or with another register or number in it."""
    for slot, insn in one.rewrite.changes:
        if insn is not None:
            for other in (None, *_changed(insn)):
                slots = list(one.after)
                slots[slot] = other
                yield slots


def _changed(insn: Insn) -> Iterator[Insn]:
    for at, operand in enumerate(insn.operands):
        yield replace(insn, operands=(*insn.operands[:at], operand ^ 1, *insn.operands[at + 1 :]))


def test_a_wrong_rewrite_is_seen(program: Program, samples: list[Sample]) -> None:
    """So that the test above can fail.

    Some mutants do the same (a sign extension before a comparison with a small number, a dead
    register), and some do otherwise only on inputs that random ones do not hit: this oracle is
    the weaker one, and `tests/verification/mutants/test_mutants.py` measures the stronger.
    """
    constants, caught, total = constants_of(program), 0, 0
    for sample in samples[::4]:
        one = sample.accepted[-1]
        for wrong in mutants(one):
            given = any(a.evidence.preconditions for a in sample.accepted)
            found = compare(sample.block, sample.block.insns, wrong, given, constants)[1]
            caught, total = caught + bool(found), total + 1
    assert total > 30
    assert caught >= 0.6 * total, f"{caught} of {total}"
