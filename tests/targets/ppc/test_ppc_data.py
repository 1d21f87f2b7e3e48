"""Data in PowerPC text is told from instructions: objdump, relocations and gcc say what is data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.elf.linking import R_RELR
from targets.ppc.image.data import is_data, table_length
from tests.targets.ppc.ppc_files import LIBCS, disassembly, image, words

_BCTR, _BLR, _NOP = 0x4E800420, 0x4E800020, 0x60000000
WIDE = LIBCS[1:]


def _data(name: str) -> dict[int, bool]:
    """Whether the word at each address of a text is data."""
    file, (places, text) = image(name), words(name)
    found = is_data(text, file.bits, file.byteorder)
    return dict(zip(places.tolist(), found.tolist(), strict=True))


@pytest.mark.parametrize("name", LIBCS)
def test_what_objdump_cannot_read_is_data(name: str) -> None:
    """All but half an address that the linker puts before its stubs."""
    data, text = _data(name), disassembly(name)
    odd = [at for at, said in text.items() if said.startswith(".long") and not data[at]]
    assert len(odd) <= 1


@pytest.mark.parametrize("name", LIBCS)
def test_what_objdump_reads_is_hardly_ever_data(name: str) -> None:
    """Distances and counts that look like instructions stand among words that do not."""
    data, text = _data(name), disassembly(name)
    read = [at for at, found in data.items() if found and not text[at].startswith(".long")]
    for at in read:
        around = [text.get(at + 4 * n, "") for n in (-2, -1, 1, 2)]
        assert any(said.startswith(".long") for said in around) or data.get(at - 4)
    assert len(read) < 0.35 * sum(data.values()) + 1


@pytest.mark.parametrize("name", WIDE)
def test_each_table_that_is_named_is_data(name: str) -> None:
    """A relocated word that leads right behind a `bctr` is the address of a jump table."""
    file, data, (places, text) = image(name), _data(name), words(name)
    behind = set((places[:-1][text[:-1] == _BCTR] + 4).tolist())
    size = file.bits // 8
    named = {
        int.from_bytes(file.read(r.r_offset, size), file.byteorder)
        for r in file.relocations
        if r.r_type == R_RELR
    }
    tables = behind & named
    assert len(tables) > 80
    assert all(data[at] and data[at + 4] for at in tables)


ENTRY = st.integers(-64, 64).filter(bool).map(lambda n: 4 * n % (1 << 32))


@given(st.lists(st.integers(0, 30), min_size=2, max_size=30), st.booleans())
def test_a_table_ends_where_its_code_begins(cases: list[int], padded: bool) -> None:
    """Entries lead behind the table; what stands there is an instruction."""
    start = len(cases) + padded
    entries = [4 * (start + case) for case in cases]
    text = [_BCTR, *entries, *[_NOP] * padded, *[_BLR] * 32]
    assert table_length(np.array(text, dtype=np.uint32), 1) == len(cases)


@given(st.lists(ENTRY, max_size=1))
def test_one_entry_is_no_table(entries: list[int]) -> None:
    text = np.array([_BCTR, *entries, *[_BLR] * 80], dtype=np.uint32)
    assert table_length(text, 1) == 0


@pytest.mark.parametrize("order", ["big", "little"])
def test_code_behind_a_function_is_no_table(order: str) -> None:
    """A word of zeros before an instruction is not where a traceback table begins."""
    text = np.array([_BLR, 0, _NOP, 0x38600001, _BLR], dtype=np.uint32)
    found = is_data(text, 64, "big" if order == "big" else "little")
    assert np.flatnonzero(found).tolist() == [1]
