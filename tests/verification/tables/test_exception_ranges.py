"""Functions with exception ranges move, and their tables with them; a wrong table is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import programs
from rewriter.analysis.program import Program
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import COMING_BACK
from rewriter.core.leb128 import padded_uleb
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image
from rewriter.elf.unwind import lsda
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from rewriter.verify.owners import changed_offsets
from rewriter.verify.range_check import RangeTables
from targets.alpha.cpus import CPUS
from tests.support.depth import depth
from tests.verification.tables.test_rows import quiet

EV67 = CPUS["ev67"]
WORD = 4
USUAL = ("_IO_getc", "_IO_putc", "_IO_fread", "_IO_fwrite", "_IO_fputs", "_IO_fgets", "__getdelim")


@pytest.fixture(scope="module")
def program(libc_program: Program) -> Program:
    """The C library: what locks a stream has a landing pad that gives the lock back."""
    return libc_program


@pytest.fixture(scope="module")
def functions(program: Program) -> dict[str, Function]:
    """Those with exception ranges, all 56 in deep runs."""
    found = [f for f in program.functions if _frame_has_ranges(program, f)]
    assert len(found) == 56
    return {f.name: f for n, f in enumerate(found) if f.name in USUAL or n % depth(8, 1) == 0}


@pytest.fixture(scope="module")
def tuned(program: Program, functions: dict[str, Function]) -> Tuned:
    """These for an EV67, and nothing else."""
    options = Options(passes=("bytes", "align"), funcs=tuple(map(re.escape, functions)))
    cpu = program.target.cpus["ev67"]
    return tune(program.image, program.target, cpu, options, quiet, program=program)


@pytest.fixture(scope="module")
def new(program: Program, tuned: Tuned) -> Image:
    return replace(program.image, data=with_old_identity(program.image, tuned.data))


def _frame_has_ranges(program: Program, function: Function) -> bool:
    frame = program.frames.get(function.start)
    return frame is not None and frame.lsda is not None and frame.end == function.end


# The tables ----------------------------------------------------------------------------------


def uleb(data: bytes, at: int) -> tuple[int, int]:
    """A number of DWARF 5, 7.6, and where it ends: not with our reader."""
    value = shift = 0
    while True:
        value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def table(image: Image, address: int) -> Iterator[tuple[int, int, int, int]]:
    """Start, length, landing pad and action, as libgcc's unwind-c.c reads them."""
    at = image.offset_of(address)
    assert image.data[at : at + 3] == b"\xff\xff\x01"  # all in uleb128, pads from the start
    size, at = uleb(image.data, at + 3)
    end = at + size
    while at < end:
        numbers = []
        for _ in range(4):
            number, at = uleb(image.data, at)
            numbers.append(number)
        yield numbers[0], numbers[1], numbers[2], numbers[3]


def test_a_table_beside_one_that_changed_did_not(
    program: Program, functions: dict[str, Function], new: Image
) -> None:
    """They stand close together, and of a function with a changed one all must be understood."""
    old = program.image
    changed = changed_offsets(old.data, new.data[: len(old.data)])
    found = RangeTables(program, new, program.frames, changed).functions()
    wanted, ends = set[str](), set[int]()
    for function in program.functions:
        if _frame_has_ranges(program, function):
            at = old.offset_of(program.frames[function.start].lsda or 0)
            size, first = uleb(old.data, at + 3)
            ends.add(first + size)
            if old.data[at : first + size] != new.data[at : first + size]:
                wanted.add(function.name)
    assert {function.name for function in found} == wanted <= functions.keys()
    apart = [changed[changed.searchsorted(end) :][:1] - end for end in ends]
    assert any(len(one) and one[0] < 10 for one in apart)  # what is behind begins soon


def calls(program: Program, image: Image, function: Function) -> list[tuple[int, int] | None]:
    """Of each call in turn: how many instructions before its landing pad do something; action."""
    frame, found = program.frames[function.start], list[tuple[int, int] | None]()
    assert frame.lsda is not None
    sites, numbers, count = list(table(image, frame.lsda)), dict[int, int](), 0
    for at in range(0, function.end - function.start, WORD):
        word = int.from_bytes(image.read(function.start + at, WORD), "little")
        numbers[at] = count
        insn = program.target.table.decode(word)
        count += insn is not None and not program.target.is_nop(insn)
    for at in numbers:
        word = int.from_bytes(image.read(function.start + at, WORD), "little")
        insn = program.target.table.decode(word)
        if insn is not None and insn.op.flow in COMING_BACK:
            site = next((s for s in sites if s[0] <= at < s[0] + s[1]), None)
            found.append(None if site is None else (numbers.get(site[2], 0), site[3]))
    return found


def test_every_function_with_ranges_moves_and_its_calls_throw_to_where_they_did(
    program: Program, functions: dict[str, Function], tuned: Tuned, new: Image
) -> None:
    moved = {edit.routine for edit in tuned.edits if edit.technique == "align"}
    assert moved == {*functions}
    assert verify(program, new, quiet, cpu=EV67).ok
    dropped = {e.routine for e in tuned.edits if e.technique == "bytes" and e.gain}
    for name, function in functions.items():
        before, after = (calls(program, image, function) for image in (program.image, new))
        assert len(before) == len(after)
        if name not in dropped:  # the numbers before a landing pad are the same
            assert before == after
        assert [one is None for one in before] == [one is None for one in after]


# Wrong tables --------------------------------------------------------------------------------

_Wrong = Callable[[Program, Image, lsda.Record], tuple[lsda.Field, int] | None]
"""A field of a record and a wrong number for it, if there is one."""


def _is_call(program: Program, image: Image, address: int) -> bool:
    insn = program.target.table.decode(int.from_bytes(image.read(address, WORD), "little"))
    return insn is not None and insn.op.flow in COMING_BACK


def _calls_in(program: Program, image: Image, site: lsda.CallSite) -> list[int]:
    return [at for at in range(site.start, site.end, WORD) if _is_call(program, image, at)]


def ends_early(
    program: Program, image: Image, record: lsda.Record
) -> tuple[lsda.Field, int] | None:
    """One instruction short: the last call is not in it."""
    found = _calls_in(program, image, record.site)
    return (record.fields[1], found[-1] - record.site.start) if found else None


def begins_late(
    program: Program, image: Image, record: lsda.Record
) -> tuple[lsda.Field, int] | None:
    """All of it one instruction on, so that the first call is not in it."""
    start = program.function_at(record.site.start)
    found = _calls_in(program, image, record.site)
    return (record.fields[0], found[0] + WORD - start.start) if found and start else None


def within_an_instruction(
    program: Program, image: Image, record: lsda.Record
) -> tuple[lsda.Field, int] | None:
    """The personality routine looks for the byte before the return address."""
    found = _calls_in(program, image, record.site)
    return (record.fields[1], found[-1] + 2 - record.site.start) if found else None


def lands_late(
    program: Program, image: Image, record: lsda.Record
) -> tuple[lsda.Field, int] | None:
    """A landing pad off by an instruction."""
    pad = record.site.landing_pad
    return None if pad is None else (record.fields[2], pad + WORD - record.pads)


def lands_early(
    program: Program, image: Image, record: lsda.Record
) -> tuple[lsda.Field, int] | None:
    """Off by an instruction the other way, where that is another than a nop."""
    pad = record.site.landing_pad
    if pad is None:
        return None
    insn = program.target.table.decode(int.from_bytes(image.read(pad - WORD, WORD), "little"))
    idle = insn is not None and program.target.is_nop(insn)
    return None if idle else (record.fields[2], pad - WORD - record.pads)


def no_landing(
    program: Program, image: Image, record: lsda.Record
) -> tuple[lsda.Field, int] | None:
    """A landing pad that is gone."""
    return None if record.site.landing_pad is None else (record.fields[2], 0)


def new_landing(
    program: Program, image: Image, record: lsda.Record
) -> tuple[lsda.Field, int] | None:
    """A landing pad that was not there."""
    return None if record.site.landing_pad is not None else (record.fields[2], 16)


WRONG: tuple[_Wrong, ...] = (
    ends_early, begins_late, within_an_instruction, lands_late, lands_early, no_landing,
    new_landing,
)  # fmt: skip


def test_a_wrong_number_is_refused(
    program: Program, functions: dict[str, Function], new: Image
) -> None:
    """In each function one, the first that can be wrong so; in deep runs all that it can have."""
    seen = set[_Wrong]()
    for turn in range(depth(1, len(WRONG))):
        data, mutated = bytearray(new.data), set[Function]()
        for number, function in enumerate(functions.values()):
            kinds = [WRONG[(number + turn + n) % len(WRONG)] for n in range(len(WRONG))]
            found = ((wrong, _mutated(program, function, new, wrong)) for wrong in kinds)
            wrong, patch = next((wrong, patch) for wrong, patch in found if patch is not None)
            data[patch[0] : patch[0] + len(patch[1])] = patch[1]
            mutated.add(function)
            seen.add(wrong)
        verdict = verify(program, replace(new, data=bytes(data)), quiet, cpu=EV67)
        assert mutated <= set(verdict.failed)
    assert seen == {*WRONG}


def _mutated(
    program: Program, function: Function, new: Image, wrong: _Wrong
) -> tuple[int, bytes] | None:
    frame = replace(program.frames[function.start], image=new)
    for record in lsda.records(new, frame):
        found = wrong(program, new, record)
        written = padded_uleb(found[1], found[0].size) if found and found[1] >= 0 else None
        if found is None or written is None:
            continue
        if new.data[found[0].offset : found[0].offset + found[0].size] != written:
            return found[0].offset, written
    return None


def _refused(program: Program, new: Image, offset: int, wrong: bytes) -> bool:
    data = bytearray(new.data)
    assert data[offset : offset + len(wrong)] != wrong
    data[offset : offset + len(wrong)] = wrong
    return not verify(program, replace(new, data=bytes(data)), quiet, cpu=EV67).ok


def test_another_action_table_or_order_is_refused(program: Program, new: Image) -> None:
    function = next(f for f in program.functions if f.name == "_IO_putc")
    frame = program.frames[function.start]
    assert frame.lsda is not None
    first, second = lsda.records(new, frame)[:2]
    action = first.fields[2].offset + first.fields[2].size
    assert _refused(program, new, action, b"\x01")
    at = new.offset_of(frame.lsda)
    assert _refused(program, new, at, b"\x00")  # pads are counted from elsewhere
    assert _refused(program, new, at + 3, bytes((new.data[at + 3] - 4,)))  # a record fewer
    other = next(f for f in program.frames.values() if f.lsda not in (None, frame.lsda))
    pointer = frame.instructions[0] - 4  # sdata4 from its own place, at the entry's end
    relative = int.from_bytes(new.data[pointer : pointer + 4], "little", signed=True)
    assert pointer + relative == at  # offsets are addresses here
    assert other.lsda is not None
    wrong = (new.offset_of(other.lsda) - pointer).to_bytes(4, "little", signed=True)
    assert _refused(program, new, pointer, wrong)
    swapped = b"".join(
        new.data[r.fields[0].offset : r.fields[2].offset + r.fields[2].size + 1]
        for r in (second, first)
    )
    assert _refused(program, new, first.fields[0].offset, swapped)


def test_the_old_table_is_refused(
    program: Program, functions: dict[str, Function], new: Image
) -> None:
    """Code that moved with ranges that did not."""
    section = program.image.section(".gcc_except_table")
    assert section is not None
    there, data = slice(section.sh_offset, section.file_end), bytearray(new.data)
    data[there] = program.image.data[there]
    verdict = verify(program, replace(new, data=bytes(data)), quiet, cpu=EV67)
    changed = {
        f
        for f in functions.values()
        if [*table(program.image, program.frames[f.start].lsda or 0)]
        != [*table(new, program.frames[f.start].lsda or 0)]
    }
    assert len(changed) > len(functions) // 2
    assert changed <= set(verdict.failed)


def test_streams_are_unwound_as_before(
    libc: Path, program: Program, new: Image, tmp_path: Path
) -> None:
    """Exceptions out of a stream's own functions, and threads cancelled in them."""
    retuned = tmp_path / "libc.so"
    retuned.write_bytes(new.data)
    before, after = (programs.run("locked", path, "ev67") for path in (libc, retuned))
    assert b"caught read\n  free" in before.stdout
    assert b"cancelled, cleaned 1, free" in before.stdout
    assert after == before
