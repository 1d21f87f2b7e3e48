"""What replaces known routines of a file, and how it is tried: asked by the floors above."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewriter.contracts.contract import Arena, Case, Contract, Result
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault, BadInstruction, LimitReached, Unspecified
from rewriter.core.target.bundling import Code
from rewriter.core.target.protocol import CannotMove, Tuned
from rewriter.core.target.substitution import PlacedRoutine, Room, Spelled
from targets.ia64 import routines
from targets.ia64.image import layout, masks, rooms
from targets.ia64.image.facts import Facts
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import TEMPLATES, Bundle
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.rows import TABLE
from targets.ia64.machine.faults import MachineFault
from targets.ia64.machine.trace import Executed
from targets.ia64.machine.trials import ARENA, Trials
from targets.ia64.standard import OF_PROGRAMS

Part = tuple[int, bytes]
_GRAIN = 16  # bytes: the pages of a memory that defers whatever it can
_PAGE = 0x1000  # bytes
_FAULTED = -1  # the result of a call that ends in a fault
_TWICE = 3  # of so many cases one is tried there, too
_FAULTS = (AccessFault, BadInstruction, LimitReached, Unspecified, Misaligned, MachineFault)
_GO = next(template for template in TEMPLATES.values() if template.name == "MIB" and template.stops)


class Substituting:
    """The target's answers."""

    alignment = routines.ALIGNMENT
    spelling: Spelled = masks.Spelling()
    signatures = Path(__file__).parent / "signatures.json"
    arena: Arena = ARENA

    def routines(self, name: str) -> Sequence[Tuned]:
        """The tuned routines that keep a contract."""
        return (routines.routine(name),) if name in routines.names() else ()

    def may_be_kernels(self, routine: Tuned) -> bool:
        """Whether a kernel may run a routine: it changes no register that kernels leave to
        programs."""
        slots = bundles.straight(routine.code, 0)
        return not any(TABLE.defs(slot.insn) & OF_PROGRAMS for slot in slots)

    def branch(self, at: int, to: int) -> bytes:
        """A bundle at `at` that does nothing but go to `to`."""
        row = TABLE.find("br.cond")
        plain = Insn(row, tuple(operand.base for operand in row.format.operands))
        try:
            go = TABLE.encode(plain.replace(target25=to - at))
        except ValueError as error:
            raise CannotMove("a branch would not reach its target") from error
        return bundles.encode(Bundle(_GO, (layout.nop("m"), layout.nop("i"), go)))

    def idle(self, size: int) -> bytes:
        """Bundles of nops."""
        return layout.NOPS * (size // BUNDLE)

    def room(self, code: Code, function: Function) -> Room:
        """The place of a function; CannotMove says why nothing else may stand there."""
        return rooms.room(_facts(code), function)

    def described(
        self, code: Code, room: Room, placed: Sequence[PlacedRoutine]
    ) -> dict[int, bytes]:
        """What unwind information must say of a room; CannotMove where it cannot."""
        return rooms.described(_facts(code), room, placed)

    def harness(self, code: Code, parts: Sequence[Part]) -> Harness:
        """Runs routines of a file that is loaded as these parts."""
        facts = _facts(code)
        return Harness(tuple(_relocated(facts, parts)), facts.gp or 0)


def _facts(code: Code) -> Facts:
    """What this target knows of code that it made."""
    assert isinstance(code, Facts)
    return code


class Harness:
    """Calls of routines of one file; some of them twice, once with loads deferred."""

    def __init__(self, parts: tuple[Part, ...], shared: int) -> None:
        self.trials = Trials(_File(parts, 0, shared))
        self.reluctant = Trials(_File(parts, 0, shared), _GRAIN)
        self.went: set[tuple[int, bool]] = set()
        self._calls = 0

    def problem(self, entry: int, contract: Contract, case: Case) -> str:
        """What is wrong with one call of the routine at `entry`; empty when nothing is."""
        self._calls += 1
        problem = self._problem(self.trials, entry, contract, case)
        if problem or self._calls % _TWICE:
            return problem
        problem = self._problem(self.reluctant, entry, contract, case)
        says = contract.result is not Result.NOTHING
        if says and not problem and self.reluctant.result != self.trials.result:
            problem = f"gives {self.reluctant.result:#x} for {self.trials.result:#x}"
        return problem and f"with loads deferred: {problem}"

    def _problem(self, trials: Trials, entry: int, contract: Contract, case: Case) -> str:
        trials.entry, trials.went = entry, self.went
        try:
            return trials.problem(contract, case)
        except _FAULTS as fault:
            trials.result = _FAULTED
            return f"{type(fault).__name__}: {fault}" if case.promised else ""

    @property
    def result(self) -> int:
        """What the last call gave."""
        return self.trials.result

    def steps(self, entry: int, case: Case) -> Sequence[Executed]:
        """What a call that goes well does."""
        self.trials.entry = entry
        return self.trials.run(case)[0]


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it is loaded."""

    parts: tuple[Part, ...]
    entry: int
    shared: int
    resumes: tuple[tuple[int, int], ...] = ()


def _relocated(code: Facts, parts: Sequence[Part]) -> Iterable[Part]:
    """Parts with what the loader writes into them, but for a page at 0, where null pointers go."""
    for start, data in ((max(at, _PAGE), raw[max(0, _PAGE - at) :]) for at, raw in parts):
        out = bytearray(data)
        for place, value in code.slots.items():
            if start <= place <= start + len(data) - 8:
                out[place - start : place - start + 8] = value.to_bytes(8, "little")
        yield start, bytes(out)
