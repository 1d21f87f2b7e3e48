"""IA-64 routines on the group-parallel machine: results, memory, registers, deferred loads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from elftools.elf.elffile import ELFFile

from fixtures import inputs
from rewriter.contracts.contract import Arena, Case, Contract, Result, View, widen
from rewriter.core.interpret import AccessFault, Memory
from rewriter.elf.image import load
from rewriter.verify.engines.sweep import Code
from rewriter.verify.trial_image import code_of, function_named
from targets.ia64 import bundles, routines
from targets.ia64.machine.calling import RETURN, prepare
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.trace import Executed
from targets.ia64.registers import BR, FR, NAMES, NUMBERS, PR, numbers

CODE, BACKING, STACK = 0x4000_0000, 0x6000_0000_0000_0000, 0x7000_0000_0000_0000
ARENA = Arena(0x2000_0000_0000_0000, page=0x4000, room=0x10000)
_SIZE = 0x10000
_LIMIT = 300_000  # slots
_RESULT = NUMBERS["r8"]
_EFAULT = -14 % (1 << 64)

# What the software conventions preserve over a call, and what they leave open.
_GENERAL = numbers("r1", "r4", "r5", "r6", "r7", "r12", "r13")
_FLOATING = (*range(FR + 2, FR + 6), *range(FR + 16, FR + 32))
_PREDICATES = (*range(PR + 1, PR + 6), *range(PR + 16, PR + 64))
_OTHERS = (*range(BR + 1, BR + 6), *numbers("ar.lc", "ar.unat"))
PRESERVED = (*_GENERAL, *_FLOATING, *_PREDICATES, *_OTHERS, *numbers("ar.pfs", "ar.fpsr", "ar.rsc"))
# The flags of status field 1, which is for divisions and the like, gather what happened.
_OPEN = {NUMBERS["ar.fpsr"]: 0x3F << 26}
_SCRATCH = (*numbers("r2", "r3", "r9", "r10", "r11"), *range(14, 32))


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
    """Runs a routine on cases."""

    def __init__(self, code: Code, grain: int = 0) -> None:
        self.code = code
        self.memory = Reluctant(grain)
        for address, data in code.parts:
            self.memory.map(address, data)
        for address in (BACKING, STACK, *map(ARENA.start, range(ARENA.rooms))):
            self.memory.map(address, _SIZE, execute=False)
        self.processor = Processor(self.memory, BACKING)
        self.noise = Random(64)
        self.resumes = dict(code.resumes)
        (address, data), *_ = code.parts
        slots = bundles.straight(data, address) if grain else ()
        self.deferring = {s.address for s in slots if s.insn.name.endswith(".s")}

    def problem(self, contract: Contract, case: Case) -> str:
        """What is wrong with one call; empty when nothing is.  A fault is raised."""
        view = View(case.pieces)
        expected = contract.model(view, *case.arguments)
        steps, before = self.run(case)
        state = self.processor.state
        if changed := [NAMES[r] for r in PRESERVED if _differs(r, state.r[r], before[r])]:
            return f"changes {', '.join(changed)}"
        if contract.result is not Result.NOTHING:
            assert expected is not None
            found = state.plain(_RESULT)
            if _as(contract.result, found) != _as(contract.result, expected):
                return f"gives {found:#x} for {expected:#x}"
        after = tuple(self.memory.read(piece.address, len(piece.data)) for piece in case.pieces)
        if after != view.after():
            return "leaves other memory"
        return _strays(steps, view)

    def run(self, case: Case) -> tuple[list[Executed], list[int]]:
        """What a call did, and the registers at its entry."""
        for piece in case.pieces:
            self.memory.write(piece.address, piece.data)
        before = self._start(case.arguments)
        self.memory.present.clear()
        steps: list[Executed] = []
        following = self.code.entry
        running = self.processor.steps(following, RETURN, _LIMIT)
        while True:
            self.memory.speculative = following in self.deferring
            try:
                step = next(running, None)
            except AccessFault:
                if self.processor.state.pc not in self.resumes:
                    raise
                following = self._answered()
                running = self.processor.steps(following, RETURN, _LIMIT)
                continue
            if step is None:
                return steps, before
            steps.append(step)
            following = _following(step)

    def _answered(self) -> int:
        """Where control goes on after a fault, as the kernel's handler does it."""
        state = self.processor.state
        state.put(_RESULT, _EFAULT)
        return self.resumes[state.pc]

    def _start(self, arguments: Sequence[int]) -> list[int]:
        """The registers at the entry, with noise where the conventions say nothing of them."""
        prepare(self.processor, arguments, sp=STACK + _SIZE - 0x100, gp=self.code.shared)
        registers, noise = self.processor.state.r, self.noise
        for register in (*numbers("r4", "r5", "r6", "r7", "r8"), *_SCRATCH, *_OTHERS):
            registers[register] = noise.getrandbits(64)
        for register in _FLOATING:
            registers[register] = 0x1003E << 64 | noise.getrandbits(63) | 1 << 63
        for register in range(PR + 1, PR + 64):
            registers[register] = noise.getrandbits(1)
        registers[NUMBERS["ar.ec"]] = noise.getrandbits(6)
        return list(registers)


def _differs(register: int, value: int, before: int) -> bool:
    return (value ^ before) & ~_OPEN.get(register, 0) != 0


def _following(step: Executed) -> int:
    """Where the slot behind one begins; behind an MLX bundle's it is none of ours."""
    if step.target is not None:
        return step.target
    slot = step.address % bundles.BUNDLE
    return step.address + 1 if slot < bundles.SLOTS - 1 else step.address - slot + bundles.BUNDLE


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


def code_of_routine(routine: routines.Routine) -> Code:
    """A routine at the address where trials have it."""
    resumes = tuple((CODE + at, CODE + to) for at, to in routine.resumes)
    return Code(routine.name, ((CODE, routine.code),), CODE + routine.entry, resumes=resumes)


def ours(name: str) -> Code:
    """Our routine."""
    return code_of_routine(routines.routine(name))


@cache
def libc(name: str) -> Code:
    """glibc's; the test is skipped if there is no such file here."""
    path = inputs.require("ia64-libc")
    image = load(path)
    with path.open("rb") as stream:
        (tag,) = ELFFile(stream).get_section_by_name(".dynamic").iter_tags("DT_PLTGOT")
    found = function_named(image, name)
    assert found is not None, name
    return code_of(image, f"libc {name}", found[0], 0, lambda *relocation: None, tag["d_ptr"])
