"""The proof that a reordered IA-64 region equals the original: cases by hand, and real regions."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from region_cases import DIFFERENT, EQUAL, Pair
from region_shuffle import FILES, end_of, packed, planned, regions, shuffled
from region_text import assembled

from fixtures import inputs
from rewriter.core.groups import Slot
from rewriter.verify.regions import Region, Regions, Verdict
from targets.ia64.proving import Proving
from targets.ia64.registers import NUMBERS

ALL = (1 << len(NUMBERS)) - 1
REGIONS = 300  # of each file


def compared(pair: Pair, folder: Path) -> Verdict:
    """What the prover says of a pair; the new region's end is taken for the old one's."""
    gas = inputs.require_tool("ia64-linux-gnu-as")
    old, new = (assembled(gas, text, folder) for text in (pair.old, pair.new))
    live = ALL & ~sum(1 << NUMBERS[name] for name in pair.dead)
    ends = {end_of(new): end_of(old)}
    prover = Regions(Proving())
    return prover.compare(Region(old), Region(new), live, lambda at: ends.get(at, at))


@pytest.mark.parametrize("pair", EQUAL, ids=lambda pair: pair.name)
def test_equal_regions_are_proved(pair: Pair, tmp_path: Path) -> None:
    assert compared(pair, tmp_path) == Verdict(True, assumed=pair.old.startswith("(p6)"))


@pytest.mark.parametrize("pair", DIFFERENT, ids=lambda pair: pair.name)
def test_different_regions_are_refused(pair: Pair, tmp_path: Path) -> None:
    verdict = compared(pair, tmp_path)
    assert not verdict.is_equal
    assert verdict.at is not None
    assert re.search(pair.why, verdict.reason), verdict.reason


@pytest.mark.parametrize("name", FILES)
def test_real_regions_may_be_shuffled(name: str) -> None:
    source, prover = random.Random(3), Regions(Proving())
    moved = 0
    for old in regions(name, REGIONS, source):
        assert prover.compare(Region(old), Region(old), ALL).is_equal
        new = packed(shuffled(planned(old), source), end_of(old))
        verdict = prover.compare(Region(old), Region(new), ALL)
        assert verdict.is_equal, (hex(old[0].address), verdict)
        moved += planned(old) != planned(new)
    assert moved > REGIONS / 2
