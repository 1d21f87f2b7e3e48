"""Tries a routine on the cases of its contract: TESTED evidence, or the smallest failure.

Two engines.  The sweep runs every shape inside an emulator and sees results, memory and preserved
registers; the stepper (`trial_steps`) runs fewer shapes on the built-in interpreter and also sees
misaligned accesses, bytes that were read or written without leave, lost lines, and answers
faults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.contracts.contract import Contract
from rewriter.core.edit import Evidence, Grade
from rewriter.core.trials import Program, Trials
from rewriter.verify.trials.engines.sweep import Answer, Code, Sweep
from rewriter.verify.trials.records import Chunk, Point, chunks
from rewriter.verify.trials.steps import Stepper, Stores

CHUNK_TIME = 10_000_000  # microseconds of CPU time, for four megabytes of cases


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A case that a routine gets wrong, and how; the smallest one that was seen."""

    routine: str
    contract: str
    engine: str
    plan: str
    point: Point
    problem: str

    def __str__(self) -> str:
        shape = ", ".join(f"{name}={value}" for name, value in self.point.items())
        return (
            f"{self.routine} is no {self.contract}: {self.problem}"
            f" ({self.engine}, {self.plan}: {shape})"
        )


def prepare(contract: Contract, program: Program) -> list[Chunk]:
    """All cases of a contract, to be used for several routines."""
    return list(
        chunks(contract, contract.points(), program.arena, program.capacity, program.byteorder)
    )


def sweep(
    code: Code,
    contract: Contract,
    prepared: Sequence[Chunk],
    engine: Sweep,
    microseconds: int = CHUNK_TIME,
) -> Evidence | Counterexample:
    """Runs the prepared cases in the emulator; `microseconds` of CPU time for each chunk."""
    answer = engine.run(code, [chunk.before for chunk in prepared], microseconds)
    found: list[tuple[int, Counterexample]] = []

    def wrong(chunk: Chunk, number: int, problem: str) -> None:
        plan, point = chunk.points[number]
        case = Counterexample(code.name, contract.name, "sweep", plan.name, point, problem)
        found.append((chunk.size(number), case))

    at = 0
    for chunk in prepared:
        output = answer.output[at : at + len(chunk.before)]
        if len(output) < len(chunk.before):
            wrong(chunk, _killer(code, chunk, engine, microseconds), answer.died)
            break
        at += len(output)
        for number in sorted(chunk.wrong(output).tolist(), key=chunk.size)[:1]:
            wrong(chunk, number, chunk.explain(number, output))
    if found:
        return min(found, key=lambda sized: sized[0])[1]
    return Evidence(Grade.TESTED, cases=sum(len(chunk) for chunk in prepared), detail="sweep")


def _killer(code: Code, chunk: Chunk, engine: Sweep, microseconds: int) -> int:
    """The first case that the program does not survive: one run for each, in one process."""
    records = [chunk.record(number) for number in range(len(chunk))]
    answer: Answer = engine.run(code, records, microseconds)
    done = 0
    for number, record in enumerate(records):
        done += len(record)
        if done > len(answer.output):
            return number
    return len(records) - 1


def step(
    code: Code, contract: Contract, target: Trials, stores: Stores = Stores.INSIDE
) -> Evidence | Counterexample:
    """Runs the few shapes of a contract, step by step.

    Raises Unspecified for code whose instructions the table does not describe in full.
    """
    program = target.program(contract.linkage)
    stepper = Stepper(
        code,
        contract,
        program,
        target.table,
        target.write_hints,
        stores,
        target.arithmetic,
        target.worlds,
    )
    count = 0
    for plan, point in contract.few():
        problem = stepper.problem(contract.case(program.arena, point))
        if problem:
            name = code.name, contract.name, "steps", plan.name
            return Counterexample(*name, point, problem)
        count += 1
    return Evidence(Grade.TESTED, cases=count, detail="steps")


def trial(
    code: Code, contract: Contract, target: Trials, stores: Stores = Stores.INSIDE
) -> Evidence | Counterexample:
    """Both engines; the evidence counts the cases of both."""
    program = target.program(contract.linkage)
    stepped = step(code, contract, target, stores)
    if isinstance(stepped, Counterexample):
        return stepped
    with Sweep(program) as engine:
        swept = sweep(code, contract, prepare(contract, program), engine)
    if isinstance(swept, Counterexample):
        return swept
    return Evidence(Grade.TESTED, cases=stepped.cases + swept.cases, detail="sweep and steps")
