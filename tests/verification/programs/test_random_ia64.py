"""Random functions of IA-64 do the same after patch, on the machine that runs groups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.fuzz.ia64 import generate
from fixtures.fuzz.ia64_road import travel
from fixtures.fuzz.outcome import Fate
from fixtures.inputs import require_tool
from rewriter.core.code.groups import Slot
from rewriter.elf import image
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from tests.support.depth import depth

SEED, COUNT = "tests", depth(6, 10)


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    for name in ("ia64-linux-gnu-as", "ia64-linux-gnu-ld"):
        require_tool(name)


@pytest.mark.parametrize("number", range(COUNT))
def test_functions_do_the_same(number: int, tmp_path: Path) -> None:
    outcome = travel(SEED, number, tmp_path)
    assert set(outcome.fates.values()) == {Fate.EQUAL}, outcome.detail
    assert outcome.edits > 3


def test_a_wrong_order_is_noticed(tmp_path: Path) -> None:
    """Two bundles of a region change places: the machine sees it, and so does verify."""
    outcome = travel(SEED, 0, tmp_path, _exchanged(_of_sums))
    assert Fate.DIFFERENT in outcome.fates.values()
    assert {Fate.EQUAL} != {*outcome.fates.values()} <= {Fate.DIFFERENT, Fate.UNVERIFIED}


def _exchanged(wanted: Callable[[Slot, Slot], bool]) -> Callable[[bytes], bytes]:
    """What exchanges the first two bundles whose last and first instructions are as wanted."""

    def spoil(data: bytes) -> bytes:
        for start, end in image.parse(data, "spoilt").executable_ranges():
            code = data[start:end]  # the first segment is at address 0 and at offset 0
            for at in range(0, len(code) - 2 * BUNDLE, BUNDLE):
                first, second = (code[n : n + BUNDLE] for n in (at, at + BUNDLE))
                slots = list(bundles.straight(first, 0)), list(bundles.straight(second, BUNDLE))
                if wanted(slots[0][-1], slots[1][0]):
                    there = start + at
                    return data[:there] + second + first + data[there + 2 * BUNDLE :]
        raise AssertionError("no such bundles")

    return spoil


def _of_sums(last: Slot, first: Slot) -> bool:
    """At the end of a function: shladd r8=r8,1,x, one behind the other."""
    return last.stop and last.insn.name == first.insn.name == "shladd"


def test_a_seed_and_a_number_make_one_library() -> None:
    assert generate(SEED, 1) == generate(SEED, 1)
    assert generate(SEED, 1) != generate(SEED, 2)
