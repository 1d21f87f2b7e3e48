"""A listing says of a word the registers that its instruction alone says: in every row."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rewriter.core.code.listing import decode_at
from rewriter.core.isa.registers import from_columns
from rewriter.core.isa.table import Table
from targets.alpha.isa.rows import TABLE as ALPHA
from targets.ppc.isa import table as ppc


@pytest.mark.parametrize("table", [ALPHA, ppc(32, "big"), ppc(64, "little")])
def test_words_that_name_the_same_registers_share_a_mask(table: Table) -> None:
    chance, size = random.Random(1), table.word_bits
    filled = [chance.getrandbits(size) & ~row.mask | row.match for row in table.rows * 5]
    words = np.array(filled * 2, dtype=np.uint64)
    places = np.arange(len(words), dtype=np.uint64) * np.uint64(8)
    listing = decode_at(table, places, words, np.empty(0, np.int64))
    insns = [table.decode(word) for word in words.tolist()]
    for masks, of in ((listing.uses, table.uses), (listing.defs, table.defs)):
        assert from_columns(masks[:]) == [0 if insn is None else of(insn) for insn in insns]
