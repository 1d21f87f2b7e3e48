"""Changes of what a kernel's tables name, and of the tables: the verifier refuses each."""

from __future__ import annotations

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import analyse
from rewriter.elf import image
from rewriter.elf.image import Image
from rewriter.verify.check import verify
from tests.support.depth import DEEP

_NOP = 0x60000000


class Changed:
    """The content of a file, word by word."""

    def __init__(self, found: Image) -> None:
        self.found, self.data = found, bytearray(found.data)

    def put(self, address: int, word: int) -> None:
        """Another word at an address."""
        at = self.found.offset_of(address)
        assert self.word(address) != word
        self.data[at : at + 4] = word.to_bytes(4, self.found.byteorder)

    def word(self, address: int) -> int:
        """What the original has there."""
        return int.from_bytes(self.found.read(address, 4), self.found.byteorder)


@pytest.mark.skipif(not DEEP, reason="an analysis of a kernel, and its comparison with another")
def test_each_change_is_refused() -> None:
    found = image.load(inputs.require("ppc32-vmlinux"))
    target = targets.of(found).sequential
    assert target is not None
    named = {symbol.name: symbol.st_value for symbol in found.symbols}
    changed = Changed(found)
    changed.put(named["__SCT__ppc_get_irq"], _NOP)
    site = named["patch__hash_page_A0"]
    changed.put(site + changed.word(site) - (1 << 32), _NOP)
    changed.put(named["patch__memset_nocache"], 0)
    # In the first entry of each a field names the instruction behind the one it did.
    fields = {"__ex_table": 4, "__bug_table": 0, "__ftr_fixup": 8}
    for table, field in fields.items():
        place = found.table(table).start + field
        changed.put(place, changed.word(place) + 4)
    program = analyse(found, target)
    new = image.parse(bytes(changed.data), "changed")
    text = "\n".join(map(str, verify(program, new, _quiet).findings))
    for part in ("__SCT__ppc_get_irq changed", ".rodata", "__ftr_fixup", "__bug_table"):
        assert part in text, text
    owner = program.function_at(site + changed.word(site) - (1 << 32))
    assert owner is not None and f"{owner.name} changed" in text
    (first,) = program.target.tables.exceptions.read(found)[:1]
    faulting = program.function_at(first.access)
    assert faulting is not None and faulting.name in text


def _quiet(stage: str, done: int, total: int | None) -> None:
    """Nobody looks."""
