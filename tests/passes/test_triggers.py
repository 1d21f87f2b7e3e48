"""Blocks without what passes ask to see have nothing for them."""

from __future__ import annotations

import pytest

from fixtures.inputs import require
from passes.bitscan import BitScan
from passes.combine import Combine
from passes.lib.tune import Tuner
from rewriter.analysis.program import Program, analyse
from rewriter.api.choose import target_of
from rewriter.core.code.superblock import Superblock
from rewriter.elf.image import load
from rewriter.road.superblocks import triggered
from rewriter.verify.terms.prover import Prover


@pytest.mark.parametrize(("name", "cpu"), [("ppc64el-libgomp", "power10"), ("ppc-libgomp", "7450")])
def test_what_is_passed_over_has_no_site(name: str, cpu: str) -> None:
    image = load(require(name))
    target = target_of(image).sequential
    assert target is not None
    program, techniques = analyse(image, target), (BitScan(), Combine())
    wanted = [one for each in techniques for one in target.spelling.TRIGGERS[each.name]]
    found = triggered(program, wanted)

    def asked(block: Superblock) -> bool:
        first, last = program.listing.span(block.address, block.end)
        return any(trigger.within(first, last) for trigger in found)

    every = _superblocks(program)
    over = [block for block in every if not asked(block)]
    assert 0.9 * len(every) < len(over) < len(every)
    prover = Prover.of(target)
    for block in over:
        tuner = Tuner(block, techniques, target, target.cpus[cpu], prover, frozenset())
        with tuner.trace.terms:
            assert not tuner.tune(lambda *_: True).accepted, hex(block.address)


def _superblocks(program: Program) -> list[Superblock]:
    known = [one for one in program.functions if not program.not_understood(one)]
    return [block for function in known for block in program.superblocks(function)]
