"""Real IA-64 files: text as objdump's, decoding and encoding the identity.

Whole the two small libraries, parts of the libc and of the kernel; all of them by
`benchmarks/ia64_table.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import inputs
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE, SLOT_BITS, Unit
from targets.ia64.isa.rows import TABLE
from tests.targets.ia64.ia64_files import NAMES, differences, encoded, texts

PART = 5_000 * BUNDLE
PARTS = 3


def parts(name: str) -> list[tuple[int, bytes]]:
    """Address and content of what is looked at: of a large section, parts of it."""
    found = []
    for address, data in texts(inputs.require(name)):
        step = max(PART, len(data) // PARTS // BUNDLE * BUNDLE)
        for start in range(0, len(data), step):
            found.append((address + start, data[start : start + PART]))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_text_is_objdumps(name: str) -> None:
    objdump = inputs.require_tool("ia64-linux-gnu-objdump")
    path = inputs.require(name)
    for address, data in parts(name):
        assert list(differences(objdump, path, address, data)) == []


@pytest.mark.parametrize("name", NAMES)
def test_decoding_and_encoding_is_the_identity(name: str) -> None:
    for _, data in parts(name):
        assert encoded(data) == data


@pytest.mark.parametrize("name", NAMES)
def test_vectorised_decoding_finds_every_instruction(name: str) -> None:
    """An L slot is none; every other slot of these texts is one, and the same as decoded singly."""
    for address, data in parts(name):
        slots = bundles.decode_text(data, address)
        rows = TABLE.classify(slots.words)
        unit_l = slots.words >> np.uint64(SLOT_BITS) == Unit.L
        assert ((rows < 0) == unit_l).all()
        for word, row in list(zip(slots.words.tolist(), rows.tolist(), strict=True))[::50]:
            insn = TABLE.decode(word)
            assert (insn is None) if row < 0 else (insn is not None and insn.op is TABLE.rows[row])
