"""The code of a trial, with the file loaded somewhere: addresses of files at the top of memory."""

from __future__ import annotations

from dataclasses import replace

from fixtures import inputs
from rewriter.elf import image
from rewriter.elf.linking import Relocation
from rewriter.verify.trials.image import code_of

_BASE = 0x20000000
_HIGH = 0xC000000000000000


def test_an_addend_that_reads_as_negative_is_an_address() -> None:
    """A kernel of 64 bits stands where addresses have their highest bit."""
    found = image.load(inputs.require("alpha-sample"))
    start, _ = found.executable_ranges()[0]
    high = Relocation(start, 0, 0, "", _HIGH - (1 << 64), True)
    moved = replace(found, relocations=(high,))
    code = code_of(moved, "sample", 0, _BASE, lambda kind, addend, symbol: addend)
    for first, data in code.parts:
        if first <= _BASE + start < first + len(data):
            word = data[_BASE + start - first :][:8]
    assert int.from_bytes(word, "little") == _BASE + _HIGH
