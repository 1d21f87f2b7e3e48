"""A function that slides together over its nops keeps everything that points into it."""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import inputs
from passes.align import LONGEST_LOOP, Align, Code, Layout
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.elf.image import Image
from rewriter.elf.unwind import rows
from rewriter.identify.profiles import BRANCH, known, of_kind
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import GP, RA, ZERO

GP_VALUE = 0x209688
EV67 = CPUS["ev67"]
BLOCK = 16
# With jump tables, many calls, hand-written code, loops, nested frames.
FUNCTIONS = (
    "qsort", "basename", "memcpy", "memmove", "strcmp", "regcomp", "regexec", "getopt_long",
    "strtol", "fnmatch", "glob", "getaddrinfo", "inet_pton", "printf_size", "hsearch", "mktime",
    "sub_2d660", "sub_3d3e0", "sub_476e0", "sub_4a470", "sub_42ac0", "sub_2fe30", "erand48",
    "signal", "getdate_r", "hdestroy", "pthread_mutex_timedlock", "sub_96250", "sub_13b420",
)  # fmt: skip


@pytest.fixture(scope="module")
def program(libc_program: Program) -> Program:
    return libc_program


@pytest.fixture(scope="module")
def tuned(program: Program) -> Tuned:
    """The libc with a few dozen functions aligned, some for their jump tables."""
    tables = [t for t in program.references.tables if t.exact and t.base == GP_VALUE]
    owners = {f.name for t in tables[:30] if (f := program.function_at(t.jump)) is not None}
    names = tuple(re.escape(name) + "(@.*)?" for name in (*FUNCTIONS, *sorted(owners)))
    options = Options(passes=("align",), funcs=names)
    return tune(program.image, program.target, EV67, options, lambda *_: None, program=program)


@pytest.fixture(scope="module")
def new(program: Program, tuned: Tuned) -> Image:
    return replace(program.image, data=tuned.data)


@pytest.fixture(scope="module")
def moved(program: Program, tuned: Tuned) -> list[Function]:
    found = [f for edit in tuned.edits if (f := program.function_at(edit.address)) is not None]
    assert len(found) >= 20
    assert all(edit.technique == "align" for edit in tuned.edits)
    return found


def _insns(image: Image, function: Function) -> list[tuple[int, Insn]]:
    """Every instruction with its address, decoded from the file."""
    found = []
    for address in range(function.start, function.end, 4):
        insn = TABLE.decode(int.from_bytes(image.read(address, 4), "little"))
        assert insn is not None
        found.append((address, insn))
    return found


def _idle(insn: Insn) -> bool:
    return insn.name in ("ldq_u", "bis", "cpys") and TABLE.defs(insn) == 0


def _real(image: Image, function: Function) -> list[tuple[int, Insn]]:
    return [(address, insn) for address, insn in _insns(image, function) if not _idle(insn)]


def _places(program: Program, new: Image, function: Function) -> dict[int, int]:
    """Old address to new address: both have the same instructions, in order, less nops."""
    old, there = _real(program.image, function), _real(new, function)
    assert [i.name for _, i in old] == [i.name for _, i in there]
    return {a: b for (a, _), (b, _) in zip(old, there, strict=True)}


def _place(places: dict[int, int], address: int) -> int:
    """Where an address went: a nop goes where the next instruction does."""
    known = sorted(places)
    return places[known[bisect_left(known, address)]]


def test_branches_lead_to_the_same_instruction(
    program: Program, new: Image, moved: list[Function]
) -> None:
    for function in moved:
        places = _places(program, new, function)
        pairs = zip(_real(program.image, function), _real(new, function), strict=True)
        for (a, old), (b, other) in pairs:
            target, goal = old.target(a), other.target(b)
            if target is None:
                assert goal is None
            elif target in function:
                assert goal == _place(places, target), f"{a:#x}"
            else:
                assert goal == target, f"{a:#x}"


def test_jump_table_entries_follow(program: Program, new: Image, moved: list[Function]) -> None:
    seen = 0
    for function in moved:
        places = _places(program, new, function)
        for table in program.tables_of(function):
            for n, target in enumerate(table.targets):
                raw = new.read(table.address + 4 * n, 4)
                goal = GP_VALUE + int.from_bytes(raw, "little", signed=True)
                assert goal == _place(places, target)
                seen += 1
    assert seen >= 50


def _pairs(items: list[tuple[int, Insn]]) -> Iterator[int]:
    """What every `ldah gp,x(ra); lda gp,y(gp)` makes, from where its call comes back to."""
    returns = high = None
    for address, insn in items:
        if insn.op.flow in (Flow.CALL, Flow.INDIRECT_CALL) and insn.operand("ra") == RA:
            returns = address + 4
        elif insn.name == "ldah" and (insn.operand("ra"), insn.operand("rb")) == (GP, RA):
            assert returns is not None
            high = returns + (insn.operand("disp") << 16)
        elif insn.name == "lda" and insn.operand("ra") == GP and high is not None:
            assert insn.operand("rb") == GP
            yield high + insn.operand("disp")
            high = None


def test_gp_is_the_same_after_each_call(
    program: Program, new: Image, moved: list[Function]
) -> None:
    seen = 0
    for function in moved:
        before = list(_pairs(_insns(program.image, function)))
        after = list(_pairs(_insns(new, function)))
        assert len(before) == len(after)
        assert set(after) <= {GP_VALUE}
        seen += len(after)
    assert seen >= 20


def test_gp_pairs_as_objdump_reads_them(
    tuned: Tuned, new: Image, moved: list[Function], tmp_path: Path
) -> None:
    """The displacements of gp set-ups, once more by another decoder."""
    objdump = inputs.require_tool("alpha-linux-gnu-objdump")
    path = tmp_path / "libc"
    path.write_bytes(tuned.data)
    function = max(moved, key=lambda f: len(list(_pairs(_insns(new, f)))))
    bounds = (f"--start-address={function.start:#x}", f"--stop-address={function.end:#x}")
    text = subprocess.run(
        (objdump, "-d", "--no-show-raw-insn", *bounds, str(path)),
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found, returns, high = [], 0, None
    for line in text.splitlines():
        row = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(\S*)", line)
        if row is None:
            continue
        if row[2] in ("jsr", "bsr") and row[3].startswith("ra,"):
            returns = int(row[1], 16) + 4
        elif (half := re.fullmatch(r"gp,(-?\d+)\((ra|gp)\)", row[3])) is not None:
            if row[2] == "ldah" and half[2] == "ra":
                high = returns + (int(half[1]) << 16)
            elif row[2] == "lda" and high is not None:
                found.append(high + int(half[1]))
                high = None
    assert found
    assert set(found) == {GP_VALUE}


def test_unwind_rows_follow(program: Program, new: Image, moved: list[Function]) -> None:
    """A row stands behind the same instruction, and says the same."""
    for function in moved:
        frame = program.frames[function.start]
        before, after = rows.rows(frame), rows.rows(replace(frame, image=new))
        places = _places(program, new, function)
        ends = sorted(places)
        assert [rules for _, rules in before] == [rules for _, rules in after]
        for (a, _), (b, _) in zip(before[1:], after[1:], strict=True):
            last = bisect_left(ends, a) - 1
            assert b == places[ends[last]] + 4, f"row at {a:#x} of {function.name}"


def test_entries_stay(program: Program, new: Image, moved: list[Function]) -> None:
    for function in moved:
        places = _places(program, new, function)
        entries = (function.start, *program.target.entries(program.listing, function))
        for entry in entries:
            assert _place(places, entry) == entry
        size = max(entries) - function.start
        old = program.image.read(function.start, size)
        assert new.read(function.start, size) == old


def test_nothing_else_changed(program: Program, tuned: Tuned, moved: list[Function]) -> None:
    """Only the functions' own bytes, their tables' and their unwind rows'."""
    image, allowed = program.image, set[int]()
    for function in moved:
        at = image.offset_of(function.start)
        allowed.update(range(at, at + function.end - function.start))
        for table in program.tables_of(function):
            at = image.offset_of(table.address)
            allowed.update(range(at, at + 4 * len(table.targets)))
        allowed.update(range(*program.frames[function.start].instructions))
    for section in image.sections:  # by which debuggers know that debug files do not fit any more
        if section.name in (".note.gnu.build-id", ".gnu_debuglink"):
            allowed.update(range(section.sh_offset, section.sh_offset + section.sh_size))
    changed = (range(patch.offset, patch.end) for patch in tuned.patches)
    assert all(offset in allowed for run in changed for offset in run)
    again = analyse(replace(image, data=tuned.data), program.target)
    assert again.functions == program.functions


def test_no_fewer_targets_are_aligned(program: Program, new: Image, moved: list[Function]) -> None:
    """Where nothing was counted."""
    counted = of_kind(known(program.image), BRANCH)
    others = [f for f in moved if not any(f.start <= at < f.end for at in counted)]
    assert len(others) >= 5
    before, after = (
        sum(_aligned(image, function, LONGEST_LOOP) for function in others)
        for image in (program.image, new)
    )
    assert after > before
    # The heads of long loops are left where nops before them would run too often.
    whole = 1 << 30
    before, after = (sum(_aligned(i, f, whole) for f in others) for i in (program.image, new))
    assert after > 0.9 * before


def test_branches_that_are_taken_lose_fewer_slots(
    program: Program, new: Image, moved: list[Function]
) -> None:
    """By the counts that come with retune: forward, the slots before the target in its fetch block;
    back, the blocks from the target to the branch."""
    counted = of_kind(known(program.image), BRANCH)
    forward, back = [0, 0], [0, 0]
    for function in moved:
        places = _places(program, new, function)
        there = dict(_real(new, function))
        for old, insn in _real(program.image, function):
            if old not in counted:
                continue
            for n, (at, one) in enumerate(((old, insn), (places[old], there[places[old]]))):
                goal = one.target(at)
                assert goal is not None
                if goal > at:
                    forward[n] += counted[old].held * (goal % BLOCK // 4)
                else:
                    back[n] += counted[old].held * (at // BLOCK - goal // BLOCK)
    assert 0 < forward[1] < forward[0]
    assert 0 < back[1] <= back[0]


def _aligned(image: Image, function: Function, longest: int) -> int:
    """Heads of loops of less than `longest` bytes that are at a fetch block's start.

    A nop counts for what follows it.  Heads inside another loop do not count: nops before
    them would run in each of its passes.
    """
    real = _real(image, function)
    loops = _back(real, function)
    known = [address for address, _ in real]
    goals = {
        head
        for head, end in loops
        if end - head < longest
        and not any(h < known[bisect_left(known, head)] <= e for h, e in loops if h != head)
    }
    return sum(goal % BLOCK == 0 for goal in goals)


def _back(items: Iterable[tuple[int, Insn]], function: Function) -> set[tuple[int, int]]:
    """(target, address) of each branch back inside a function."""
    return {
        (target, address)
        for address, insn in items
        if insn.op.flow in (Flow.BRANCH, Flow.JUMP)
        and (target := insn.target(address)) is not None
        and target in function
        and target <= address
    }


# The layout itself, over functions that nobody wrote --------------------------------------

_OPS = {
    "next": Insn(TABLE.find("addq", "operate"), (1, 2, 3)),
    "branch": Insn(TABLE.find("beq"), (1, 0)),
    "back": Insn(TABLE.find("bne"), (1, -24)),
    "far back": Insn(TABLE.find("bne"), (1, -80)),
    "jump": Insn(TABLE.find("br"), (ZERO, 0)),
    "return": Insn(TABLE.find("ret"), (ZERO, RA, 1)),
}


@st.composite
def codes(draw: st.DrawFn, smallest: int = 1) -> Code:
    """A function with holes, fixed entries, loop heads and targets anywhere."""
    start = 16 * draw(st.integers(1, 1000))
    kinds = draw(st.lists(st.sampled_from((*_OPS, "hole", "hole")), min_size=smallest, max_size=60))
    places = [start + 4 * n for n in range(len(kinds))]
    pairs = zip(places, kinds, strict=True)
    items = tuple((place, _OPS[kind]) for place, kind in pairs if kind != "hole")
    first = draw(st.integers(0, 3))
    fixed = {address for address, _ in items if address < start + 4 * first}
    targets = draw(st.sets(st.sampled_from(places)))
    loops = draw(st.sets(st.sampled_from(sorted(targets)))) if targets else set()
    function = Function(start, start + 4 * len(kinds), "f", "test")
    return Code(function, items, fixed, loops, targets)


def _layout(code: Code) -> Layout:
    return next(Align().layouts(code, EV67))  # the instructions fit as they stand


@given(codes())
def test_layout_keeps_to_its_footprint(code: Code) -> None:
    ends = [there + insn.size for _, there, insn in _layout(code).items]
    assert all(end <= code.function.end for end in ends)
    assert all(there >= code.function.start for _, there, _ in _layout(code).items)


@given(codes())
def test_layout_keeps_the_order_and_all(code: Code) -> None:
    layout = _layout(code)
    assert tuple((address, insn) for address, _, insn in layout.items) == code.items
    places = [there for _, there, _ in layout.items]
    assert all(b - a >= 4 for a, b in pairwise(places))
    assert all(place % 4 == 0 for place in places)


@given(codes())
def test_layout_leaves_what_is_fixed(code: Code) -> None:
    assert all(
        there == address for address, there, _ in _layout(code).items if address in code.fixed
    )


@given(codes())
def test_layout_counts_what_it_did(code: Code) -> None:
    """`aligned` of `targets`: the instructions that targets lead to, perhaps over holes."""
    layout, new = _layout(code), {a: there for a, there, _ in _layout(code).items}
    known = sorted(new)
    at = {bisect_left(known, target) for target in code.targets}
    reached = {known[n] for n in at if n < len(known)}
    assert layout.targets == len(reached)
    assert layout.aligned == sum(new[address] % BLOCK == 0 for address in reached)
    assert layout == _layout(code)


@given(codes(smallest=30))
def test_no_nop_runs_in_each_pass_of_a_loop(code: Code) -> None:
    loops = _back(code.items, code.function)
    for (a, here, insn), (b, there, _) in pairwise(_layout(code).items):
        falls = insn.op.flow not in (Flow.JUMP, Flow.RETURN)
        if falls and b not in code.fixed and any(h <= a and b <= end for h, end in loops):
            assert there == here + insn.size


def test_head_of_an_inner_loop_moves_up_to_what_is_before_it() -> None:
    """A loop alone gets its boundary; with a loop around it, nops would run in each pass."""
    alone = ("next", "hole", "hole", "hole", "next", "next", "back")
    assert [there for _, there, _ in _layout(_looping(*alone)).items] == [0, 16, 20, 24]
    inner = (*alone, "far back")
    assert [there for _, there, _ in _layout(_looping(*inner)).items] == [0, 4, 8, 12, 16]


def test_call_through_a_register_ends_its_fetch_block() -> None:
    """What comes back to the block that it left makes the chip expect the wrong code there."""
    assert _places_of("next", "computed call", "next", "return") == [0, 12, 16, 20]
    assert _places_of("next", "next", "next", "computed call", "next") == [0, 4, 8, 12, 16]


def test_no_nop_runs_before_a_direct_call() -> None:
    """It moves with what control does not fall into, where that costs less than the call."""
    assert _places_of("next", "call", "next", "return") == [0, 4, 8, 12]
    assert _places_of("next", "return", "call", "next", "return") == [0, 4, 12, 16, 20]


def test_in_order_chips_leave_calls_where_they_are() -> None:
    code = _standing("next", "computed call", "next", "return")
    layout = next(Align().layouts(code, CPUS["ev5"]))
    assert [there for _, there, _ in layout.items] == [0, 4, 8, 12]


def _places_of(*kinds: str) -> list[int]:
    return [there for _, there, _ in _layout(_standing(*kinds)).items]


def _standing(*kinds: str) -> Code:
    """A function at 0 whose third instruction is the target of a branch elsewhere."""
    calls = {
        "call": Insn(TABLE.find("bsr"), (RA, 0)),
        "computed call": Insn(TABLE.find("jsr"), (RA, 27, 0)),
    }
    items = tuple((4 * n, (_OPS | calls)[kind]) for n, kind in enumerate(kinds))
    return Code(Function(0, 64, "f", "test"), items, {0}, set(), {8})


def _looping(*kinds: str) -> Code:
    """A function at 0 whose loop begins at its fifth slot; `far back` leads to the first."""
    back = {"back": -12, "far back": -32}
    branch = TABLE.find("bne")
    insns = [Insn(branch, (1, back[kind])) if kind in back else _OPS.get(kind) for kind in kinds]
    items = tuple((4 * n, insn) for n, insn in enumerate(insns) if insn is not None)
    targets = {insn.target(at) for at, insn in items} - {None}
    return Code(Function(0, 64, "f", "test"), items, {0}, {16}, {t for t in targets if t})
