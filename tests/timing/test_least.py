"""What a trace takes at least, without a model, is never more than the model says."""

from __future__ import annotations

from itertools import islice

import pytest

import targets
from fixtures.inputs import find
from rewriter.contracts import CONTRACTS
from rewriter.core.target.protocol import suited
from rewriter.elf.image import load
from rewriter.timing.model import least, simulate
from rewriter.verify.routines.trial import Trials
from rewriter.verify.trials.image import code_at
from tests.support.depth import depth

FILES = ["alpha-sample", "ppc-libBrokenLocale", "ppc64-libBrokenLocale", "ppc64el-libBrokenLocale"]


@pytest.mark.parametrize("file", FILES)
def test_least_cycles(file: str) -> None:
    """Of our routines, on every CPU of an architecture, with caches that know the call: that is
    where fewest cycles are lost."""
    image = load(find(file))
    target = targets.of(image).sequential
    assert target is not None
    trials, timed = Trials(image, target), 0
    for cpu in target.cpus.values():
        for contract in (CONTRACTS[name] for name in ("strlen", "memcpy", "memset")):
            routine = next(suited(target, contract.name, cpu), None)
            if routine is None or cpu.pipeline is None:
                continue
            code = code_at(routine, target.arena.new)
            points = (p for _, p in islice(contract.few(), 0, None, depth(97, 5)))
            for steps in trials.traces(code, contract, points, cpu):
                cycles = simulate(steps, cpu, target.system(cpu)).cycles
                assert 0 < least(steps, cpu) <= cycles, (cpu.name, routine.name)
                timed += 1
    assert timed > 20
