"""A routine on cases of its contract: results, memory, registers, faults, deferred loads.

It is called by the software conventions of IA-64 Linux, with noise in every register of which
these say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

from rewriter.contracts.contract import Arena, Case, Contract, Result, View, widen
from rewriter.core.readings.interpret import AccessFault, Memory
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.machine.calling import RETURN, prepare
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.trace import Executed
from targets.ia64.registers import FR, NAMES, NUMBERS, PR, numbers
from targets.ia64.standard import OPEN, PRESERVED, PRESERVED_OTHERS

BACKING, STACK = 0x6000_0000_0000_0000, 0x7000_0000_0000_0000
ARENA = Arena(0x2000_0000_0000_0000, page=0x4000, width=64, room=0x10000)
_SIZE = 0x10000
LIMIT = 1_000_000  # slots of a call
_RESULT = NUMBERS["r8"]
_EFAULT = -14 % (1 << 64)
_PREDICATES = range(PR + 1, PR + 64)
_FLOATING = range(FR + 2, FR + 128)
_NOISY = (*numbers(*(f"r{n}" for n in (*range(2, 12), *range(14, 32)))), *PRESERVED_OTHERS)


class Runnable(Protocol):
    """A routine as bytes in memory."""

    @property
    def parts(self) -> tuple[tuple[int, bytes], ...]:
        """Addresses, and what is loaded there."""
        ...

    @property
    def entry(self) -> int:
        """Where it is called."""
        ...

    @property
    def shared(self) -> int:
        """What gp holds."""
        ...

    @property
    def resumes(self) -> tuple[tuple[int, int], ...]:
        """Where control goes on after a fault of a slot."""
        ...


class Reluctant(Memory):
    """A memory that defers a speculative load of what nothing has loaded plainly yet.

    `grain` is the size of a page in bytes; 0 gives a memory like any other.
    """

    def __init__(self, grain: int) -> None:
        super().__init__()
        self.grain = grain
        self.present: set[int] = set()
        self.speculative = False

    def read(self, address: int, size: int) -> bytes:
        """The bytes there; raises AccessFault, also to defer."""
        if self.grain:
            page = address // self.grain
            if self.speculative and page not in self.present:
                raise AccessFault(address, size, write=False)
            self.present.add(page)
        return super().read(address, size)


class Trials:
    """Runs a routine on cases; `entry` is where it is called, and may be changed.

    `went` are the slots that control came to in all cases so far, with their predicates; `result`
    is that of the last case.
    """

    def __init__(self, code: Runnable, grain: int = 0) -> None:
        self.entry, self.shared = code.entry, code.shared
        self.memory = Reluctant(grain)
        for address, data in code.parts:
            self.memory.map(address, data)
        for address in (BACKING, STACK, *map(ARENA.start, range(ARENA.rooms))):
            self.memory.map(address, _SIZE, execute=False)
        self.processor = Processor(self.memory, BACKING)
        self.noise = Random(64)
        self.resumes = dict(code.resumes)
        self.went: set[tuple[int, bool]] = set()
        self.result = 0
        self._speculative: dict[int, bool] = {}

    def problem(self, contract: Contract, case: Case) -> str:
        """What is wrong with one call; empty when nothing is.  A fault is raised."""
        view = View(case.pieces, "little")
        expected = contract.expected(view, case)
        steps, before = self.run(case)
        self.went.update((step.address, step.on) for step in steps)
        state = self.processor.state
        self.result = state.plain(_RESULT)
        if changed := [NAMES[r] for r in PRESERVED if _differs(r, state.r[r], before[r])]:
            return f"changes {', '.join(changed)}"
        if not case.promised:
            return ""
        if contract.result is not Result.NOTHING and expected is not None:
            found = self.result
            if _as(contract.result, found) != _as(contract.result, expected):
                return f"gives {found:#x} for {expected:#x}"
        after = tuple(self.memory.read(piece.address, len(piece.data)) for piece in case.pieces)
        if after != view.after():
            return "leaves other memory"
        return _strays(steps, view)

    def run(self, case: Case) -> tuple[list[Executed], list[int]]:
        """What a call did, and the registers at its entry."""
        before = self.started(case)
        self.memory.present.clear()
        steps: list[Executed] = []
        following = self.entry
        running = self.processor.steps(following, RETURN, LIMIT)
        while True:
            self.memory.speculative = bool(self.memory.grain) and self._speculates(following)
            try:
                step = next(running, None)
            except AccessFault:
                if self.processor.state.pc not in self.resumes:
                    raise
                following = self._answered()
                running = self.processor.steps(following, RETURN, LIMIT)
                continue
            if step is None:
                return steps, before
            steps.append(step)
            following = following_slot(step)

    def _speculates(self, address: int) -> bool:
        """Whether the slot at an address is a load that may be deferred."""
        if address not in self._speculative:
            start = address - address % BUNDLE
            try:
                slots = list(bundles.straight(self.memory.fetch(start, BUNDLE), start))
            except (AccessFault, ValueError):
                return False  # the return, or what the processor refuses
            self._speculative |= {s.address: s.insn.name.endswith(".s") for s in slots}
        return self._speculative.get(address, False)

    def _answered(self) -> int:
        """Where control goes on after a fault, as the kernel's handler does it."""
        state = self.processor.state
        state.put(_RESULT, _EFAULT)
        return self.resumes[state.pc]

    def started(self, case: Case) -> list[int]:
        """Sets up a call: its memory, and the registers at the entry, which it returns.

        There is noise where the conventions say nothing of them.
        """
        for piece in case.pieces:
            self.memory.write(piece.address, piece.data)
        prepare(self.processor, case.arguments, sp=STACK + _SIZE - 0x100, gp=self.shared)
        registers, noise = self.processor.state.r, self.noise
        for register in _NOISY:
            registers[register] = noise.getrandbits(64)
        for register in _FLOATING:
            registers[register] = 0x1003E << 64 | noise.getrandbits(63) | 1 << 63
        for register in _PREDICATES:
            registers[register] = noise.getrandbits(1)
        registers[NUMBERS["ar.ec"]] = noise.getrandbits(6)
        return list(registers)


def _differs(register: int, value: int, before: int) -> bool:
    return (value ^ before) & ~OPEN.get(register, 0) != 0


def following_slot(step: Executed) -> int:
    """Where the slot behind one begins; behind an MLX bundle's it is none of ours."""
    if step.target is not None:
        return step.target
    slot = step.address % BUNDLE
    return step.address + 1 if slot < bundles.SLOTS - 1 else step.address - slot + BUNDLE


def _strays(steps: Sequence[Executed], view: View) -> str:
    """A store outside what the model writes."""
    for step in steps:
        if step.access is not None and step.store:
            low, high = step.access, step.access + step.size
            if not any(start <= low and high <= end for start, end in view.written):
                return f"stores {step.size} bytes at {low:#x}"
    return ""


def _as(result: Result, value: int) -> int:
    if result in (Result.QUAD, Result.UNDONE):  # ours say exactly what is left
        return value % (1 << 64)
    number = widen(value)
    if result is Result.INT or number == 0:
        return number
    return -1 if number >> 63 else 1
