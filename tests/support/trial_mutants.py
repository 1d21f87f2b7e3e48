"""How strong a contract's cases are: how many one-bit mutants of a routine they tell from it.

What survives is classed by what a single instruction can show; the rest is "not found": it may be
equivalent for a reason that lies in the routine, or the cases may miss it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Literal, Protocol

from rewriter.contracts.contract import Contract
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.isa.table import Table
from rewriter.core.readings.concrete import Concrete, Misaligned
from rewriter.core.trials import Trials
from rewriter.verify.trials.engines.qemu import GuestHung
from rewriter.verify.trials.engines.sweep import Code, Sweep
from rewriter.verify.trials.records import Chunk, chunks
from rewriter.verify.trials.trial import prepare

_QUICK = 400  # cases that are tried first
_QUICK_TIME = 400_000  # microseconds of CPU time
_FULL_TIME = 4_000_000
_STATES = 24  # random states that show an instruction equivalent to its mutant


class Fate(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    NOP = "nop"
    HINT = "hint bits"
    IGNORED = "ignored bits"
    UNREACHABLE = "unreachable"
    DEAD = "dead result"
    EQUIVALENT = "equivalent"
    NOT_FOUND = "not found"


class MutantTarget(Trials, Protocol):
    """What more a target tells."""

    @property
    def trap(self) -> bytes:
        """An instruction that no program survives."""
        ...

    @property
    def nop(self) -> bytes:
        """An instruction that does nothing."""
        ...

    def is_nop(self, insn: Insn) -> bool:
        """Whether an instruction does nothing at all."""
        ...


@dataclass(frozen=True, slots=True)
class Strength:
    """Fates of the mutants of one routine, and which were not found."""

    routine: str
    contract: str
    fates: Counter[Fate]
    not_found: tuple[str, ...]

    @property
    def mutants(self) -> int:
        """How many were tried."""
        return self.fates.total()


class Mutants:
    """Tries mutants of one routine."""

    def __init__(
        self,
        code: Code,
        span: tuple[int, int],
        contract: Contract,
        target: MutantTarget,
        engine: Sweep,
    ) -> None:
        """`span` is the address and the size in bytes of the routine within the code."""
        self.code, self.contract, self.target, self.engine = code, contract, target, engine
        self.table: Table = target.table
        self.start, self.size = span
        program = engine.program
        self.prepared = prepare(contract, program)
        total = sum(len(chunk) for chunk in self.prepared)
        points = islice(contract.points(), 0, None, max(1, total // _QUICK))
        self.quick = list(
            chunks(contract, points, program.arena, program.capacity, program.byteorder)
        )
        self.byteorder: Literal["little", "big"] = (
            "little" if program.byteorder == "little" else "big"
        )

    def strength(self, sample: int | None = None, seed: int = 1) -> Strength:
        """The fates of all mutants, or of `sample` that are drawn at random."""
        bits = 8 * self.table.size
        every = [(at, bit) for at in range(0, self.size, bits // 8) for bit in range(bits)]
        if sample is not None and sample < len(every):
            every = sorted(random.Random(seed).sample(every, sample))
        fates: Counter[Fate] = Counter()
        not_found = []
        for at, bit in every:
            fate = self.fate(at, bit)
            fates[fate] += 1
            if fate is Fate.NOT_FOUND:
                not_found.append(f"{at:#x} bit {bit}: {self._text(self._word(at))}")
        return Strength(self.code.name, self.contract.name, fates, tuple(not_found))

    def fate(self, at: int, bit: int) -> Fate:
        """What becomes of the routine with one bit changed, `at` bytes from its start."""
        old = self._word(at)
        new = old ^ 1 << bit
        if not self._survives(self._bytes(new), at, self.quick, _QUICK_TIME):
            return Fate.KILLED
        insn, mutant = self.table.decode(old), self.table.decode(new)
        if insn is None or self.target.is_nop(insn):
            return Fate.NOP
        if mutant is not None and mutant.op is insn.op and insn.has("hint"):
            return Fate.HINT
        if not self._survives(self._bytes(new), at, self.prepared, _FULL_TIME):
            return Fate.KILLED
        return self._why(at, insn, mutant)

    def _why(self, at: int, insn: Insn, mutant: Insn | None) -> Fate:
        """The class of a mutant that no case tells from the routine."""
        if self._survives(self.target.trap, at, self.prepared, _FULL_TIME):
            return Fate.UNREACHABLE
        if mutant is None or mutant == insn:
            return Fate.IGNORED
        if self._survives(self.target.nop, at, self.prepared, _FULL_TIME):
            return Fate.DEAD
        return Fate.EQUIVALENT if same_effect(self.table, insn, mutant) else Fate.NOT_FOUND

    def _survives(self, word: bytes, at: int, cases: Sequence[Chunk], time: int) -> bool:
        code = self.code.patched(self.start + at, word)
        try:
            answer = self.engine.run(code, [chunk.before for chunk in cases], time)
        except GuestHung:  # a mutant may be a system call that waits
            return False
        first = 0
        for chunk in cases:
            output = answer.output[first : first + len(chunk.before)]
            if len(output) < len(chunk.before) or len(chunk.wrong(output)):
                return False
            first += len(output)
        return True

    def _word(self, at: int) -> int:
        size = self.table.size
        for start, data in self.code.parts:
            offset = self.start + at - start
            if 0 <= offset < len(data):
                return int.from_bytes(data[offset : offset + size], self.byteorder)
        raise ValueError(f"offset {at:#x} is not in the code")

    def _bytes(self, word: int) -> bytes:
        return word.to_bytes(self.table.size, self.byteorder)

    def _text(self, word: int) -> str:
        insn = self.table.decode(word)
        return f"{word:#x}" if insn is None else self.table.text(insn)


def same_effect(table: Table, one: Insn, two: Insn) -> bool:
    """Whether two instructions do the same to some random states; False where that is unknown."""
    draw = random.Random(5)
    for _ in range(_STATES):
        seed = draw.getrandbits(60)
        try:
            if _effect(table, one, seed) != _effect(table, two, seed):
                return False
        except (NotImplementedError, Misaligned):
            return False
    return True


def _effect(table: Table, insn: Insn, seed: int) -> tuple[object, ...]:
    def value(number: int) -> int:
        return random.Random(seed ^ number * 0x9E3779B1).getrandbits(64)

    machine = Concrete(
        width=table.width,
        byteorder=table.byteorder,
        aligned=table.aligned,
        constants=table.constants,
        initial_register=value,
        initial_byte=value,
    )
    machine.execute(insn, 0x1000)
    written = {r: v for r, v in machine.registers.items() if v != value(Reg(r))}
    stored = {a: b for a, b in machine.memory.items() if b != value(a) & 0xFF}
    return written, stored, tuple(machine.events), machine.target
