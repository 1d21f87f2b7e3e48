"""What a kernel's words of data and the shape of its code say that it writes over, by its symbols.

The symbols are those of Linux' own macros (include/asm/code-patching-asm.h, static_call.h); the
analysis does without them.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import listed
from rewriter.core.code.listing import Listing
from rewriter.core.code.system_tables import shaped
from rewriter.core.code.unread_tables import unread
from rewriter.elf import image
from rewriter.elf.image import Image
from rewriter.elf.pins import site_words
from rewriter.identify.kallsyms.symbols import with_kallsyms
from targets.ppc.image.kernel_tables import tables

KERNELS = ("ppc32-vmlinux", "ppc64el-vmlinux")


@functools.cache
def read(name: str) -> tuple[Image, Listing]:
    found = image.load(inputs.require(name))
    target = targets.of(found).sequential
    assert target is not None
    return found, target.listing(found)


def why_not_read(image: Image) -> str:
    """What of a kernel names code and cannot be read, or nothing."""
    target = targets.of(image).sequential
    assert target is not None
    return unread(target.tables, image, listed(image, target))


@pytest.mark.parametrize(("name", "count"), [("ppc32-vmlinux", 11), ("ppc64el-vmlinux", 7)])
def test_each_named_site_is_one_of_the_words(name: str, count: int) -> None:
    """`patch__x` is a word with the distance from itself to an instruction."""
    found, listing = read(name)
    named = {s.st_value for s in found.symbols if s.name.startswith("patch__")}
    words = dict(site_words(found, listing))
    assert len(named) == count
    for place in named:
        distance = int.from_bytes(found.read(place, 4), found.byteorder, signed=True)
        assert words[place] == place + distance


@pytest.mark.parametrize(
    ("name", "symbols", "count"),
    [("ppc32-vmlinux", "__SCT__*", 1272), ("ppc64el-vmlinux", "__kretprobe_trampoline", 1)],
)
def test_code_that_is_written_over_is_known_by_its_shape(
    name: str, symbols: str, count: int
) -> None:
    found, listing = read(name)
    named = {s.st_value for s in found.symbols if fnmatchcase(s.name, symbols)}
    known = {one.start for one in shaped(listing, tables(found.bits, found.byteorder).shapes)}
    assert len(named) == count
    assert named <= known


@pytest.mark.parametrize("name", KERNELS)
def test_bounds_of_tables_are_looked_for(name: str) -> None:
    """A kernel without them is left alone."""
    found, _ = read(name)
    assert not why_not_read(found)
    assert "__start___jump_table" in why_not_read(replace(found, symbols=()))


def test_a_stripped_kernel_has_the_bounds_that_symbols_have() -> None:
    """kallsyms lists functions only; those that go through the tables say where they are."""
    found, _ = read("ppc64el-vmlinux")
    stripped = with_kallsyms(replace(found, symbols=()))
    assert not why_not_read(stripped)
    for table in ("__jump_table", "mcount_loc"):
        assert stripped.enclosed(table) and stripped.enclosed(table) == found.enclosed(table)
