"""Scheduled regions: hand-made ones with what must come of them, and real ones before judges.

The judges are objdump (the same instructions), GNU as (no dependency is violated that was not),
and the proof of regions, which shares no code with the scheduler.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from fixtures.inputs import require, require_tool
from passes.scheduling.bundled import Outcome, schedule
from passes.scheduling.bundled_model import Model
from rewriter.core.code.groups import Slot, groups
from rewriter.core.code.superblock import Superblock
from rewriter.core.isa.instruction import Flow
from rewriter.verify.regions.proof import Regions, Straight
from targets.ia64.cpus import CPUS
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.rows import TABLE
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NUMBERS
from targets.ia64.schedule.bundler import Scheduling, code
from targets.ia64.schedule.scheduling import facts
from tests.targets.ia64 import ia64_files
from tests.targets.ia64.ia64_assembled import complaints

SCHEDULING = Scheduling(Model(CPUS["itanium2"]))
EVERYTHING = (1 << len(TABLE.register_names)) - 1
START = 0x4000
_CONTROL = re.compile("br|chk|fchkf|rfi")


@cache
def assembled(text: str, folder: Path) -> tuple[Slot, ...]:
    gas = require_tool("ia64-linux-gnu-as")
    source, made = folder / "made.s", folder / "made.o"
    source.write_text(f".text; .explicit\n{text}\n")
    subprocess.run((gas, "-x", "-o", made, source), check=True, capture_output=True)
    with made.open("rb") as stream:
        data = ELFFile(stream).get_section_by_name(".text").data()
    return tuple(bundles.straight(data, START))


def spelled(slots: Sequence[Slot]) -> list[str]:
    """A line a group, without nops."""
    lines = []
    for group in groups(slots):
        texts = (TABLE.text(slot.insn) for slot in group)
        lines.append(", ".join(t for t in texts if not t.startswith("nop.")))
    return [line for line in lines if line]


def scheduled(text: str, folder: Path, live: int = EVERYTHING) -> Outcome:
    return schedule(Superblock(assembled(text, folder), live), SCHEDULING)


def test_independent_groups_become_one(tmp_path: Path) -> None:
    found = scheduled("".join(f"adds r{n} = {n}, r1 ;;\n" for n in range(14, 20)), tmp_path)
    assert len(spelled(found.slots)) == 1
    assert len(found.slots) == 6  # two bundles, no nop
    assert SCHEDULING.cycles(found.slots) == 1


def test_a_compare_shares_the_group_of_its_branch(tmp_path: Path) -> None:
    found = scheduled("cmp.eq p6, p7 = r14, r15 ;;\n(p6) br.cond.sptk.few b6 ;;", tmp_path)
    assert len(spelled(found.slots)) == 1
    assert len(found.slots) == 3


def test_a_load_comes_before_what_does_not_wait_for_it(tmp_path: Path) -> None:
    """By hand: the load, its address two cycles later; four additions fit in between."""
    text = "".join(f"adds r{n} = 1, r{n} ;;\n" for n in range(20, 24))
    found = scheduled(f"{text} ld8 r14 = [r32] ;;\n ld8 r15 = [r14] ;;", tmp_path)
    assert SCHEDULING.cycles(found.slots) == 3


@pytest.mark.parametrize(
    ("second", "may_cross"),
    [
        ("ld8 r14 = [r33]", False),  # another address, perhaps the same
        ("adds r34 = 8, r32 ;;\n ld8 r14 = [r34]", True),  # eight bytes further on
        ("adds r34 = 4, r32 ;;\n ld8 r14 = [r34]", False),  # four
        ("ld8.acq r14 = [r32]", False),
    ],
)
def test_a_load_crosses_a_store_to_other_bytes_only(
    tmp_path: Path, second: str, may_cross: bool
) -> None:
    """The store waits for a multiplication; what may go before it does."""
    found = scheduled(
        f"getf.sig r20 = f8 ;;\n st8 [r32] = r20 ;;\n {second} ;;\n ld8 r15 = [r14] ;;", tmp_path
    )
    names = [slot.insn.name for slot in found.slots]
    assert (names.index(second.split(" r14")[0].split()[-1]) < names.index("st8")) == may_cross


def test_saved_registers_come_back_before_or_behind_a_move_of_the_stack(tmp_path: Path) -> None:
    """Three moves that only I0 takes, a sum and a branch fill two bundles, the sum in the first."""
    saved = (("b0", 33), ("ar.pfs", 34), ("ar.lc", 35))
    text = "".join(f"mov {name} = r{number} ;;\n" for name, number in saved)
    text += "adds r12 = 32, r12\n br.ret.sptk.many b0 ;;"
    found = scheduled(text, tmp_path)
    assert len(found.slots) == 6
    assert proved(Superblock(assembled(text, tmp_path)), found)


def test_registers_are_chosen_anew(tmp_path: Path) -> None:
    """Two chains in one register go side by side in two, where the other one is free."""
    chain = "adds r14 = {0}, r32 ;;\n ld8 r14 = [r14] ;;\n add r{1} = r14, r33 ;;\n"
    text = chain.format(8, 16) + chain.format(24, 17) + "mov r14 = r0 ;;\n mov r15 = r0 ;;"
    before = SCHEDULING.cycles(assembled(text, tmp_path))
    found = scheduled(text, tmp_path)
    assert SCHEDULING.cycles(found.slots) == 3 < before
    assert any(slot.insn.name == "ld8" and slot.insn.operand("r1") == 15 for slot in found.slots)
    assert proved(Superblock(assembled(text, tmp_path)), found)


def test_a_fixed_bundle_and_what_is_before_it_stay(tmp_path: Path) -> None:
    text = "".join(f"adds r{n} = {n}, r1 ;;\n" for n in range(14, 20))
    old = assembled(text, tmp_path)
    kept = old[6].address
    found = schedule(Superblock(old, EVERYTHING, frozenset({kept})), SCHEDULING)
    at = found.origins.index(kept)
    assert found.slots[at].address % BUNDLE == kept % BUNDLE
    assert found.slots[at : at + 3] == tuple(
        Slot(s.address - old[6].address + found.slots[at].address, s.insn, s.stop) for s in old[6:9]
    )
    for new, origin in zip(found.slots, found.origins, strict=True):
        if origin is not None:
            assert (new.address < found.slots[at].address) == (origin < kept)


def proved(old: Superblock, found: Outcome) -> bool:
    """Whether the proof, with all registers live, accepts the new order."""
    ends = [slots[-1].address // BUNDLE * BUNDLE + BUNDLE for slots in (old.slots, found.slots)]
    verdict = Regions(Proving()).compare(
        Straight(old.slots),
        Straight(found.slots),
        EVERYTHING,
        lambda address: ends[0] if address == ends[1] else address,
    )
    return verdict.is_equal


def real(name: str, windows: int) -> Iterator[Superblock]:
    """Straight regions of a file, from windows of its text here and there."""
    source = random.Random(name)
    address, data = max(ia64_files.texts(require(name)), key=lambda text: len(text[1]))
    for _ in range(windows):
        start = source.randrange(len(data) // BUNDLE - WINDOW) * BUNDLE
        try:
            slots = tuple(bundles.straight(data[start : start + WINDOW * BUNDLE], address + start))
        except ValueError:
            continue  # data among the text
        starts = _starts(slots)
        for one, end in pairwise(starts):
            yield Superblock(tuple(slot for slot in slots if one <= slot.address < end))


def _starts(slots: Sequence[Slot]) -> list[int]:
    """Where control may come from elsewhere in the window, or has gone."""
    starts = set()
    for slot in slots:
        bundle = slot.address // BUNDLE * BUNDLE
        if slot.insn.op.flow is not Flow.NEXT or _CONTROL.match(slot.insn.name):
            starts.add(bundle + BUNDLE)
            if slot.insn.has("target25"):
                starts.add(bundle + slot.insn.operand("target25"))
    return sorted(s for s in starts if slots[0].address <= s <= slots[-1].address)


WINDOW = 24
NAMES = ("ia64-libjnidispatch", "ia64-libsigar", "ia64-libc", "ia64-vmlinux")


@cache
def changed(name: str) -> tuple[tuple[Superblock, Outcome], ...]:
    pairs = [(region, schedule(region, SCHEDULING)) for region in real(name, 20)]
    return tuple((region, found) for region, found in pairs if not found.reason)


@pytest.mark.parametrize("name", NAMES)
def test_real_regions_are_proved_and_no_longer(name: str) -> None:
    assert changed(name)
    for region, found in changed(name):
        assert proved(region, found), hex(region.slots[0].address)
        assert len(code(found.slots)) <= len(code(region.slots))
        assert SCHEDULING.cycles(found.slots) <= SCHEDULING.cycles(region.slots)


@pytest.mark.parametrize("name", NAMES)
def test_real_regions_have_the_same_instructions(name: str, tmp_path: Path) -> None:
    """objdump reads the new bytes; registers may have changed, targets have not."""
    for which, side in enumerate((lambda pair: pair[0].slots, lambda pair: pair[1].slots)):
        pieces = [code(side(pair)) for pair in changed(name)]
        (tmp_path / f"{which}.bin").write_bytes(b"".join(pieces))
    old, new = (_names(tmp_path / f"{which}.bin") for which in range(2))
    assert old == new


def _names(path: Path) -> Counter[str]:
    objdump = require_tool("ia64-linux-gnu-objdump")
    command = (objdump, "-D", "-b", "binary", "-m", "ia64", "--no-show-raw-insn", str(path))
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ +[0-9a-f]+:\t(?:\[\w{3}\] *)?\s*(?:\(p\d+\) )?\s*([\w.]+)", text, re.M)
    return Counter(name for name in found if not name.startswith("nop."))


@pytest.mark.parametrize("name", NAMES)
def test_as_finds_no_new_violation(name: str, tmp_path: Path) -> None:
    gas = require_tool("ia64-linux-gnu-as")
    sides = []
    for side in (lambda pair: pair[0].slots, lambda pair: pair[1].slots):
        every = (group for pair in changed(name) for group in groups(side(pair)))
        # objdump's text of alloc, which is ours, is not what as reads.
        lists = [[slot.insn for slot in g if slot.insn.name != "alloc"] for g in every]
        warned, refused = complaints(gas, lists, tmp_path)
        assert not refused
        sides.append(Counter(kind for kinds in warned.values() for kind in kinds))
    assert sides[1] <= sides[0]


def test_the_proof_refuses_a_region_that_was_tampered_with() -> None:
    """A stop removed: most are caught, those that are not have no dependence over it."""
    caught = total = 0
    for region, found in changed("ia64-libjnidispatch")[:40]:
        stops = [n for n, slot in enumerate(found.slots) if slot.stop and n < len(found.slots) - 1]
        for at in stops[:1]:
            slot = found.slots[at]
            slots = (
                *found.slots[:at],
                Slot(slot.address, slot.insn, False),
                *found.slots[at + 1 :],
            )
            total += 1
            caught += not proved(region, Outcome(slots, found.origins))
    assert total
    assert caught > total // 2


def test_live_says_which_registers_may_be_used(tmp_path: Path) -> None:
    """Without a free register the two chains stay one behind the other."""
    chain = "adds r14 = {0}, r32 ;;\n ld8 r14 = [r14] ;;\n cmp.eq p{1}, p0 = r14, r33 ;;\n"
    text = chain.format(8, 6) + chain.format(24, 7)
    tight = scheduled(text, tmp_path)
    free = scheduled(text, tmp_path, EVERYTHING & ~(1 << NUMBERS["r15"]))
    written = {slot.insn.operand("r1") for slot in tight.slots if slot.insn.has("r1")}
    assert written == {NUMBERS["r14"]}
    assert SCHEDULING.cycles(free.slots) == 3 < SCHEDULING.cycles(tight.slots)


def test_a_stop_on_a_nop_is_one_between_system_instructions(tmp_path: Path) -> None:
    text = "{ .mii; rsm 0x4000; nop.i 0; nop.i 0 ;; }\n{ .mii; srlz.d; nop.i 0; nop.i 0 ;; }\n"
    adds = "".join(f"adds r{n} = {n}, r1 ;;\n" for n in range(14, 18))
    found = scheduled(text + adds, tmp_path)
    assert not found.reason
    assert not any("rsm" in line and "srlz.d" in line for line in spelled(found.slots))


def test_only_what_was_there_joins_a_group_that_is_open_before(tmp_path: Path) -> None:
    adds = "".join(f"adds r{n} = {n}, r1 ;;\n" for n in range(14, 20))
    old = assembled(adds, tmp_path)
    found = schedule(Superblock(old, EVERYTHING, joined=True), SCHEDULING)
    first = next(groups(found.slots))
    known = next(groups(old))
    names = [TABLE.text(slot.insn) for slot in first if not slot.insn.name.startswith("nop.")]
    assert set(names) <= {TABLE.text(slot.insn) for slot in known}


@pytest.mark.parametrize("switch", ["bsw.0", "bsw.1"])
def test_a_bank_that_goes_is_read(switch: str, tmp_path: Path) -> None:
    """Its values come back with it, so that what makes them stays before the switch."""
    (slot, *_) = (s for s in assembled(f"{switch};;", tmp_path) if s.insn.name == switch)
    banked = sum(1 << NUMBERS[f"r{n}"] for n in range(16, 32))
    assert facts(slot.insn).uses & banked == facts(slot.insn).defs & banked == banked


@pytest.mark.parametrize(("count", "may_pass"), [("popcnt", True), ("clz", False)])
def test_what_only_some_processors_know_stays_behind_a_branch(
    count: str, may_pass: bool, tmp_path: Path
) -> None:
    """The branch may be there to leave it out where it would fault."""
    text = "cmp.eq p6, p7 = 0, r14\n shl r16 = r15, r14 ;;\n (p6) br.cond.dpnt.few b6 ;;\n"
    text += f"{count} r20 = r15 ;;\n add r8 = r20, r33 ;;\n add r9 = r8, r33 ;;"
    old = assembled(text, tmp_path)
    (branch,) = (slot.address for slot in old if slot.insn.name == "br.cond")
    exits = {branch: EVERYTHING & ~(1 << NUMBERS["r20"])}
    found = schedule(Superblock(old, EVERYTHING, exits=exits), SCHEDULING)
    names = [slot.insn.name for slot in found.slots]
    assert (names.index(count) < names.index("br.cond")) == may_pass
