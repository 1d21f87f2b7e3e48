"""The proof that a reordered IA-64 region equals the original: cases by hand, and real regions."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.core.assumptions import EVERY, LOADS
from rewriter.core.code.groups import Slot
from rewriter.core.code.transfer import Order, Transfer
from rewriter.verify.regions.events import Events
from rewriter.verify.regions.groups import OpenGroup
from rewriter.verify.regions.proof import Regions, Straight, Verdict
from rewriter.verify.regions.terms import Terms
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NUMBERS
from tests.verification.regions.region_cases import DIFFERENT, EQUAL, Pair, in_lines
from tests.verification.regions.region_shuffle import (
    FILES,
    end_of,
    packed,
    planned,
    regions,
    shuffled,
)
from tests.verification.regions.region_text import assembled

ALL = (1 << len(NUMBERS)) - 1
REGIONS = 150  # of each file


def compared(pair: Pair, folder: Path) -> Verdict:
    """What the prover says of a pair; the new region's end is taken for the old one's."""
    gas = inputs.require_tool("ia64-linux-gnu-as")
    old, new = (assembled(gas, text, folder) for text in (pair.old, pair.new))
    live = ALL & ~sum(1 << NUMBERS[name] for name in pair.dead)
    ends = {end_of(new): end_of(old)}
    prover = Regions(Proving())
    return prover.compare(Straight(old), Straight(new), live, lambda at: ends.get(at, at))


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
        assert prover.compare(Straight(old), Straight(old), ALL).is_equal
        new = packed(shuffled(planned(old), source), end_of(old))
        verdict = prover.compare(Straight(old), Straight(new), ALL)
        assert verdict.is_equal, (hex(old[0].address), verdict)
        moved += planned(old) != planned(new)
    assert moved > REGIONS / 2


# What a caller says of a region ------------------------------------------------------------


def made(text: str, folder: Path) -> tuple[Slot, ...]:
    """A region by hand; a bar is a stop."""
    return assembled(inputs.require_tool("ia64-linux-gnu-as"), in_lines(text), folder)


def without_stop(slots: tuple[Slot, ...], number: int) -> tuple[Slot, ...]:
    """The region without one of its stops, counted from 0."""
    stops = [n for n, slot in enumerate(slots) if slot.stop]
    at = stops[number]
    return (*slots[:at], replace(slots[at], stop=False), *slots[at + 1 :])


def verdict(old: Straight, new: Straight) -> Verdict:
    """Of regions that end at the same place, with every register live."""
    return Regions(Proving()).compare(old, new, ALL)


@pytest.mark.parametrize(
    ("old", "new", "stop", "why"),
    [
        ("alloc r34=ar.pfs,8,8,0,0 / mov r8=r9 |", "mov r8=r9 | alloc r34=ar.pfs,8,8,0,0 |", 0,
         "alloc is not the first of its group"),
        ("bsw.0 | nop.b 0 |", "bsw.0 | nop.b 0 |", 0, "bsw.0 is not the last of its group"),
    ],
)  # fmt: skip
def test_first_and_last(old: str, new: str, stop: int, why: str, tmp_path: Path) -> None:
    first, second = made(old, tmp_path), without_stop(made(new, tmp_path), stop)
    assert verdict(Straight(first), Straight(second)).reason == why


def test_a_loop_branch_belongs_into_slot_2(tmp_path: Path) -> None:
    old = made("nop.b 0 / nop.b 0 / br.cloop.sptk.few out |", tmp_path)
    loop, stop = old[2], old[2].stop
    assert verdict(Straight(old), Straight(old)).is_equal
    new = (
        replace(loop, address=0, stop=False),
        *(replace(old[0], address=n, stop=stop and n == 2) for n in (1, 2)),
    )
    assert verdict(Straight(old), Straight(new)).reason == "br.cloop is not in slot 2"


def test_slots_that_are_no_bundle(tmp_path: Path) -> None:
    old = made("mov r8=r9 | mov r10=r11 |", tmp_path)
    new = (replace(old[0], insn=old[-1].insn), *old[1:])
    assert new[0].insn.name == "nop.i"
    assert "no bundle is I" in verdict(Straight(old), Straight(new)).reason


def test_an_illegal_target_is_refused(tmp_path: Path) -> None:
    old = made("ld8 r8=[r9] | mov r8=0 |", tmp_path)
    new = (replace(old[0], insn=old[0].insn.replace(r1=0)), *old[1:])
    assert "cannot be written" in verdict(Straight(old), Straight(new)).reason


def test_the_groups_at_the_ends_are_whole(tmp_path: Path) -> None:
    """A region that begins or ends within a group is judged with the group's other slots."""
    outside = made("mov r9=r12 |", tmp_path)
    old, new = (made(text, tmp_path) for text in ("nop.m 0 | mov r8=r9 |", "mov r8=r9 | nop.m 0 |"))
    assert verdict(Straight(old), Straight(new)).is_equal
    before = without_stop(outside, 0)
    found = verdict(Straight(old, before=before), Straight(new, before=before))
    assert found.reason == "read after write of r9 within an instruction group"
    old, new = (
        without_stop(made(text, tmp_path), 1)
        for text in ("mov r9=r8 | nop.m 0 |", "nop.m 0 | mov r9=r8 |")
    )
    found = verdict(Straight(old, after=outside), Straight(new, after=outside))
    assert found.reason == "write after write of r9 within an instruction group"


@pytest.mark.parametrize(("group", "shows"), [
    ("(p6) mov r9=1 / (p7) mov r9=2", True),
    ("(p6) cmp.eq p9,p10=r9,r10 / (p7) cmp.eq p9,p10=r9,r11", True),
    ("(p6) mov b6=r9 / (p7) mov b6=r10", True),
    ("(p6) fmerge.s f8=f9,f10 / (p7) fmerge.s f8=f9,f11", True),
    ("(p6) rum 4 / (p7) sum 8", False),
    ("(p6) ssm 0x4000 / (p7) ssm 0x2000", False),
    ("(p7) cmp.eq p9,p10=r9,r10 / (p6) mov pr=r11,0x100", False),
    ("(p6) mov rr[r9]=r10 / (p7) mov rr[r11]=r14", False),
    ("(p6) mov dbr[r9]=r10 / (p7) mov dbr[r11]=r14", False),
    ("(p6) st8.spill [r9]=r10 / (p7) ld8.fill r11=[r14]", False),
])  # fmt: skip
def test_groups_that_show_predicates_to_be_exclusive(
    group: str, shows: bool, tmp_path: Path
) -> None:
    """A resource that the manual divides further shows nothing."""
    old, new = (
        made(f"{group} | {pair} |", tmp_path)
        for pair in ("(p6) mov r8=1 | (p7) mov r8=2", "(p7) mov r8=2 | (p6) mov r8=1")
    )
    assert verdict(Straight(old), Straight(new)).is_equal == shows


def test_what_a_group_needs_of_predicates_before_the_region(tmp_path: Path) -> None:
    """The first of a pair stands before it, and reads a predicate that is set there."""
    first = "(p6) mov r9=1 / cmp.eq p6,p8=r11,r0 |"
    before = without_stop(made(first, tmp_path), 0)
    old, new = (
        made(f"(p7) mov r9=2 | {pair} |", tmp_path)
        for pair in ("(p6) mov r8=1 | (p7) mov r8=2", "(p7) mov r8=2 | (p6) mov r8=1")
    )
    found = verdict(Straight(old, before=before), Straight(new, before=before))
    assert found.reason == "r8 differs at the end"
    assert verdict(Straight(old, before=before), Straight(old, before=before)).is_equal


def test_a_spill_before_the_region(tmp_path: Path) -> None:
    before = without_stop(made("st8.spill [r14]=r15 |", tmp_path), 0)
    old, new = (
        made(text, tmp_path)
        for text in ("nop.m 0 | st8.spill [r8]=r9 |", "st8.spill [r8]=r9 | nop.m 0 |")
    )
    found = verdict(Straight(old, before=before), Straight(new, before=before))
    assert found.reason == "two spills to one bit, perhaps, within an instruction group"
    assert verdict(Straight(new, before=before), Straight(new, before=before)).is_equal


def test_what_goes_on_behind_regions(tmp_path: Path) -> None:
    """Each region may be entered behind one that control leaves for ever."""
    target = targets.named("ia64").bundling
    assert target is not None
    leaves, goes_on, closed = (
        made(text, tmp_path) for text in ("br.ret.sptk.many b0 |", "mov r8=r9 |", "nop.m 0 |")
    )
    group = OpenGroup(target, without_stop(goes_on, 0))
    group.follow(without_stop(closed, 0))
    assert [slot.insn.name for slot in group.slots][:1] == ["adds"]
    group.follow(without_stop(leaves, 0))
    assert not group.slots
    group.follow(without_stop(goes_on, 0))
    assert len(group.slots) == 3
    group.follow(closed)
    assert not group.slots


def test_a_system_instruction_before_the_region(tmp_path: Path) -> None:
    before = without_stop(made("srlz.d |", tmp_path), 0)
    old, new = (
        made(text, tmp_path) for text in ("nop.m 0 | ld8 r8=[r9] |", "ld8 r8=[r9] | nop.m 0 |")
    )
    assert verdict(Straight(old), Straight(new)).is_equal
    found = verdict(Straight(old, before=before), Straight(new, before=before))
    assert found.reason == "a stop behind a system instruction is missing"


def test_registers_before_a_slot_that_a_table_names(tmp_path: Path) -> None:
    texts = "mov r8=r10 | ld8 r9=[r11] |", "ld8 r9=[r11] | mov r8=r10 |"
    old, new = (made(text, tmp_path) for text in texts)
    assert verdict(Straight(old), Straight(new)).is_equal
    named = [
        Straight(code, seen=frozenset(slot.address for slot in code if slot.insn.name == "ld8"))
        for code in (old, new)
    ]
    assert verdict(*named).reason == "r8 differs at a read from outside"
    assert verdict(named[0], named[0]).is_equal


def test_the_end_and_targets_in_moved_code(tmp_path: Path) -> None:
    old = made("mov r8=r9 | nop.m 0 | nop.m 0 | nop.m 0 |", tmp_path)
    new = made("mov r8=r9 |", tmp_path)
    assert end_of(old) != end_of(new)
    assert (
        verdict(Straight(old), Straight(new)).reason == "the regions do not end at the same place"
    )


def test_nothing_may_follow_a_rotation(tmp_path: Path) -> None:
    text = "nop.b 0 / nop.b 0 / br.ctop.sptk.few out | mov r8=r9 |"
    code = made(text, tmp_path)
    found = verdict(Straight(code), Straight(code))
    assert found.reason == "a branch that renames registers is not the last"
    assert verdict(Straight(code[:3]), Straight(code[:3])).is_equal


@pytest.mark.parametrize(("first", "second"), [
    ("ld8 r8=[r9]", "ld8 r10=[r9]"), ("ld8 r8=[r9]", "ld8 r10=[r11]"),
    ("st8 [r9]=r8", "ld8 r10=[r14]"), ("ld8 r8=[r9]", "st8 [r14]=r10"),
])  # fmt: skip
def test_a_load_keeps_its_place_where_none_may_come_earlier(
    first: str, second: str, tmp_path: Path
) -> None:
    lead = "adds r14=8,r9 |"
    old, new = (
        made(f"{lead} {text} |", tmp_path)
        for text in (f"{first} | {second}", f"{second} | {first}")
    )
    strict = Regions(Proving(), EVERY - {LOADS})
    assert verdict(Straight(old), Straight(new)).is_equal
    assert not strict.compare(Straight(old), Straight(new), ALL).is_equal
    together = made(f"{lead} {first} / {second} / mov r15=r16 |", tmp_path)
    apart = made(f"{lead} {first} | mov r15=r16 | {second} |", tmp_path)
    ends = {end_of(together): end_of(apart)}
    assert strict.compare(
        Straight(apart), Straight(together), ALL, lambda at: ends.get(at, at)
    ).is_equal


@pytest.mark.parametrize("width", [32, 64])
def test_sums_and_accesses_go_round_at_the_width(width: int) -> None:
    terms, end = Terms(width), 1 << width
    base = terms.term("in", 1)
    assert terms.add((terms.add((base,), end - 4),), 4) == base
    store = Transfer("store", 0, 0, order=Order.STORE, size=4)
    places = {-4: True, -3: False, 3: False, 4: True, end - 4: True, end - 3: False, end // 2: True}
    for distance, is_apart in places.items():
        events = Events(terms)
        first, second = (
            events.add(at, store, terms.true, [terms.add((base,), at)]) for at in (0, distance)
        )
        _, _, _, count, *rest = terms.parts(second)
        assert (first not in rest[count:]) == is_apart, distance
