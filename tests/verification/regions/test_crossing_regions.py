"""Registers that are dead at calls and returns, and groups that go on over a region's end.

The new code is the library's source with one instruction changed, assembled and linked again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import targets
from fixtures.ia64 import CROSSING, linked
from rewriter.elf.image import Image, load, parse
from rewriter.verify.regions.check import Verdict, compare
from rewriter.verify.regions.function import STANDARD
from targets.ia64.isa.fields import BUNDLE


def _compared(folder: Path, function: str, old: str, new: str) -> Verdict:
    """The library, and the library with something else in a function."""
    text = CROSSING.read_text()
    at = text.index(f" {function}\n")
    end = text.index("\n\n", at)
    assert old in text[at:end]
    files = []
    for name, written in (("old", text), ("new", text[:at] + text[at:].replace(old, new, 1))):
        (folder / name).mkdir()
        source = folder / name / "crossing.s"
        source.write_text(written)
        files.append(load(linked(source, source.parent, "-shared")))
    before, after = files
    assert before.data != after.data
    target = targets.of(before).bundling
    assert target is not None
    return compare(before, after, target, lambda *progress: None)


@pytest.mark.parametrize(("function", "register"), [
    ("calls_plain", "r20"), ("calls_plain", "r2"), ("calls_plain", "r41"),
    ("calls_other_file", "r43"),
    ("calls_reader", "r21"), ("calls_through", "r22"), ("calls_setting", "r20"),
    ("calls_other_file", "r20"), ("calls_pointer", "r20"), ("keeps", "r22"),
    ("kept_for", "r24"), ("plain", "r23"), ("plain", "r1"),
])  # fmt: skip
def test_what_nothing_reads_may_be_overwritten(
    tmp_path: Path, function: str, register: str
) -> None:
    verdict = _compared(tmp_path, function, "nop.i 0", f"mov {register} = r0")
    assert verdict.ok and verdict.blocks == 1
    assert verdict.preconditions == {STANDARD: 1}


@pytest.mark.parametrize(("function", "register"), [
    # An argument, a static chain, where the callee returns to, a register that is kept, gp's copy.
    ("calls_plain", "r44"), ("calls_plain", "r15"), ("calls_plain", "r35"), ("calls_plain", "r36"),
    ("calls_plain", "r4"), ("calls_plain", "r37"),
    # What a callee reads, itself or through another; linkages that are not the standard's.
    ("calls_reader", "r20"), ("calls_through", "r20"), ("calls_other_file", "r15"),
    ("calls_otherwise", "r20"), ("calls_twice", "r20"), ("calls_twice", "r41"),
    # What a caller keeps there over the call; a function that is branched to.
    ("kept_for", "r23"), ("kept_for", "r1"), ("tail", "r20"),
    ("plain", "r4"), ("plain", "r9"), ("plain", "r15"), ("calls_plain", "r34"),
])  # fmt: skip
def test_what_may_be_read_may_not(tmp_path: Path, function: str, register: str) -> None:
    verdict = _compared(tmp_path, function, "nop.i 0", f"mov {register} = r0")
    assert [f"{register} differs at br." in finding for finding in verdict.findings] == [True]


def test_a_callee_may_not_read_more_than_before(tmp_path: Path) -> None:
    verdict = _compared(tmp_path, "kept_for", "r8 = r32, r32", "r8 = r32, r20")
    assert not verdict.ok


def test_what_needs_no_standard_does_not_say_so(tmp_path: Path) -> None:
    old = "nop.m 0\n\tnop.i 0\n\tbr.call.sptk.many b0 = reader"
    new = "nop.m 0\n\tnop.i 1\n\tbr.call.sptk.many b0 = reader"
    verdict = _compared(tmp_path, "calls_reader", old, new)
    assert verdict.ok and not verdict.preconditions


# Groups that go on from one region to the next ---------------------------------------------

OPEN = """\
\t.text
\t.global before, chained, framed, last
\t.proc before
before:
\t{ .mmi
\tcmp.ne p6, p7 = r0, r0
\tnop.m 0
\tnop.i 0 ;;
\t}
\t{ .mmi
\tadd r32 = 8, r32
\tnop.m 0
\tnop.i 0
\t}
\t{ .mmi
\tnop.m 0
\tnop.m 0
\tnop.i 0 ;;
\t}
\t.endp before
\t.proc chained
chained:
\t{ .mmi
\tnop.m 0 ;;
\tld8 r8 = [r32]
\tnop.i 0 ;;
\t}
\t{ .mbb
\tnop.m 0
\t(p6) br.cond.dptk.few second
\t(p8) br.cond.dptk.few third
\t}
\t{ .mii
\tadd r14 = 8, r32
\tnop.i 0
\tnop.i 0
\t}
second:
\t{ .mii
\tadd r15 = 1, r36
\tnop.i 0
\tnop.i 0
\t}
third:
\t{ .mmi
\tnop.m 0 ;;
\tld8 r9 = [r14]
\tnop.i 0 ;;
\t}
\t{ .mib
\tadd r8 = r8, r15
\tnop.i 0
\tbr.ret.sptk.many b0 ;;
\t}
\t.endp chained
\t.proc framed
framed:
\t{ .mib
\tcmp.eq p6, p7 = r0, r32
\tnop.i 0
\t(p6) br.cond.dptk.few begun ;;
\t}
\t{ .mmi
\tnop.m 0
\tnop.m 0
\tnop.i 0 ;;
\t}
begun:
\t{ .mib
\talloc r34 = ar.pfs, 2, 2, 0, 0
\tnop.i 0
\t(p7) br.cond.dptk.few plain ;;
\t}
\t{ .mmi
\tnop.m 0
\tnop.m 1
\tnop.i 0 ;;
\t}
plain:
\t{ .mib
\tnop.m 0
\tnop.i 0
\t(p8) br.ret.sptk.many b0 ;;
\t}
\t{ .mmi
\tnop.m 0
\tnop.m 0
\tnop.i 0 ;;
\t}
\t.endp framed
\t.proc last
last:
\t{ .mii
\talloc r34 = ar.pfs, 2, 2, 0, 0
\tnop.i 0
\tnop.i 0 ;;
\t}
\t{ .mib
\tnop.m 0
\tnop.i 0
\tbr.ret.sptk.many b0 ;;
\t}
\t.endp last
"""
STOPS = {"before": 2, "chained": 3, "third": 7, "begun": 10, "plain": 12, "last": 14}
"""By name the bundle, counted from the start, that has the stop."""


def _without_stops(image: Image, *names: str) -> Image:
    """The library without the first stop of some bundles."""
    data, (start, _) = bytearray(image.data), image.executable_ranges()[0]
    for name in names:
        at = image.offset_of(start + BUNDLE * STOPS[name])
        template = {0x09: 0x08, 0x0B: 0x09}[data[at] & 0x1F]
        data[at] = data[at] & 0xE0 | template
    return parse(bytes(data), image.name)


@pytest.mark.parametrize(("open_in_both", "open_in_new", "register"), [
    ("", "third", "r14"),
    ("before", "chained", "r32"),
    ("", "chained", ""),
])  # fmt: skip
def test_groups_go_on_over_regions_and_functions(
    tmp_path: Path, open_in_both: str, open_in_new: str, register: str
) -> None:
    (source := tmp_path / "open.s").write_text(OPEN)
    old = _without_stops(load(linked(source, tmp_path, "-shared")), *open_in_both.split())
    new = _without_stops(old, open_in_new)
    target = targets.of(old).bundling
    assert target is not None
    found = compare(old, new, target, lambda *progress: None).findings
    why = f"read after write of {register} within an instruction group"
    assert [why in finding for finding in found] == [True] * bool(register)


@pytest.mark.parametrize(("open_in_both", "open_in_new", "why"), [
    ("", "begun", "alloc is not the first of its group"),
    ("begun", "plain", ""),
    ("", "plain", ""),
    ("", "last", "behind its end alloc is not the first of its group"),
    ("last", "begun plain", "alloc is not the first of its group"),
])  # fmt: skip
def test_nops_stand_in_front_of_no_new_frame_in_its_group(
    tmp_path: Path, open_in_both: str, open_in_new: str, why: str
) -> None:
    (source := tmp_path / "open.s").write_text(OPEN)
    old = _without_stops(load(linked(source, tmp_path, "-shared")), *open_in_both.split())
    new = _without_stops(old, *open_in_new.split())
    target = targets.of(old).bundling
    assert target is not None
    found = compare(old, new, target, lambda *progress: None).findings
    assert [why in finding for finding in found] == [True] * bool(why)
