"""Regions of a real file with exits on the way: what passes them, and a rewriter that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

import targets
from fixtures.inputs import require
from passes import offered
from rewriter.analysis.bundled_liveness import BundledLiveness
from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Flow
from rewriter.core.target.bundling import Bundling, Region
from rewriter.elf.image import Image, load
from rewriter.road.bundled import road as grouped
from rewriter.road.bundled.regions import Reordering
from rewriter.road.bundled.road import BundledRoad, prepared
from rewriter.road.options import Options

NAME, FUNCS = "ia64-libjnidispatch", r"ffi_[cp]\w+"


@pytest.fixture(scope="module")
def image() -> Image:
    return load(require(NAME))


def travelled(image: Image, functions: str = FUNCS) -> BundledRoad:
    """The road over a part of the file."""
    target = targets.of(image).bundling
    assert target is not None
    options = Options(passes=offered(target), funcs=(functions,))
    road = BundledRoad(prepared(image, target, target.cpus["itanium2"], options))
    road.run(road.functions, lambda *progress: None)
    return road


def _between_exits(road: BundledRoad, code: bytes, region: Region) -> list[list[str]]:
    """The names of the instructions before each branch and behind the last, each in order."""
    found: list[list[str]] = [[]]
    slots: list[Slot] = list(road.prepared.target.straight(code, region.start))
    for slot in slots:
        if slot.insn.op.flow is not Flow.NEXT:
            found.append([])
        elif not road.prepared.target.is_nop(slot.insn):
            found[-1].append(slot.insn.name)
    return [sorted(names) for names in found]


def test_instructions_pass_exits(image: Image) -> None:
    road = travelled(image)
    passing = []
    for placing in road.placings.values():
        for one in placing.made.values():
            region = one.region
            old = image.read(region.start, region.end - region.start)
            parts = [_between_exits(road, code, region) for code in (old, one.code)]
            if parts[0] != parts[1]:
                assert len(parts[0]) == len(parts[1]) > 1
                passing.append(region)
    assert len(passing) > 10


def test_what_a_wrong_rewriter_takes_for_dead_is_refused(
    image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rewriter for which nothing is read behind calls, returns and what it does not know."""

    def careless(target: Bundling, *others: Any) -> Reordering:
        code, image, model, _, beyond, *rest = others
        liveness = BundledLiveness(target.proving, 0)
        return Reordering(target, code, image, model, liveness, beyond, *rest)

    monkeypatch.setattr(grouped, "Reordering", careless)
    road = travelled(image)
    refused = [skip.reason for skip in road.skips if skip.reason.startswith("not verified")]
    assert len(refused) > 10
    assert all(" differs at " in reason for reason in refused)
    assert any("differs at br.cond" in reason for reason in refused)


def test_what_a_wrong_rewriter_takes_for_unread_by_others_is_refused(
    image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rewriter for which callees and callers read nothing at all."""

    def careless(target: Bundling, *others: Any) -> Reordering:
        code, image, model, liveness, beyond, *rest = others
        return Reordering(target, code, image, model, liveness, dict.fromkeys(beyond, 0), *rest)

    monkeypatch.setattr(grouped, "Reordering", careless)
    road = travelled(image)
    refused = [skip.reason for skip in road.skips if skip.reason.startswith("not verified")]
    assert len(refused) > 10
    assert any("differs at br.call" in reason for reason in refused)


def test_values_stay_in_the_frame(image: Image) -> None:
    """A function in which few registers are free, and the frame shows its size behind an exit."""
    road = travelled(image, "newJavaStructure")
    assert any(placing.made for placing in road.placings.values())
    assert not [skip for skip in road.skips if skip.reason.startswith("not verified")]
