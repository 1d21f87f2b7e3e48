"""Capstone as another opinion on PowerPC words: which are instructions, their names, operands.

Capstone prints simplified mnemonics where it can; then only the name of the instruction behind
them is compared, else the operands too.  What it is known to say otherwise is listed here, and
counted; all else is a difference.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import capstone
import numpy as np

from rewriter.core.isa.instruction import Insn
from targets.ppc.isa.table import PpcTable
from tests.targets.ppc.ppc_objdump import Text

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
# Words of data that only one takes for an instruction, and what one knows that the other does not:
# what POWER10 no longer has, and what Linux uses that its table lacks.
_ONE_KNOWS = re.compile(
    r"only Capstone's: (attn|lwzu|lbzu|lhzu)"
    r"|only ours: (rfi|sleep|rvwinkle|rfscv|msg(snd|clr)p?|slbia|tlbiel?|fmrgew)"
)
_LEFT_OUT = {"paste.": ",1"}  # a last field that has one value
_UNORDERED = re.compile(r"\bun\b")  # Capstone's name for the bit of a field that is SO


def disassembler(text: Text) -> capstone.Cs:
    """Capstone for a file."""
    is_little = text.table.byteorder == "little"
    order = capstone.CS_MODE_LITTLE_ENDIAN if is_little else capstone.CS_MODE_BIG_ENDIAN
    width = capstone.CS_MODE_64 if text.table.width == 64 else capstone.CS_MODE_32
    return capstone.Cs(capstone.CS_ARCH_PPC, width | order | capstone.CS_MODE_PWR10)


@dataclass
class Compared:
    """Words by what Capstone makes of them.

    `same` is equal in all that is compared, `listed` by what this list knows is said otherwise,
    `different` by what is not known.
    """

    same: int = 0
    listed: Counter[str] = field(default_factory=Counter)
    different: Counter[str] = field(default_factory=Counter)


def compared(text: Text) -> Compared:
    """All words of a text."""
    known, tool, found = text.table, disassembler(text), Compared()
    words, counts = np.unique(text.words, return_counts=True)
    for word, count in zip(words.tolist(), counts.tolist(), strict=True):
        parts = (word >> 32, word & 0xFFFFFFFF) if word >> 32 else (word,)
        code = b"".join(part.to_bytes(4, known.byteorder) for part in parts)
        theirs = next(tool.disasm(code, AT), None)
        ours = known.decode(word)
        if ours is None or theirs is None:
            if ours is not None:
                _alone(found, f"only ours: {ours.name}", count)
            elif theirs is not None:
                _alone(found, f"only Capstone's: {theirs.mnemonic}", count)
            continue
        name = tool.insn_name(theirs.id)
        difference = _named(ours, name) or (
            _shown(_decimal(ours, known), theirs) if theirs.mnemonic == ours.name else ""
        )
        if difference:
            found.different[difference] += count
            continue
        found.same += count
        if said := _otherwise(ours, name, theirs):
            found.listed[said] += count
    return found


def _alone(found: Compared, what: str, count: int) -> None:
    (found.listed if _ONE_KNOWS.match(what) else found.different)[what] += count


def _otherwise(ours: Insn, name: str, theirs: capstone.CsInsn) -> str:
    """What Capstone calls an instruction that has another name here, or nothing."""
    if name in NAMES.get(ours.name.rstrip("."), ()):
        return f"{ours.name} is {name}"
    if theirs.mnemonic != ours.name:
        return f"{ours.name} is shown as {theirs.mnemonic}: operands not compared"
    return ""


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
    only = text + _LEFT_OUT.get(theirs.mnemonic, "")
    return "" if mine in (text, only) or optional else f"{mine!r} is {text!r}"
