"""A real kernel: what is read of it, edits beside its exception table, and wrong entries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from fixtures.fuzz.counts import random_counts
from rewriter.analysis.program import Program
from rewriter.core.code.listing import INLINE, UNKNOWN, Listing
from rewriter.core.code.program import Function
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import parse
from rewriter.elf.unwind import entries
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.identify.profiles import parse as read
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import Verdict, verify
from targets.alpha.registers import SP
from tests.verification.tables.extable import ENTRY, table

S0 = 9  # the calling standard's first register that is kept over calls
EDITED = (  # they read and write user memory by bytes, words and more; the last has BUG
    "filldir", "filldir64", "fillonedir", "put_cmsg", "setup_sigcontext", "strncpy_from_user",
    "put_ushort", "futex_wake_op", "tty_ioctl", "vsnprintf", "mm_update_next_owner", "mmput_async",
)  # fmt: skip


def _quiet(stage: str, done: int, total: int) -> None:
    pass


@pytest.fixture(scope="module")
def program(kernel: Program) -> Program:
    return kernel


@pytest.fixture(scope="module")
def tuned(program: Program) -> Tuned:
    return _tuned(program, EDITED)


def _tuned(program: Program, names: tuple[str, ...]) -> Tuned:
    options = Options(passes=("bytes", "bitscan", "align", "schedule"), funcs=names)
    cpu = program.target.cpus["ev67"]
    return tune(program.image, program.target, cpu, options, _quiet, program=program)


# What is read -----------------------------------------------------------------------------


def test_the_exception_table_is_read_and_written(program: Program) -> None:
    entries = table(program, program.image.data)
    assert len(entries) == 636
    fixups = program.target.tables.exceptions.read(program.image)
    assert [(f.access, f.resume) for f in fixups] == [entry[:2] for entry in entries.values()]
    for fixup, (_, _, zeroed, error) in zip(fixups, entries.values(), strict=True):
        assert dict(fixup.sets) == {r: v for r, v in ((zeroed, 0), (error, -14)) if r != 31}
        read = program.image.read(fixup.entry, ENTRY.size)
        assert program.target.tables.exceptions.entry(fixup) == read


def test_every_entry_names_an_access_of_its_function(program: Program) -> None:
    names: Counter[str] = Counter()
    for fixup in program.target.tables.exceptions.read(program.image):
        insn = program.listing.insn(program.listing.index(fixup.access))
        assert insn is not None
        names[insn.name] += 1
    assert set(names) == {"ldl", "ldq", "ldq_u", "ldl_l", "stl", "stq", "stq_u", "stl_c"}


def test_data_behind_bug_names_source_files(program: Program) -> None:
    listing = program.listing
    at = np.flatnonzero(listing.rows == INLINE)
    assert len(at) == 3 * 1016
    for first in at[::3].tolist():
        line, low, high = listing.words[first : first + 3].tolist()
        name = program.image.read(low | high << 32, 200).split(b"\0")[0].decode()
        assert re.fullmatch(r"[\w/.-]+\.[chS]", name), name
        assert 0 < line < 20_000
    assert not np.any(listing.flows[at] != UNKNOWN)


def test_each_function_has_the_gp_of_its_part_of_the_got(program: Program) -> None:
    """100 KiB of GOT are two parts."""
    used = Counter(program.references.shared.values())
    got = program.image.section(".got")
    assert got is not None and len(used) == 2
    assert all(got.sh_addr <= gp - 0x8000 < got.sh_addr + got.sh_size for gp in used)


def test_what_a_fault_may_read_is_live_before_the_access(program: Program) -> None:
    for fixup in program.fixups.values():
        block = program.graph.block_holding(fixup.access)
        first, last = int(program.graph.first[block]), int(program.graph.last[block])
        assert int(program.listing.addresses[last - 1]) == fixup.access
        written = int(np.bitwise_or.reduce(program.listing.defs[first : last - 1, 0], axis=0))
        assert not program.live_after_fault(fixup) & ~written & ~program.live.into(block)


# Edits ------------------------------------------------------------------------------------


def test_edited_functions_are_verified(program: Program, tuned: Tuned) -> None:
    passes = Counter(edit.technique for edit in tuned.edits)
    assert passes["bytes"] > 20 and passes["align"] > 6
    assert not any("not verified" in skip.reason for skip in tuned.skips)
    assert _verdict(program, tuned.data).ok


def test_a_row_may_come_directly_behind_its_save(program: Program) -> None:
    """What stood between a register's save and the row that says so is dropped by an edit."""
    tuned = _tuned(program, ("ata_eh_link_report",))
    function = next(f for f in program.functions if f.name == "ata_eh_link_report")
    frames = (program.frames, {f.start: f for f in entries.frames(parse(tuned.data, "tuned"))})
    before, after = (dict(unwind_rows.rows(found[function.start])) for found in frames)
    assert list(before.values()) == list(after.values())
    saved = next(rules for rules in before.values() if dict(rules.registers).get(S0))
    old, new = (next(at for at in rows if rows[at] == saved) for rows in (before, after))
    listing = program.target.listing(replace(program.image, data=tuned.data))
    stores = [
        insn
        for at, text in ((old - 12, program.listing), (new - 4, listing))
        if (insn := text.insn(text.index(at))) is not None
    ]
    assert [(insn.name, insn.operand("ra")) for insn in stores] == [("stq", S0)] * 2
    assert _verdict(program, tuned.data).ok


WITH_BUG = ("vfs_read", "vfs_write")  # in whose midst the trap of BUG stands


def test_data_behind_bug_stays_there_where_blocks_change_places(program: Program) -> None:
    """The line and the file's name go with the trap, which `tune` has verified; another name is
    refused."""
    tuned = _in_another_order(program, WITH_BUG)
    assert [edit.routine for edit in tuned.edits] == list(WITH_BUG)
    assert not any("not verified" in skip.reason for skip in tuned.skips)
    image = replace(program.image, data=tuned.data)
    after = program.target.listing(image)
    moved = np.flatnonzero((after.rows == INLINE) & (program.listing.rows != INLINE))
    assert len(moved)
    changed, last = bytearray(tuned.data), int(after.addresses[moved[-1]])
    changed[image.offset_of(last)] ^= 1
    assert not _verdict(program, with_old_identity(program.image, changed)).ok


def _in_another_order(program: Program, names: tuple[str, ...]) -> Tuned:
    """Functions in the order of counts that nobody counted."""
    some = [function for function in program.functions if function.name in names]
    counts = random_counts(program, "bug", functions=some)
    profile = read(counts.written().encode(), "counts", program.image)
    options, cpu = Options(passes=("layout",), funcs=names), program.target.cpus["ev67"]
    return tune(program.image, program.target, cpu, options, _quiet, profile, 1, program)


def test_one_access_takes_the_entries_of_several(program: Program, tuned: Tuned) -> None:
    """put_user of a byte was a load and a store with an entry each; it is one `stb` now."""
    old, new = table(program, program.image.data), table(program, tuned.data)
    dead, changed = old.keys() - new.keys(), [at for at in new if new[at] != old[at]]
    assert len(dead) >= 4 and len(changed) > len(dead)
    after = program.target.listing(replace(program.image, data=tuned.data))
    narrow: Counter[str] = Counter()
    for at in changed:
        insn = after.insn(after.index(new[at][0]))
        assert insn is not None and new[at][2:] == old[at][2:]
        narrow[insn.name] += 1
    assert narrow["stb"] >= 4 and set(narrow) <= {
        "ldbu", "ldl", "ldq", "ldq_u", "stb", "stl", "stq", "stq_u"
    }  # fmt: skip
    for where in dead:
        assert ENTRY.unpack(tuned.data[where : where + ENTRY.size])[0] == 0


def test_accesses_that_may_reach_a_device_are_left(program: Program, tuned: Tuned) -> None:
    """`ldl` and `ldq` of the original are all there, in order, but for those from the stack."""
    after = program.target.listing(replace(program.image, data=tuned.data))
    for function in _edited(program):
        assert _wide(program.listing, function) == _wide(after, function)


def _edited(program: Program) -> list[Function]:
    return [function for function in program.functions if function.name in EDITED]


def _wide(listing: Listing, function: Function) -> list[str]:
    insns = listing.insns(function.start, function.end)
    wide = (i for i in insns if i is not None and i.name in ("ldl", "ldq", "stl", "stq"))
    return [insn.name for insn in wide if insn.operand("rb") != SP]


# Wrong entries ----------------------------------------------------------------------------

Change = Callable[[int, int], tuple[int, int]]
WRONG: dict[str, Change] = {
    "resumes an instruction later": lambda access, word: (access, word + 4),
    "is for the instruction before": lambda access, word: (access - 4, word + 4),
    "sets another register": lambda access, word: (access, word ^ 1 << 16),
    "zeroes another register": lambda access, word: (access, word ^ 1 << 21),
    "is dead": lambda access, word: (0, word),
    "is for another function": lambda access, word: (access + 0x10000, word),
    "is for no instruction": lambda access, word: (access + 2, word),
}


@pytest.mark.parametrize("what", WRONG)
def test_one_wrong_entry_of_an_edited_function_is_found(
    program: Program, tuned: Tuned, what: str
) -> None:
    where, _ = _one_of_each(program, tuned)
    assert not _verdict(program, _changed(program, tuned, where, WRONG[what])).ok


@pytest.mark.parametrize("what", ["is dead", "sets another register"])
def test_one_wrong_entry_of_a_function_without_edits_is_found(
    program: Program, tuned: Tuned, what: str
) -> None:
    _, where = _one_of_each(program, tuned)
    assert not _verdict(program, _changed(program, tuned, where, WRONG[what])).ok


def _changed(program: Program, tuned: Tuned, where: int, change: Change) -> bytes:
    data = bytearray(with_old_identity(program.image, tuned.data))
    entry = ENTRY.unpack(data[where : where + ENTRY.size])
    data[where : where + ENTRY.size] = ENTRY.pack(*change(*entry))
    return bytes(data)


def test_two_entries_for_one_access_are_found(program: Program, tuned: Tuned) -> None:
    first, second = list(_one_of_each(program, tuned))
    distance, word = ENTRY.unpack(tuned.data[first : first + ENTRY.size])
    data = bytearray(with_old_identity(program.image, tuned.data))
    data[second : second + ENTRY.size] = ENTRY.pack(distance + first - second, word)
    assert not _verdict(program, bytes(data)).ok


def test_code_that_leaves_its_entries_behind_is_found(program: Program, tuned: Tuned) -> None:
    section = program.image.section("__ex_table")
    assert section is not None
    whole = slice(section.sh_offset, section.file_end)
    data = bytearray(with_old_identity(program.image, tuned.data))
    data[whole] = program.image.data[whole]
    assert not _verdict(program, bytes(data)).ok


def _one_of_each(program: Program, tuned: Tuned) -> Iterator[int]:
    """A live entry that the edits changed, and one of a function without edits."""
    old, new = table(program, program.image.data), table(program, tuned.data)
    yield next(at for at in new if new[at] != old[at])
    named = {edit.routine for edit in tuned.edits}
    for at, (access, *_) in new.items():
        function = program.function_at(access)
        if function is not None and function.name not in named:
            yield at
            return


def _verdict(program: Program, data: bytes) -> Verdict:
    new = replace(program.image, data=data)
    return verify(program, new, _quiet, cpu=program.target.cpus["ev67"])
