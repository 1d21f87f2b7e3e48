"""Bounds of a kernel's tables by the functions that go through them, in kernels made here.

A kernel of 32 bits, laid out as Linux' headers have it (arch/powerpc/include/asm/jump_label.h).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from targets.ppc.image.walked_tables import WalkedTables

TEXT, DATA = 0xC0001000, 0xC0400000
NOP, BLR, CALL = 0x60000000, 0x4E800020, 0x48000009
SWITCHES, CALLS = DATA + 0x10, DATA + 0x80
WHERE = {
    "__jump_table": range(SWITCHES, SWITCHES + 24),
    "mcount_loc": range(CALLS, CALLS + 12),
}
FUNCTIONS = {
    "jump_label_init": range(TEXT, TEXT + 0x14),
    "ftrace_init": range(TEXT + 0x20, TEXT + 0x34),
    "_mcount": range(TEXT + 0x60, TEXT + 0x64),
}


def made(register: int, address: int) -> tuple[int, int]:
    """`lis; addi`, as a compiler makes an address."""
    high, low = address + 0x8000 >> 16, address & 0xFFFF
    return 0x3C000000 | register << 21 | high, 0x38000000 | register << 21 | register << 16 | low


def switch(at: int, code: int, target: int, key: int) -> tuple[int, int, int]:
    """An entry of __jump_table."""
    distances = code - at, target - at - 4, key - at - 8
    first, second, third = (distance % (1 << 32) for distance in distances)
    return first, second, third


@dataclass
class Kernel:
    """Words by address: two functions that go through tables, what these name, and the tables."""

    content: dict[int, int]

    def put(self, at: int, *words: int) -> None:
        """Puts words behind each other."""
        self.content |= {at + 4 * n: word for n, word in enumerate(words)}

    def read(self, address: int, size: int) -> bytes:
        return struct.pack(">I", self.content[address])[:size]

    def is_mapped(self, address: int) -> bool:
        return address & ~3 in self.content

    def executable_ranges(self) -> tuple[tuple[int, int], ...]:
        return ((TEXT, TEXT + 0x100),)

    def words(self, start: int, end: int, size: int) -> NDArray[Any]:
        return np.array([self.content[at] for at in range(start, end, size)])

    def bounds(self, functions: Mapping[str, range] = FUNCTIONS) -> dict[str, range]:
        """Those of the tables."""
        return WalkedTables(32, "big").bounds(self, functions)


@pytest.fixture
def kernel() -> Kernel:
    """Two switches, one of which is a branch in the file, and three calls."""
    content = dict.fromkeys(range(TEXT, TEXT + 0x100, 4), BLR)
    made_here = Kernel(content | dict.fromkeys(range(DATA, DATA + 0x100, 4), 0))
    made_here.put(TEXT, *made(9, SWITCHES), *made(3, SWITCHES + 24))
    made_here.put(TEXT + 0x20, *made(31, CALLS), *made(4, CALLS + 12))
    made_here.put(TEXT + 0x80, NOP, 0x48000010, CALL, CALL, CALL, CALL)
    made_here.put(SWITCHES, *switch(SWITCHES, TEXT + 0x80, TEXT + 0xA0, DATA + 1))
    made_here.put(SWITCHES + 12, *switch(SWITCHES + 12, TEXT + 0x84, TEXT + 0x94, DATA + 8))
    made_here.put(CALLS, TEXT + 0x88, TEXT + 0x8C, TEXT + 0x90)
    return made_here


def test_functions_that_go_through_tables_name_their_bounds(kernel: Kernel) -> None:
    assert kernel.bounds() == WHERE
    kernel.put(CALLS + 12, TEXT + 0x94)  # reads as one more entry, and is none
    kernel.put(SWITCHES - 12, *switch(SWITCHES - 12, TEXT + 0x80, TEXT + 0xA0, DATA))
    assert kernel.bounds() == WHERE


@pytest.mark.parametrize("entry", [SWITCHES, SWITCHES + 12])
@pytest.mark.parametrize(
    "names",
    [
        (TEXT + 0x98, TEXT + 0xA0, DATA),  # code that something else stands at
        (TEXT + 0x82, TEXT + 0xA0, DATA),  # a place between instructions
        (DATA, TEXT + 0xA0, DATA),
        (TEXT + 0x84, TEXT + 0x98, DATA),  # a branch to another place
        (TEXT + 0x80, DATA, DATA),
        (TEXT + 0x80, TEXT + 0xA0, TEXT),  # a key in code
        (TEXT + 0x80, TEXT + 0xA0, 0x1000),
    ],
)
def test_an_entry_that_reads_otherwise_is_no_switch(
    kernel: Kernel, entry: int, names: tuple[int, int, int]
) -> None:
    kernel.put(entry, *switch(entry, *names))
    assert kernel.bounds() == {"mcount_loc": WHERE["mcount_loc"]}


@pytest.mark.parametrize("entry", range(CALLS, CALLS + 12, 4))
@pytest.mark.parametrize("names", [TEXT + 0x80, TEXT + 0x84, TEXT + 0x89, DATA, 0])
def test_an_entry_that_names_no_call_is_no_traced_one(
    kernel: Kernel, entry: int, names: int
) -> None:
    kernel.put(entry, names)
    assert kernel.bounds() == {"__jump_table": WHERE["__jump_table"]}


def test_bounds_that_code_does_not_name_once_are_not_known(kernel: Kernel) -> None:
    high, low = made(3, SWITCHES + 24)
    kernel.put(TEXT + 0x08, high, low, 0x3863001C)  # then added to a whole address
    assert "__jump_table" in kernel.bounds()
    kernel.put(TEXT + 0x08, high, 0x3883001C, low)  # a third address, of the second entry
    assert set(kernel.bounds()) == {"mcount_loc"}


@pytest.mark.parametrize("missing", ["jump_label_init", "ftrace_init"])
def test_a_table_that_nothing_known_goes_through_is_not_known(kernel: Kernel, missing: str) -> None:
    others = {name: where for name, where in FUNCTIONS.items() if name != missing}
    others |= {"jump_label_update": range(TEXT + 0xF0, TEXT + 0xF4)}
    assert len(kernel.bounds(others)) == 1


def test_a_kernel_without_functions_for_them_has_no_tables(kernel: Kernel) -> None:
    found = kernel.bounds({"start_kernel": range(TEXT, TEXT + 0x14)})
    assert [*map(len, found.values())] == [0, 0] and len(found) == 2
