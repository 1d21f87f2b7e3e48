"""Law 3: what points into text is known, and code that something points at stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.core.edit import Edit
from rewriter.elf import image
from rewriter.elf.image import Image
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from targets.alpha.cpus import CPUS

PASSES = ("bytes", "bitscan", "align")
POINTED_AT = "something outside leads into it"


@pytest.fixture(scope="module")
def sample() -> Image:
    return image.load(str(inputs.require("alpha-sample")))


def _tuned(loaded: Image) -> Tuned:
    target = targets.of(loaded)
    return tune(loaded, target, CPUS["ev67"], Options(PASSES), lambda stage, done, total: None)


def _moved(tuned: Tuned) -> dict[str, Edit]:
    return {edit.routine: edit for edit in tuned.edits if edit.technique == "align"}


def _free_words(program: Program) -> Iterator[int]:
    """Offsets of words of read-only data that no jump table uses."""
    section = next(s for s in program.image.sections if s.name == ".rodata")
    tables = program.references.tables
    used = {at for t in tables for at in range(t.address, t.address + t.size * len(t.targets))}
    for address in range(-(-section.sh_addr // 8) * 8, section.sh_addr + section.sh_size - 7, 8):
        if used.isdisjoint(range(address, address + 8)):
            yield program.image.offset_of(address)


def test_a_word_of_data_that_points_into_a_function_stops_its_move(sample: Image) -> None:
    program = analyse(sample, targets.of(sample))
    place = next(_free_words(program))
    moved = _moved(_tuned(sample))
    assert moved
    for name, edit in list(moved.items())[:4]:
        function = next(f for f in program.functions if f.name == name)
        middle = (function.start + function.end) // 2 & -4
        data = bytearray(sample.data)
        data[place : place + 8] = middle.to_bytes(8, "little")
        again = _tuned(replace(sample, data=bytes(data)))
        assert name not in _moved(again), edit
        reasons = {skip.reason for skip in again.skips if skip.routine == name}
        assert POINTED_AT in reasons


def test_a_word_that_points_at_a_start_stops_nothing(sample: Image) -> None:
    program = analyse(sample, targets.of(sample))
    place = next(_free_words(program))
    moved = _moved(_tuned(sample))
    name = next(iter(moved))
    start = next(f for f in program.functions if f.name == name).start
    data = bytearray(sample.data)
    data[place : place + 8] = start.to_bytes(8, "little")
    assert name in _moved(_tuned(replace(sample, data=bytes(data))))
