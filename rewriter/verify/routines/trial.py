"""A few cases of a contract on a routine where it stands in a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import cast

import numpy as np

from rewriter.contracts.contract import Arena, Contract, View
from rewriter.contracts.linkage import Linkage
from rewriter.core.edit import Evidence, Grade
from rewriter.core.readings.interpret import (
    AccessFault,
    Interpreter,
    Step,
    Stored,
    Unspecified,
    Way,
)
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.capability import trials_of
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential
from rewriter.core.trials import Program
from rewriter.elf.headers import ET_DYN, PT_LOAD
from rewriter.elf.image import Image
from rewriter.elf.pins import relocated
from rewriter.verify.routines.cases import Points, faults, ordered, shown, spread, turns
from rewriter.verify.trials.engines.sweep import Answer, Code, Sweep
from rewriter.verify.trials.image import code_of
from rewriter.verify.trials.records import Chunk, chunks
from rewriter.verify.trials.steps import Outcome, Stepper, Stores, undefined, unlike

_LARGEST = 1 << 28  # bytes of memory that a file may want
_STEPS = 2_000_000  # instructions a case
_SWEEP_TIME = 4_000_000  # microseconds of CPU time
_STACK = 0x10000  # bytes in front of the cases; as many again in front of it stay free


class Untried(Exception):
    """Why a routine cannot be run here."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a routine did in the first so many cases of a contract, one after the other, in steps.

    `ways` are its instructions, at the image's addresses, each with where control went (None: on).
    """

    evidence: Evidence
    outcomes: tuple[Outcome, ...]
    ways: frozenset[Way]


Enough = Callable[[Observed], bool]


@dataclass(frozen=True, slots=True)
class _Room:
    """What the stepper asks of a program: the target's, moved away from the image."""

    linkage: Linkage
    arena: Arena
    stack: int
    byteorder: ByteOrder


class _Careful(Interpreter):
    """Gives up early, and lets nothing be stored to the image: a contract keeps no state."""

    image: tuple[tuple[int, int], ...] = ()
    most = _STEPS

    def follow(self, start: int, stop: int, limit: int, ways: set[Way], stored: Stored) -> None:
        """As the interpreter's."""

        def outside(access: int, size: int) -> None:
            for low, high in self.image:
                if low <= access < high:
                    raise AccessFault(access, size, write=True)
            stored(access, size)

        super().follow(start, stop, min(limit, self.most), ways, outside)


class Trials:
    """Runs routines of one image; `steps` limits the instructions of a case.

    `resumes` says where control goes on after an access that faults; without it nothing faults.
    """

    def __init__(
        self,
        image: Image,
        target: Sequential,
        steps: int = _STEPS,
        resumes: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.image, self.target, self.steps, self.resumes = image, target, steps, resumes
        self.word = target.table.size
        self._spread: dict[tuple[str, int], Points] = {}
        self._sampled: dict[tuple[str, int], tuple[Points, Points]] = {}

    def run(self, address: int, size: int, contract: Contract, cases: int) -> Evidence | str:
        """Evidence, or what is wrong with the first case that is; raises Untried.

        In steps, and where these end at what the table leaves open (floating point), in the
        emulator.
        """
        code = self.code_at(address, size, contract.name)
        try:
            return self._stepped(code, contract, cases)
        except Unspecified as unknown:
            if shutil.which(trials_of(self.target).program(contract.linkage).emulator[0]) is None:
                raise Untried(f"{unknown}, and no emulator is installed") from unknown
            return self._swept(code, contract, self._points(contract, cases))

    def step(self, address: int, size: int, contract: Contract, cases: int) -> Evidence | str:
        """As `run`, but in steps only."""
        try:
            return self._stepped(self.code_at(address, size, contract.name), contract, cases)
        except Unspecified as unknown:
            raise Untried(str(unknown)) from unknown

    def observe(
        self, address: int, size: int, contract: Contract, cases: int, enough: Enough
    ) -> Observed | str:
        """What it does in so many cases of each plan, and in all if these are not enough.

        Or what is wrong with it; all in steps: raises Untried for what these cannot run.
        """
        code = self.code_at(address, size, contract.name)
        stepper, outcomes = self._stepper(code, contract), list[Outcome]()
        try:
            for points in turns(*self._ordered(contract, cases)):
                problem = _problems(stepper, points, outcomes)
                if problem:
                    return problem
                done = self._observed(contract, stepper, outcomes)
                if enough(done):
                    break
        except Unspecified as unknown:
            raise Untried(str(unknown)) from unknown
        return done

    def like(
        self, address: int, size: int, contract: Contract, cases: int, original: Observed
    ) -> Evidence | str:
        """Evidence that in the same cases it gives what an original gave; or what is wrong."""
        code = self.code_at(address, size, contract.name)
        try:
            problem = self._unlike(self._stepper(code, contract), contract, cases, original)
        except Unspecified as unknown:
            raise Untried(str(unknown)) from unknown
        return problem or replace(original.evidence, detail=self._detail(contract))

    def other(self, code: Code, contract: Contract, cases: int, original: Observed) -> str:
        """The first case in which code that stands alone is not like an original, or nothing."""
        trials, room = trials_of(self.target), self._room(contract.linkage)
        stepper = Stepper(
            code,
            contract,
            room,
            self.target.table,
            trials.write_hints,
            arithmetic=trials.arithmetic,
            worlds=trials.worlds,
        )
        return self._unlike(stepper, contract, cases, original)

    def _unlike(self, stepper: Stepper, contract: Contract, cases: int, original: Observed) -> str:
        first, rest = self._ordered(contract, cases)
        points = [*first, *rest][: len(original.outcomes)]
        for (plan, point), wanted in zip(points, original.outcomes, strict=True):
            problem = stepper.problem(contract.case(stepper.program.arena, point))
            problem = problem or unlike(contract, stepper.outcome, wanted)
            if problem:
                return f"{problem} ({plan.name}: {shown(point)})"
        return ""

    def _observed(
        self, contract: Contract, stepper: Stepper, outcomes: Sequence[Outcome]
    ) -> Observed:
        evidence = Evidence(Grade.TESTED, cases=len(outcomes), detail=self._detail(contract))
        base = self._base
        return Observed(
            evidence,
            tuple(outcomes),
            frozenset((at - base, None if to is None else to - base) for at, to in stepper.ways),
        )

    def _stepped(self, code: Code, contract: Contract, cases: int) -> Evidence | str:
        points = self._points(contract, cases)
        problem = _problems(self._stepper(code, contract), points, [])
        return problem or Evidence(Grade.TESTED, cases=len(points), detail=self._detail(contract))

    def _detail(self, contract: Contract) -> str:
        faulting = any(faults(point) for _, point in contract.few())
        return "steps, no faults" if faulting and not self.resumes else "steps"

    def _stepper(self, code: Code, contract: Contract) -> Stepper:
        program = self._room(contract.linkage)
        trials, table = trials_of(self.target), self.target.table
        hints, arithmetic = trials.write_hints, trials.arithmetic
        stepper = Stepper(
            code, contract, program, table, hints, Stores.UNCHANGED, arithmetic, trials.worlds
        )
        careful = _Careful(
            table,
            stepper.memory,
            write_hints=hints,
            opaque=arithmetic.answer,
        )
        careful.image = tuple((start, start + len(data)) for start, data in code.parts)
        careful.most = self.steps
        stepper.interpreter = careful
        return stepper

    def traces(
        self, code: Code, contract: Contract, points: Iterable[Mapping[str, int]], cpu: Cpu
    ) -> Iterator[list[Step]]:
        """What a routine executes on a CPU at points of a contract; raises Untried."""
        trials, program = trials_of(self.target), self._room(contract.linkage)
        stepper = Stepper(
            code,
            contract,
            program,
            self.target.table,
            trials.write_hints,
            arithmetic=trials.arithmetic,
            worlds=(trials.world(cpu),),
        )
        try:
            for point in points:
                yield stepper.trace(contract.case(program.arena, point))
        except Unspecified as unknown:
            raise Untried(str(unknown)) from unknown

    def sweep(self, address: int, size: int, contract: Contract) -> Evidence | str:
        """As `run`, but all shapes, in the emulator only."""
        if shutil.which(trials_of(self.target).program(contract.linkage).emulator[0]) is None:
            raise Untried("no emulator is installed")
        code = self.code_at(address, size, contract.name)
        every = [p for p in contract.points() if not faults(p[1])]
        return self._swept(code, contract, every)

    def _swept(self, code: Code, contract: Contract, chosen: Points) -> Evidence | str:
        """In the emulator, which knows floating point."""
        trials = trials_of(self.target)
        program = trials.program(contract.linkage)
        others = code.others(trials.worlds[0].word, self.target.table.byteorder)
        if others:
            code = replace(code, parts=(*code.parts, (code.outside, others)))
        arena, capacity = program.arena, program.capacity
        points = [p for p in chosen if not _is_open(contract, program, p[1])]
        made = list(chunks(contract, points, arena, capacity, program.byteorder))
        fixed = self.image.e_type != ET_DYN
        with Sweep(program) as engine:
            befores = [chunk.before for chunk in made]
            answer = engine.run(
                _moved(code, self.target.arena.image) if fixed else code, befores, _SWEEP_TIME
            )
        problem = _problem(made, answer)
        if problem and fixed:
            raise Untried(f"in the emulator, where its file could not stay: {problem}")
        return problem or Evidence(Grade.TESTED, cases=sum(map(len, made)), detail="sweep")

    def code_at(self, address: int, size: int, name: str) -> Code:
        """The routine where it stands in the image; raises Untried."""
        code = self._code
        if size % self.word:
            raise Untried("it is no whole number of instructions")
        order = "<" if self.image.byteorder == "little" else ">"
        words = np.frombuffer(self.image.read(address, size), dtype=f"{order}u{self.word}")
        said = self.target.shared_pointer(words.astype(f"u{self.word}"), address)
        shared = said or self._described_pointer(address)
        moved = (shared + self._base) % (1 << self.image.bits) if shared else 0
        resumes = tuple(self.resumes.items())
        return replace(code, name=name, entry=address + self._base, shared=moved, resumes=resumes)

    def _described_pointer(self, address: int) -> int:
        """The file's only one, if there is one; else that of the descriptor; 0 if unknown."""
        pointers = self._described
        every = set(pointers.values())
        return every.pop() if len(every) == 1 else pointers.get(address, 0)

    @cached_property
    def _described(self) -> dict[int, int]:
        return self.target.described_pointers(self.image, relocated(self.image, self.target))

    @property
    def _base(self) -> int:
        return self.target.arena.image if self.image.e_type == ET_DYN else 0

    @cached_property
    def _code(self) -> Code:
        """The whole image, relocated."""
        loads = [s for s in self.image.segments if s.p_type == PT_LOAD]
        if sum(s.p_memsz for s in loads) > _LARGEST:
            raise Untried(f"the file wants more than {_LARGEST >> 20} MiB of memory")
        outside = 0
        if any(world.word is not None for world in trials_of(self.target).worlds):
            outside = self.target.arena.outside
        return code_of(
            self.image, self.image.name, 0, self._base, self.target.relocated, outside=outside
        )

    def _points(self, contract: Contract, cases: int) -> Points:
        key = contract.name, cases
        if key not in self._spread:
            self._spread[key] = spread(contract, cases, bool(self.resumes))
        return self._spread[key]

    def _ordered(self, contract: Contract, cases: int) -> tuple[Points, Points]:
        key = contract.name, cases
        if key not in self._sampled:
            self._sampled[key] = ordered(contract, cases, bool(self.resumes))
        return self._sampled[key]

    def _room(self, linkage: str) -> Program:
        """Memory for cases, and in front of it for the stack, that the image leaves free."""
        if linkage not in trials_of(self.target).linkages:
            raise Untried(f"nothing is called like {linkage} on {self.target.name}")
        program = trials_of(self.target).program(linkage)
        arena, step = program.arena, self.target.arena.step
        spans = [(start, start + len(data)) for start, data in self._code.parts]
        size = 2 * arena.rooms * arena.room
        for base in (arena.base, *range(step, 17 * step, step)):
            first = base - 2 * _STACK
            if not any(low < base + size and first < high for low, high in spans):
                place = replace(arena, base=base)
                room = _Room(program.linkage, place, base - _STACK, program.byteorder)
                return cast(Program, room)  # it asks for no more
        raise Untried("the file leaves no room for cases")


def _problems(stepper: Stepper, points: Points, outcomes: list[Outcome]) -> str:
    """What is wrong with the first case that is; adds how the others came out."""
    contract, arena = stepper.contract, stepper.program.arena
    for plan, point in points:
        problem = stepper.problem(contract.case(arena, point))
        if problem:
            return f"{problem} ({plan.name}: {shown(point)})"
        outcomes.append(stepper.outcome)
    return ""


def _is_open(contract: Contract, program: Program, point: Mapping[str, int]) -> bool:
    """Whether the contract leaves a case open: a trap would end the emulated program."""
    case = contract.case(program.arena, point)
    wanted = contract.expected(View(case.pieces, program.byteorder), case)
    return not case.promised or undefined(contract, wanted)


def _moved(code: Code, base: int) -> Code:
    """Out of the emulated program's way; what the file holds of its own addresses is then wrong."""
    shift = base - (min(start for start, _ in code.parts) & -_STACK)
    return replace(
        code,
        parts=tuple((start + shift, data) for start, data in code.parts),
        entry=code.entry + shift,
        shared=code.shared + shift if code.shared else 0,
    )


def _problem(made: Sequence[Chunk], answer: Answer) -> str:
    """What is wrong with the first case that is; empty when none is."""
    at = 0
    for chunk in made:
        output = answer.output[at : at + len(chunk.before)]
        if len(output) < len(chunk.before):
            return answer.died
        at += len(output)
        for number in chunk.wrong(output).tolist():
            plan, point = chunk.points[number]
            return f"{chunk.explain(number, output)} ({plan.name}: {shown(point)})"
    return ""
