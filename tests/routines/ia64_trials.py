"""Our IA-64 routines on the group-parallel machine: results, memory, registers, deferred loads."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from rewriter.contracts.contract import Arena, Case, Contract, Result, View, widen
from rewriter.core.interpret import AccessFault, Memory
from targets.ia64 import bundles
from targets.ia64.machine.calling import RETURN, prepare
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.trace import Executed
from targets.ia64.registers import AR, BR, FR, NAMES, NUMBERS, PR, numbers

CODE, BACKING, STACK = 0x4000_0000, 0x6000_0000_0000_0000, 0x7000_0000_0000_0000
ROOMS = 0x2000_0000_0000_0000
ARENA = Arena(ROOMS, page=0x4000, room=0x10000)
_SIZE = 0x10000
_LIMIT = 300_000  # slots
_RESULT = NUMBERS["r8"]

# What the software conventions preserve over a call (chapter 5 there).
PRESERVED = (
    *numbers("r1", "r4", "r5", "r6", "r7", "r12", "r13"),
    *range(FR + 2, FR + 6),
    *range(FR + 16, FR + 32),
    *range(PR + 1, PR + 6),
    *range(PR + 16, PR + 64),
    *range(BR + 1, BR + 6),
    *numbers("ar.lc", "ar.pfs", "ar.unat", "ar.fpsr", "ar.rsc"),
)
# What it leaves open, so that a routine may not rely on it.
SCRATCH = (
    *numbers("r2", "r3", *(f"r{n}" for n in (8, 9, 10, 11, *range(14, 32)))),
    *range(PR + 6, PR + 16),
    *numbers("b6", "b7", "ar.ccv", "ar.ec"),
)


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
        if self.grain:
            page = address // self.grain
            if self.speculative and page not in self.present:
                raise AccessFault(address, size, write=False)
            self.present.add(page)
        return super().read(address, size)


class Trials:
    """Runs a routine's code on cases."""

    def __init__(self, code: bytes, entry: int = 0, base: int = CODE, grain: int = 0) -> None:
        self.memory = Reluctant(grain)
        self.memory.map(base, code, write=False)
        self.memory.map(BACKING, _SIZE, execute=False)
        self.memory.map(STACK, _SIZE, execute=False)
        for room in range(ARENA.rooms):
            self.memory.map(ARENA.start(room), ARENA.room, execute=False)
        self.processor = Processor(self.memory, BACKING)
        self.entry = base + entry
        self.noise = Random(64)
        self.trace: list[Executed] = []
        slots = bundles.straight(code, base) if grain else ()
        self.deferring = {s.address for s in slots if s.insn.name.partition(".")[2][:1] == "s"}

    def problem(self, contract: Contract, case: Case) -> str:
        """What is wrong with one call; empty when nothing is."""
        for piece in case.pieces:
            self.memory.write(piece.address, piece.data)
        view = View(case.pieces)
        expected = contract.model(view, *case.arguments)
        before = self._start(case.arguments)
        self._run()
        state = self.processor.state
        changed = [NAMES[r] for r in PRESERVED if state.r[r] != before[r]]
        if changed:
            return f"changes {', '.join(changed)}"
        if contract.result is not Result.NOTHING:
            assert expected is not None
            found = _as(contract.result, state.plain(_RESULT))
            if found != _as(contract.result, expected):
                return f"gives {found:#x} for {expected:#x}"
        after = tuple(self.memory.read(piece.address, len(piece.data)) for piece in case.pieces)
        if after != view.after():
            return "leaves other memory"
        return self._strays(view)

    def _start(self, arguments: Sequence[int]) -> list[int]:
        """Registers at the entry, noise where the conventions say nothing of them."""
        prepare(self.processor, arguments, sp=STACK + _SIZE - 0x100)
        self.memory.present.clear()
        state = self.processor.state
        for register in (*PRESERVED, *SCRATCH):
            if PR <= register < BR:
                state.r[register] = self.noise.getrandbits(1)
            elif register >= BR or 2 <= register < FR and register not in numbers("r12", "r13"):
                if register < AR or register in numbers("ar.lc", "ar.ccv", "ar.unat"):
                    state.r[register] = self.noise.getrandbits(64)
            elif FR <= register < PR:
                state.r[register] = 0x1003E << 64 | self.noise.getrandbits(63) | 1 << 63
        state.r[NUMBERS["ar.ec"]] = self.noise.getrandbits(6)
        return list(state.r)

    def _run(self) -> None:
        self.trace = []
        steps = self.processor.steps(self.entry, RETURN, _LIMIT)
        while True:
            self.memory.speculative = False
            if self.deferring:
                self._foresee()
            step = next(steps, None)
            if step is None:
                break
            self.trace.append(step)
        self.memory.speculative = False

    def _foresee(self) -> None:
        """Whether the slot that comes next is a load that may be deferred."""
        last = self.trace[-1] if self.trace else None
        state = self.processor.state
        following = self.entry if last is None else _following(last)
        self.memory.speculative = following in self.deferring
        assert state is not None

    def _strays(self, view: View) -> str:
        """A store outside what the model writes."""
        for step in self.trace:
            if step.access is not None and step.store:
                end = step.access + step.size
                if not any(low <= step.access and end <= high for low, high in view.written):
                    return f"stores {step.size} bytes at {step.access:#x}"
        return ""


def _following(step: Executed) -> int:
    if step.target is not None:
        return step.target
    slot = step.address % bundles.BUNDLE
    return step.address + 1 if slot < bundles.SLOTS - 1 else step.address - slot + bundles.BUNDLE


def _as(result: Result, value: int) -> int:
    if result is Result.QUAD:
        return value % (1 << 64)
    number = widen(value)
    if result is Result.INT or number == 0:
        return number
    return -1 if number >> 63 else 1
