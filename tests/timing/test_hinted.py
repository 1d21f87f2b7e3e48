"""Addresses of hints, which the emulator does not tell: against our interpreter, which does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.hinted import hinted
from rewriter.contracts import CONTRACTS
from rewriter.core.readings.interpret import Step
from rewriter.core.target.capability import trials_of
from rewriter.core.target.protocol import suited
from rewriter.suites.article import PAGES
from rewriter.suites.measure import Laboratory
from rewriter.verify.trials.image import code_at
from targets.alpha import Alpha
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import UP1000

ALPHA = Alpha()
CASES = {
    "clear_page": {"number": 0},
    "copy_page": {"number": 0, "source": 0},
    "memcpy": {"count": 4096, "to": 0, "source": 0, "place": 0},
}


def trace(name: str) -> list[Step]:
    """What a tuned routine executes, with all addresses."""
    tuned = next(suited(ALPHA, name, CPUS["ev67"]))
    bench = Laboratory(CPUS["ev67"], UP1000, trials_of(ALPHA)).bench(
        code_at(tuned, ALPHA.arena.new), CONTRACTS[name]
    )
    stepper = bench.stepper
    return list(stepper.trace(stepper.contract.case(stepper.program.arena, CASES[name])))


@pytest.mark.parametrize("name", CASES)
def test_hints_of_tuned_routines_come_back(name: str) -> None:
    whole = trace(name)
    hints = [
        number
        for number, step in enumerate(whole)
        if step.access is not None and (step.insn.name == "wh64" or not step.size)
    ]
    assert len(hints) >= 32
    blind = [
        replace(step, access=None, size=0, store=False) if number in hints else step
        for number, step in enumerate(whole)
    ]
    found = hinted(blind, TABLE)
    for number, step in enumerate(whole):
        assert found[number] in (step, blind[number])  # none is wrong
    told = sum(found[number] == whole[number] for number in hints)
    assert told >= (0.9 if name in PAGES else 0.5) * len(hints)


def test_what_else_ran_is_not_taken_for_the_same_register() -> None:
    """A hint behind a gap in time has another base."""
    code = assemble("stq t0,8(a0)\n wh64 (a0)").code
    store, hint = (
        TABLE.decode(int.from_bytes(code[at : at + 4], "little")) for at in range(0, 8, 4)
    )
    assert store is not None
    assert hint is not None
    for address, access in ((0x1004, 0x2000), (0x5000, None)):
        steps = [Step(0x1000, store, 0x2008, 8, True, None)]
        steps.append(Step(address, hint, None, 0, False, None))
        assert hinted(steps, TABLE)[1].access == access
