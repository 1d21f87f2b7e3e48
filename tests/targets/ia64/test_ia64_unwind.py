"""Unwind descriptors of real files, read as readelf reads them, and moved."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fixtures import inputs
from fixtures.ia64 import linked
from rewriter.core.isa.registers import register_mask
from rewriter.elf.image import load
from targets.ia64.image import facts, unwind

NAMES = ("ia64-libsigar", "ia64-libjnidispatch", "ia64-libc")
_ENTRY = re.compile(r"^<.*>: \[0x([0-9a-f]+)-0x([0-9a-f]+)\]")
_REGION = re.compile(r"^    R\d:(body|prologue\w*)\(.*rlen=(\d+)\)")
_KEEPING = re.compile(r"_gr\((?:mask=\[(.*)\],grsave|reg)=r(\d+)")
_TIME = re.compile(r"(?:_when\w*|mem_stack_[fv]|epilogue)\(t=(\d+)")

Said = list[tuple[bool, int, list[int]]]
"""Of each region whether it is a body, its length, and the times in it."""


@cache
def by_readelf(name: str) -> dict[tuple[int, int], Said]:
    readelf = inputs.require_tool("ia64-linux-gnu-readelf")
    run = subprocess.run(
        (readelf, "-u", inputs.require(name)), capture_output=True, text=True, check=True
    )
    found: dict[tuple[int, int], Said] = {}
    said: Said = []
    for line in run.stdout.splitlines():
        if entry := _ENTRY.match(line):
            said = found[int(entry[1], 16), int(entry[2], 16)] = []
        elif region := _REGION.match(line):
            said.append((region[1] == "body", int(region[2]), []))
        elif time := _TIME.search(line):
            said[-1][2].append(int(time[1]))
    return found


def ours(found: unwind.Unwinding) -> Said:
    return [
        (part.body, part.length.value, [moment.number.value for moment in part.moments])
        for part in found.parts
    ]


@pytest.mark.parametrize("name", NAMES)
def test_regions_and_times_are_those_of_readelf(name: str) -> None:
    wanted = by_readelf(name)
    image = load(inputs.require(name))
    entries = facts.unwind_entries(image)
    assert {(entry.start, entry.end) for entry in entries} == wanted.keys()
    refused = compared = 0
    for entry in entries:
        try:
            found = unwind.unwinding(image, entry)
        except unwind.Malformed:
            refused += 1
            continue
        # Times of an empty region and the -1 of a frame that goes with the last slot name nothing.
        said = [
            (body, rlen, [t for t in times if rlen and t < 1 << 63])
            for body, rlen, times in wanted[entry.start, entry.end]
        ]
        assert ours(found) == said, hex(entry.start)
        compared += 1
    assert compared > 100
    assert refused <= 1


@pytest.mark.parametrize("name", NAMES)
def test_registers_in_which_others_are_kept_are_those_of_readelf(name: str) -> None:
    readelf = inputs.require_tool("ia64-linux-gnu-readelf")
    run = subprocess.run(
        (readelf, "-u", inputs.require(name)), capture_output=True, text=True, check=True
    )
    wanted: dict[int, int] = {}
    for line in run.stdout.splitlines():
        if entry := _ENTRY.match(line):
            start = int(entry[1], 16)
        elif keeping := _KEEPING.search(line):
            count = len(keeping[1].split(",")) if keeping[1] else 1
            wanted[start] = wanted.get(start, 0) | (1 << count) - 1 << int(keeping[2])
    image, compared = load(inputs.require(name)), 0
    for entry in facts.unwind_entries(image):
        try:
            found = unwind.unwinding(image, entry)
        except unwind.Malformed:
            continue
        assert found.kept == wanted.get(entry.start, 0), hex(entry.start)
        compared += bool(found.kept)
    assert compared > 100


def test_all_ways_of_keeping_a_register_are_read(tmp_path: Path) -> None:
    """Those that compilers do not use; readelf takes registers in the last two for others."""
    source = tmp_path / "kept.s"
    source.write_text("""
        .text
        .explicit
        .proc f
        f:
        .prologue
        .save ar.pfs, r36
        alloc r36 = ar.pfs, 2, 14, 2, 0
        .save.g 0x1, r40
        mov r40 = r4
        .save.g 0x2, r41
        mov r41 = r5
        ;;
        .save.b 0x1, r42
        mov r42 = b1
        ;;
        .spillreg r6, r44
        mov r44 = r6
        .spillreg.p p6, r7, r45
        (p6) mov r45 = r7
        .body
        br.ret.sptk.many b0
        ;;
        .endp f
    """)
    image = load(linked(source, tmp_path, "-shared"))
    (entry,) = facts.unwind_entries(image)
    assert unwind.unwinding(image, entry).kept == register_mask((36, 40, 41, 42, 44, 45))


@pytest.mark.parametrize("name", NAMES)
def test_lengths_cover_the_function(name: str) -> None:
    image = load(inputs.require(name))
    for entry in facts.unwind_entries(image):
        try:
            parts = unwind.unwinding(image, entry).parts
        except unwind.Malformed:
            continue
        assert sum(part.length.value for part in parts) == (entry.end - entry.start) // 16 * 3


@pytest.mark.parametrize("name", NAMES[:2])
def test_the_same_places_give_the_same_bytes(name: str) -> None:
    image = load(inputs.require(name))
    for entry in facts.unwind_entries(image):
        found = unwind.unwinding(image, entry)
        slots = range((entry.end - entry.start) // 16 * 3 + 1)
        same = dict(zip(slots, slots, strict=True))
        assert unwind.retimed(found, same, same) == found.raw


@settings(max_examples=50)
@given(st.data())
def test_moved_places_are_read_again(data: st.DataObject) -> None:
    """Regions that get shorter, and named slots anywhere in theirs."""
    image = load(inputs.require("ia64-libjnidispatch"))
    entry = data.draw(st.sampled_from(facts.unwind_entries(image)))
    found = unwind.unwinding(image, entry)
    bounds, places = {0: 0}, {}
    for part in found.parts:
        least = min(part.end - part.start, 1)
        length = data.draw(st.integers(least, part.end - part.start))
        bounds[part.end] = bounds[part.start] + length
        for slot in sorted({moment.slot for moment in part.moments}):
            first, last = bounds[part.start], bounds[part.end] - 1
            start, end = first, last
            for moment in part.moments:  # its number must have room in the bytes that it has
                if moment.slot == slot and moment.back:
                    first = max(first, end - moment.number.largest)
                elif moment.slot == slot:
                    last = min(last, start + moment.number.largest)
            assume(first <= last)
            places[slot] = data.draw(st.integers(first, last))
    raw = unwind.retimed(found, places, bounds)
    assert len(raw) == len(found.raw)
    again, *_ = unwind.parsed(raw)
    for part, new in zip(found.parts, again, strict=True):
        assert (new.start, new.end) == (bounds[part.start], bounds[part.end])
        assert [m.slot for m in new.moments] == [places[m.slot] for m in part.moments]


def test_a_number_that_does_not_fit_is_refused() -> None:
    image = load(inputs.require("ia64-libjnidispatch"))
    found = unwind.unwinding(image, facts.unwind_entries(image)[0])
    slots = range(found.parts[-1].end + 1)
    same = dict(zip(slots, slots, strict=True))
    with pytest.raises(unwind.Malformed, match=r"^no room for the number"):
        unwind.retimed(found, same, {n: 10_000 * n for n in slots})
