"""Prefetches for IA-64 loops that walk over memory: by hand, any loop, and the real libc."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from passes.lib.insert import Declined
from passes.scheduling.bundled_model import Model
from passes.streams.bundled import BundledStreams, Scheduled, WalkingLoop
from rewriter.core.code.groups import Slot
from rewriter.core.code.superblock import Superblock
from rewriter.core.readings.interpret import Memory
from rewriter.core.target.bundled_cpu import BundledCpu
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import load
from rewriter.road.bundled.hints import hinting
from rewriter.road.bundled.road import BundledRoad, prepared
from rewriter.road.options import Options
from rewriter.timing.bundled.trace import trace
from rewriter.verify.regions.check import verify
from rewriter.verify.regions.proof import Regions, Straight
from targets.ia64 import Ia64
from targets.ia64.asm.assembler import assemble
from targets.ia64.isa.bundles import straight
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.machine.calling import call
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.trials import BACKING
from targets.ia64.registers import NUMBERS
from tests.support.ia64_straight import Trial

TARGET = Ia64()
START, KERNEL = 0x2000000000000000, 0xA000000100000000
SUM = """
loop:   ld8 r14=[r15],8 ;;
        add r8=r14,r8
        br.cloop.sptk loop ;;
"""
LONGER = SUM.replace("add r8", "nop.i 0 ;;\nadd r8")
FREE = ("r14", "r16", "r17", "r18", "r19", "r20")


def cpu() -> BundledCpu:
    found = TARGET.cpus["itanium2"]
    assert found.bundled is not None
    return found


@cache
def streams() -> BundledStreams:
    return hinting(TARGET, cpu(), TARGET.scheduling(Model(cpu()))).streams


def walking(
    text: str, before: str = "", start: int = START, free: Sequence[str] = FREE
) -> WalkingLoop:
    """A loop by hand; nothing reads the free registers at its exits, nor at its start."""
    slots = tuple(straight(assemble(text, start, {"out": start + 0x1000}).code, start))
    front = assemble(before).code if before else b""
    dead = sum(1 << NUMBERS[name] for name in free)
    live = TARGET.everything & ~dead
    proving = TARGET.proving
    exits = {
        s.address: live
        for s in slots
        if proving.transfer(s.insn).exit and s.address < proving.base(slots[-1].address)
    }
    return WalkingLoop(Superblock(slots, live, exits=exits), slots, dead, tuple(straight(front, 0)))


def proved(loop: WalkingLoop, found: Scheduled) -> bool:
    """Whether the verifier takes it, and two trials; the new end is the old one."""
    old, new = loop.block.slots, found[1]
    base = TARGET.proving.base
    ends = {base(new[-1].address) + BUNDLE: base(old[-1].address) + BUNDLE}
    prover = Regions(TARGET.proving)
    live = loop.block.live

    def place(at: int) -> int:
        return ends.get(at, at)

    args = Straight(old), Straight(new), live, place
    assert not prover.compare(*args).is_equal  # where prefetches may not be added
    trial = Trial.of(old, 2)
    differences = list(trial.differences(new, live, place))
    return prover.compare(*args, hints=True).is_equal and bool(trial.told) and not differences


def names(slots: Sequence[Slot]) -> list[str]:
    return [slot.insn.name for slot in slots if not TARGET.is_nop(slot.insn)]


def test_a_sum_asks_ahead() -> None:
    """A pass takes 3 cycles, a line is 16 passes, memory 200 cycles: 5 lines ahead."""
    assert cpu().issue.memory.memory.value == 200
    loop = walking(LONGER)
    found = streams().hinted(loop)
    assert isinstance(found, tuple)
    hints, slots = found
    assert [one.distance for one in hints.asked] == [5 * 128]
    assert sorted(names(slots)) == ["add", "adds", "br.cloop", "ld8", "lfetch"]
    assert hints.saves > 3
    assert proved(loop, found)


LEFT = {
    "it ends by what it reads: such loops are short": (
        "loop: ld1 r14=[r15],1 ;;\ncmp.eq p6,p7=0,r14 ;;\n(p7) br.cond.sptk loop ;;\n", ""
    ),
    "a barrier or a lock in the loop": (SUM.replace("add r8", "mf ;;\nadd r8"), ""),
    "it asks ahead itself": (SUM.replace("add r8", "lfetch [r15] ;;\nadd r8"), ""),
    "on the stack": (SUM, "adds r15=16,sp ;;\nadds r15=8,r15 ;;\n"),
    "a short count": (SUM, "mov ar.lc=40 ;;\n"),
    # One bundle, one group, one cycle.
    "a pass would take longer in the cache": (
        "loop: st8 [r15]=r0,8\nnop.i 0\nbr.cloop.sptk loop ;;\n", ""
    ),
}  # fmt: skip


@pytest.mark.parametrize("reason", LEFT)
def test_what_is_left_alone(reason: str) -> None:
    text, before = LEFT[reason]
    found = streams().hinted(walking(text, before))
    assert isinstance(found, Declined)
    room = "no room in its bundles"
    assert found.reason in ((reason, room) if "longer" in reason else (reason,))


def test_kernels_and_registers() -> None:
    kernel = streams().hinted(walking(LONGER, start=KERNEL))
    assert isinstance(kernel, Declined)
    assert kernel.reason == "a kernel's loop may walk over a device"
    crowded = streams().hinted(walking(LONGER, free=("r8",)))
    assert isinstance(crowded, Declined)
    assert crowded.reason == "no register is free all through a pass"
    # What does not move is no stream.
    assert streams().hinted(walking(LONGER.replace("[r15],8", "[r15]"))) is None
    # A long count and another register's origin change nothing.
    assert isinstance(streams().hinted(walking(LONGER, "mov ar.lc=r20\nadds r15=8,r9 ;;\n")), tuple)


_LOAD = st.tuples(st.sampled_from(("ld1", "ld4", "ld8", "ldf8", "st8")), st.integers(-64, 64))


@settings(max_examples=6)
@given(st.lists(_LOAD, min_size=1, max_size=3), st.integers(0, 3), st.booleans())
def test_any_loop(accesses: list[tuple[str, int]], idle: int, exits: bool) -> None:
    """What gets hints has no more bundles and cycles than before, and is proved."""
    lines = []
    for number, (name, step) in enumerate(accesses):
        base = f"r{21 + number}"
        what = f"[{base}]=r9" if name == "st8" else f"{'f' if 'f' in name else 'r'}9=[{base}]"
        lines += [f"{name} {what}", f"adds {base}={8 * step},{base} ;;"]
    lines += ["cmp.eq p6,p7=r10,r11 ;;\n(p6) br.cond.spnt out ;;"] if exits else []
    lines += ["nop.m 0\nnop.i 0 ;;"] * idle + ["br.cloop.sptk loop ;;"]
    loop = walking("loop: " + "\n".join(lines) + "\n")
    found = streams().hinted(loop)
    if not isinstance(found, tuple):
        return
    hints, slots = found
    pressed = streams()
    assert pressed.scheduling.cycles(slots) <= pressed.scheduling.cycles(loop.plain)
    assert slots[-1].address - slots[0].address <= loop.plain[-1].address - loop.plain[0].address
    assert len(hints.asked) == sum(name.startswith("lfetch") for name in names(slots))
    assert proved(loop, found)


# The real libc ---------------------------------------------------------------------------------

FUNCS = ("memfrob", "__mpn_add_n")
SKIPPED = "schedule:memfrob+40"
SOURCE, OTHER, RESULT = (0x4000000000000000 + 0x100000 * n for n in range(3))
SIZE = 0x400


@pytest.fixture(scope="module")
def road() -> tuple[BundledRoad, bytes]:
    image = load(inputs.require("ia64-libc"))
    skip = frozenset({SKIPPED})
    options = Options(passes=("prefetch", "schedule"), funcs=FUNCS, skip=skip)
    road = BundledRoad(prepared(image, TARGET, cpu(), options))
    data = road.run(road.functions, lambda stage, done, total: None)
    return road, with_old_identity(image, data)


def test_loops_of_the_libc(road: tuple[BundledRoad, bytes]) -> None:
    """Both routines give what they gave, sooner out of memory and no later in the cache.

    The sum for a hint may wait once for the base that the code before the loop has just made.
    """
    made, data = road
    hints = [edit for edit in made.edits if edit.technique == "prefetch"]
    assert {edit.routine for edit in hints} == set(FUNCS)
    assert {edit.evidence.grade.value for edit in made.edits} == {"PROVED"}
    for name, arguments in (
        ("memfrob", (SOURCE, SIZE)),
        ("__mpn_add_n", (RESULT, SOURCE, OTHER, SIZE // 8)),
    ):
        before, after = (
            _run(made, code, name, arguments) for code in (made.prepared.image.data, data)
        )
        assert before[0] == after[0]
        assert after[1] < 0.95 * before[1]  # out of memory
        assert after[2] <= before[2] + len(hints)


def _run(
    made: BundledRoad, data: bytes, name: str, arguments: Sequence[int]
) -> tuple[tuple[int, bytes], int, int]:
    """Result and memory of a call, its cycles out of memory and in the cache."""
    function = next(each for each in made.functions if each.name == name)
    offset, size = made.prepared.image.offset_of(function.start), function.end - function.start
    memory = Memory()
    memory.map(function.start, bytes(data[offset : offset + size]))
    memory.map(BACKING, 0x1000, execute=False)
    for number, base in enumerate((SOURCE, OTHER, RESULT)):
        memory.map(base, bytes((7 * n + number) % 251 for n in range(SIZE)), execute=False)
    result, steps = call(Processor(memory, BACKING), function.start, arguments)
    contents = b"".join(memory.read(base, SIZE) for base in (SOURCE, RESULT))
    cold, warm = (trace(cpu(), steps, warm).cycles for warm in (False, True))
    return (result, contents), cold, warm


MUTANTS: dict[str, tuple[Callable[[Slot], Slot], str]] = {
    "it may fault": (lambda slot: _other(slot, "lfetch.fault"), "lfetch.fault"),
    "a load": (lambda slot: _other(slot, "ld8"), "ld8"),
    "a predicate": (lambda slot: replace(slot, insn=slot.insn.replace(qp=NUMBERS["p6"])), "near"),
    "another address": (lambda slot: replace(slot, insn=slot.insn.replace(r3=NUMBERS["r33"])), ""),
}


def _other(slot: Slot, name: str) -> Slot:
    """Another instruction with the address."""
    (insn,) = (
        each.insn
        for each in straight(assemble(f"{name} {'r9=' if name == 'ld8' else ''}[r9] ;;\n").code, 0)
        if each.insn.name == name
    )
    return replace(slot, insn=insn.replace(r3=slot.insn.operand("r3")))


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_libc_are_caught(road: tuple[BundledRoad, bytes], name: str) -> None:
    made, data = road
    change, why = MUTANTS[name]
    placing = next(p for f, p in made.placings.items() if f.name == "memfrob")
    region = next(start for start, one in placing.made.items() if one.hinted is not None)
    code = placing.made[region].code
    slots = tuple(straight(code, region))
    changed = tuple(change(s) if s.insn.name == "lfetch" else s for s in slots)
    assert changed != slots
    mutant = bytearray(data)
    at = made.prepared.image.offset_of(region)
    mutant[at : at + len(code)] = TARGET.assembled(changed)
    new = replace(made.prepared.image, data=bytes(mutant))
    only = frozenset({placing.routine.function})
    verdict = verify(made.prepared.known, new, lambda *_: None, only)
    assert verdict.findings
    assert why in verdict.findings[0]
