"""The PowerPC table against Capstone: which words are instructions, their names and operands.

Capstone prints simplified mnemonics where it can; then only the name of the instruction behind
them is compared, else the operands too.  What is different is listed here.
"""

from __future__ import annotations

import re
from collections import Counter

import capstone
import numpy as np
import pytest
from ppc_objdump import Text, text_of
from support.depth import DEEP

from fixtures import inputs
from rewriter.core.isa.instruction import Insn
from targets.ppc.isa.table import PpcTable

_FEW = ("ppc-ld.so", "ppc64-ld.so", "ppc64el-ld.so")
FILES = tuple(n for n in inputs.NAMES if n.startswith("ppc")) if DEEP else _FEW
AT = 1 << 30  # where every word stands: so high that no branch goes below address 0

# Our name -> those of Capstone for special operands; a record form has no name of its own there.
NAMES = {
    "ori": {"nop"},
    "cmp": {"cmpw", "cmpd"},
    "cmpi": {"cmpwi", "cmpdi"},
    "cmpl": {"cmplw", "cmpld"},
    "cmpli": {"cmplwi", "cmpldi"},
    "mfspr": {"mflr", "mfctr", "mftb"},
    "mtspr": {"mtlr", "mtctr"},
    "bcctr": {"bctr"},
    "tw": {"trap"},
    "td": {"trap"},
}
_NUMBER = re.compile(r"-?0x[0-9a-f]+")
_PLACE = re.compile(r"\b[0-9a-f]{8,16}$")
_VECTOR = re.compile(r"\b(?:vsp|vs|f|v)(\d+)")
_UNORDERED = re.compile(r"\bun\b")  # Capstone's name for the bit of a field that is SO


def disassembler(text: Text) -> capstone.Cs:
    """Capstone for a file."""
    is_little = text.table.byteorder == "little"
    order = capstone.CS_MODE_LITTLE_ENDIAN if is_little else capstone.CS_MODE_BIG_ENDIAN
    width = capstone.CS_MODE_64 if text.table.width == 64 else capstone.CS_MODE_32
    return capstone.Cs(capstone.CS_ARCH_PPC, width | order | capstone.CS_MODE_PWR10)


def compared(text: Text) -> tuple[Counter[str], int]:
    """Differences by what they are, and how many words are the same in all that is compared."""
    known, tool = text.table, disassembler(text)
    found, same = Counter[str](), 0
    words, counts = np.unique(text.words, return_counts=True)
    for word, count in zip(words.tolist(), counts.tolist(), strict=True):
        parts = (word >> 32, word & 0xFFFFFFFF) if word >> 32 else (word,)
        code = b"".join(part.to_bytes(4, known.byteorder) for part in parts)
        theirs = next(tool.disasm(code, AT), None)
        ours = known.decode(word)
        if ours is None or theirs is None:
            if ours is not None:
                found[f"only ours: {ours.name}"] += count
            elif theirs is not None:
                found[f"only Capstone's: {theirs.mnemonic}"] += count
            continue
        difference = _named(ours, tool.insn_name(theirs.id)) or (
            _shown(_decimal(ours, known), theirs) if theirs.mnemonic == ours.name else ""
        )
        if difference:
            found[difference] += count
        else:
            same += count
    return found, same


def _named(ours: Insn, theirs: str) -> str:
    name = ours.name.rstrip(".")
    if theirs.rstrip(".") == name or theirs in NAMES.get(name, ()):
        return ""
    return f"{ours.name} is {theirs}"


def _decimal(insn: Insn, known: PpcTable) -> str:
    """Our text with the target, if there is one, in decimal."""
    text = known.text(insn, AT)
    if insn.target(AT) is None:
        return text
    return _PLACE.sub(lambda match: str(int(match[0], 16)), text)


def _shown(ours: str, theirs: capstone.CsInsn) -> str:
    """Both texts with numbers in decimal, if they differ."""
    mine = _VECTOR.sub(r"v\1", ours)
    text = f"{theirs.mnemonic} {theirs.op_str}".replace(", ", ",").strip()
    text = _NUMBER.sub(lambda match: str(int(match[0], 16)), text)
    text = _UNORDERED.sub("so", _VECTOR.sub(r"v\1", text))
    # Fields that are 0 at the end are left out.
    optional = re.fullmatch(re.escape(text) + r"(,| )(r0,)?0(,0)*", mine)
    return "" if mine == text or optional else f"{mine!r} is {text!r}"


# Words of data that only one takes for an instruction, and what one knows that the other does not.
KNOWN = re.compile(r"only Capstone's: (attn|lwzu|lbzu)|only ours: rfi")  # rfi: not in POWER10


@pytest.mark.parametrize("name", FILES)
def test_instructions_are_capstones(name: str) -> None:
    text = text_of(inputs.require(name))
    found, same = compared(text)
    assert {line: count for line, count in found.items() if not KNOWN.match(line)} == {}
    assert same > len(text.words) // 2
