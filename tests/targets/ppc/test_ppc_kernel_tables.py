"""Linux' tables of code, read by layouts that are data, against what stands where they lead."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.code.program import Fixup
from rewriter.core.code.system_tables import (
    CannotMove,
    From,
    Held,
    Holds,
    PairedExceptions,
    Pointer,
)
from rewriter.core.readings.machine import ByteOrder
from rewriter.elf import image
from rewriter.elf.gap import freed
from rewriter.elf.image import Image
from targets.ppc.image.kernel_tables import BARRIERS, FEATURES, tables

KERNELS = ("ppc64el-vmlinux", "ppc32-vmlinux")
NOP, ISYNC, MFLR_R0 = 0x60000000, 0x4C00012C, 0x7C0802A6


@functools.cache
def kernel(name: str) -> Image:
    return image.load(inputs.require(name))


@functools.cache
def named(name: str) -> tuple[Held, ...]:
    found = kernel(name)
    return tables(found.bits, found.byteorder).held(found)


def _word(name: str, address: int) -> int:
    return int.from_bytes(kernel(name).read(address, 4), kernel(name).byteorder)


def _is_trap(word: int) -> bool:
    """tdi, twi, td, tw (Power ISA 3.3.11)."""
    return word >> 26 in (2, 3) or (word >> 26 == 31 and word >> 1 & 0x3FF in (4, 68))


def _is_switch(word: int) -> bool:
    """A nop or a branch (include/asm/jump_label.h)."""
    return word == NOP or (word >> 26 == 18 and word & 3 == 0)


def _is_call(word: int) -> bool:
    return word >> 26 == 18 and word & 3 == 1


STANDING: dict[str, Callable[[int], bool]] = {
    "__lwsync_fixup": ISYNC.__eq__,
    "__bug_table": _is_trap,
    "__jump_table": _is_switch,
    **dict.fromkeys(BARRIERS, NOP.__eq__),
}
"""What stands where entries of a table lead, by the instructions' own encodings."""


@pytest.mark.parametrize("name", KERNELS)
def test_entries_lead_to_what_their_table_is_for(name: str) -> None:
    """A field of another place, size or base would lead to other words, or out of the text."""
    code = kernel(name).executable_ranges()
    every = named(name)
    assert len(every) > 1000
    for one in every:
        assert one.start % 4 == 0 and any(low <= one.start < high for low, high in code), one
        assert one.start <= one.end <= one.start + (1 << 12), one
        stands = STANDING.get(one.table)
        assert stands is None or stands(_word(name, one.start)), one
        if one.target is not None:
            assert one.target % 4 == 0 and any(a <= one.target < b for a, b in code), one


def test_every_table_of_the_64_bit_kernel_is_there() -> None:
    """Features that none has, as those of firmware there, are not."""
    found = {one.table for one in named("ppc64el-vmlinux")}
    wanted = {*STANDING, *FEATURES, "mcount_loc", "__soft_mask_table", "__restart_table"}
    assert found == wanted - {"__fw_ftr_fixup"}


def test_calls_to_be_counted_stand_behind_the_return_address() -> None:
    name, places = "ppc64el-vmlinux", {Holds.TRACED: list[range](), Holds.KEPT: list[range]()}
    for one in named(name):
        if one.table == "mcount_loc":
            places[one.holds].append(range(one.start, one.end))
    assert len(places[Holds.TRACED]) == len(places[Holds.KEPT]) > 30000
    for call, before in zip(*places.values(), strict=True):
        assert _is_call(_word(name, call.start)) and len(call) == 4
        assert _word(name, before.start) == MFLR_R0 and before == range(call.start - 4, call.start)


def test_a_switch_that_is_a_branch_leads_to_its_target() -> None:
    """The kernel's own branch says where; an entry says it of the nops, too."""
    name, branches = "ppc64el-vmlinux", 0
    for one in named(name):
        word = _word(name, one.start)
        if one.holds is Holds.SWITCHED and word != NOP:
            branches += 1
            distance = (word & 0x3FFFFFC) - ((word & 0x2000000) << 1)
            assert one.target == one.start + distance
    assert branches > 100


@pytest.mark.parametrize("name", KERNELS)
def test_exceptions_are_written_as_they_were(name: str) -> None:
    found = kernel(name)
    table = tables(found.bits, found.byteorder).exceptions
    fixups = table.read(found)
    assert len(fixups) * table.size == len(table.where(found)) and len(fixups) > 100
    accesses = [fixup.access for fixup in fixups]
    assert accesses == sorted(accesses)  # the linker's script sorts it
    for fixup in fixups:
        assert table.entry(fixup) == found.read(fixup.entry, table.size)


@given(
    st.sampled_from(["little", "big"]),
    st.sampled_from(From),
    st.sampled_from([4, 8]),
    st.integers(0, 12),
    st.integers(-(1 << 30), 1 << 30),
    st.sampled_from([0, 3]),
    st.binary(min_size=24, max_size=24),
)
def test_a_field_says_what_was_written(
    order: ByteOrder, base: From, size: int, offset: int, far: int, flags: int, entry: bytes
) -> None:
    """And nothing else of the entry changes, flags neither."""
    pointer, at = Pointer(offset, size, base, flags), 1 << 31
    address = (at + far & ~3) if base is not From.ZERO else abs(far) & ~3
    if base is not From.ZERO and flags:
        address += offset % 4 if base is From.FIELD else 0
    new = pointer.written(entry, at, order, address)
    assert pointer.read(new, at, order) == address
    assert new[:offset] + new[offset + size :] == entry[:offset] + entry[offset + size :]
    bits = [int.from_bytes(e[offset : offset + size], order) & flags for e in (entry, new)]
    assert bits[0] == bits[1]


@pytest.mark.parametrize("base", [From.FIELD, From.ENTRY])
def test_a_field_does_not_reach_everywhere(base: From) -> None:
    pointer = Pointer(4, 4, base)
    with pytest.raises(CannotMove):
        pointer.written(bytes(8), 0x1000, "little", 0x1000 + (1 << 32))
    with pytest.raises(CannotMove):
        Pointer(0, 4, From.ZERO).written(bytes(8), 0x1000, "big", 1 << 32)


@pytest.mark.parametrize("size", [4, 8])
def test_absolute_entries_of_older_kernels(size: int) -> None:
    """{insn, fixup}, each an address (Linux 2.4 and 2.6: .long for 32 bits, .llong for 64)."""
    fields = (Pointer(n * size, size, From.ZERO) for n in range(2))
    table = PairedExceptions("__ex_table", *fields, "big", sorted=True)
    entry = table.entry(Fixup(0x9000, 0xC0001000, 0xC0002000, ()))
    assert entry == b"".join(n.to_bytes(size, "big") for n in (0xC0001000, 0xC0002000))
    with pytest.raises(CannotMove):
        table.entry(Fixup(0x9000, 0xC0001000, 0xC0002000, ((3, -14),)))
    assert table.dead(0x9000) == bytes(2 * size)


@pytest.mark.parametrize("name", KERNELS)
def test_what_a_kernel_would_end_by_is_freed_with_what_it_starts_by(name: str) -> None:
    """A kernel for PowerPC has both behind its text, in one piece of memory."""
    found = kernel(name)
    texts = [".text", ".init.text", ".exit.text"]
    freed_texts = [one for one in texts if freed(found, found.table(one).start)]
    assert freed_texts == [".init.text", ".exit.text"]
