"""GNU objdump as a second opinion on IA-64 slots: its text, and its spelling of ours.

objdump prints pseudo-instructions where it can.  `ALIASES` is the whole list of differences between
our text and its own, and `GNU_ONLY` of what it takes for an instruction and the manual
does not; everything else must agree letter by letter.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from rewriter.core.isa.instruction import Insn
from targets.ia64.isa.fields import BUNDLE, LONG, SLOT_BITS, Unit
from targets.ia64.isa.rows import TABLE

BASE = 1 << 40  # so high that no branch goes below address 0
SLOT = (1 << SLOT_BITS) - 1
_NOP, _NOP_B = 1 << 27, 2 << 37

# Template, slots with a hole, and the line of the bundle that the hole's text is on.
_PLACES: dict[str, tuple[int, tuple[int | None, ...], int]] = {
    "M": (0x08, (None, _NOP, _NOP), 0),
    "I": (0x00, (_NOP, None, _NOP), 1),
    "F": (0x0C, (_NOP, None, _NOP), 1),
    "B": (0x16, (_NOP_B, _NOP_B, None), 2),
    "X": (0x04, (_NOP, 0, None), 1),
}

_Q = r"((?:\(p\d\d\) )?)"  # the qualifying predicate
_O = r"([^,=\[\] ]+)"  # an operand
_SF = r"((?:\.s)?(?:\.d)?\.s[0-3])"  # precision and status field

Rules = list[tuple[re.Pattern[str], str]]


def _rules(*rules: tuple[str, str]) -> dict[str, Rules]:
    by_name: dict[str, Rules] = {}
    for pattern, new in rules:
        rule = (re.compile(_Q + pattern), r"\1" + new)
        by_name.setdefault(re.split(r"[ \\(]", pattern)[0], []).append(rule)
    return by_name


# By mnemonic up to the first completer: our text, objdump's text.  An `f1` that is a factor is the
# constant 1.0, an `f0` that is added 0.0.
ALIASES = _rules(
    (rf"adds {_O}=0,{_O}", r"mov \2=\3"),
    (rf"addl {_O}={_O},r0", r"mov \2=\3"),
    (r"mov (b\d)=(r\d+),0x\w+", r"mov \2=\3"),
    (rf"fma{_SF} {_O}={_O},f1,f0", r"fnorm\2 \3=\4"),
    (rf"fma{_SF} {_O}={_O},f1,{_O}", r"fadd\2 \3=\4,\5"),
    (rf"fma{_SF} {_O}={_O},{_O},f0", r"fmpy\2 \3=\4,\5"),
    (rf"fms{_SF} {_O}={_O},f1,{_O}", r"fsub\2 \3=\4,\5"),
    (rf"fnma{_SF} {_O}={_O},{_O},f0", r"fnmpy\2 \3=\4,\5"),
    (rf"fpma{_SF} {_O}={_O},{_O},f0", r"fpmpy\2 \3=\4,\5"),
    (rf"fpnma{_SF} {_O}={_O},{_O},f0", r"fpnmpy\2 \3=\4,\5"),
    (rf"xma(\.l|\.h|\.hu) {_O}={_O},{_O},f0", r"xmpy\2 \3=\4,\5"),
    (rf"fmerge\.s {_O}={_O},\3", r"mov \2=\3"),
    (rf"fmerge\.ns {_O}={_O},\3", r"fneg \2=\3"),
    (rf"fmerge\.s {_O}=f0,{_O}", r"fabs \2=\3"),
    (rf"fmerge\.ns {_O}=f0,{_O}", r"fnegabs \2=\3"),
    (rf"fpmerge\.ns {_O}={_O},\3", r"fpneg \2=\3"),
    (rf"fpmerge\.s {_O}=f0,{_O}", r"fpabs \2=\3"),
    (rf"fpmerge\.ns {_O}=f0,{_O}", r"fpnegabs \2=\3"),
)
_ALWAYS = re.compile(r"(brl?)\.cond\.sptk(.*)")  # where no predicate is
_FIELD = re.compile(_Q + rf"(extr|extr\.u|dep\.z) {_O}=(r\d+),(\d+),(\d+)")
_SHIFTS = {"extr": "shr", "extr.u": "shr.u", "dep.z": "shl"}


def spelling(insn: Insn, address: int) -> str:
    """What objdump prints for `insn` in the bundle at `address`."""
    text = TABLE.text(insn, address)
    name = insn.name.partition(".")[0]
    for pattern, new in ALIASES.get(name, ()):
        if match := pattern.fullmatch(text):
            return match.expand(new)
    if name in ("br", "brl") and (always := _ALWAYS.fullmatch(text)):
        return always[1] + always[2]
    # A field up to the end of the register is a shift.
    field = _FIELD.fullmatch(text) if insn.name in _SHIFTS else None
    if field and int(field[5]) + int(field[6]) == 64:
        return f"{field[1]}{_SHIFTS[insn.name]} {field[3]}={field[4]},{field[5]}"
    return text


# What objdump reads although the manual reserves it: 11 permutations of mux1, a second
# register in a compare with r0, a predicate, which it does not print, on what takes none.
GNU_ONLY = re.compile(
    _Q + r"(mux1 \w+=\w+,0x\w+|br\.ia\..*|cmp4?\.(gt|le|ge|lt)\.(and|or|or\.andcm) \w+,\w+=r0,\w+)"
    r"|(br\.(cloop|ctop|cexit)\.|alloc |flushrs|loadrs|cover|clrrrb|epc|bsw|vmsw|rfi).*"
)

_NOT_TEXT = re.compile(r"^\[\w+\]| <[^>]*>")  # template, symbols


def clean(text: str) -> str:
    """A line's instruction."""
    return _NOT_TEXT.sub("", text).strip().removesuffix(";;").rstrip()


def bundle_of(unit: str, word: int) -> bytes:
    """A bundle with the word in a slot of the unit."""
    template, slots, _ = _PLACES[unit]
    bits = template
    for n, slot in enumerate(slots):
        extension = word >> LONG if unit == "X" and n == 1 else slot
        bits |= (word & SLOT if slot is None else extension or 0) << (5 + SLOT_BITS * n)
    return bits.to_bytes(BUNDLE, "little")


def raw_lines(objdump: str, blob: Path) -> list[str]:
    """The lines of a disassembly of raw bundles, behind the address."""
    options = ("-D", "-z", "-b", "binary", "-m", "ia64", "--no-show-raw-insn")
    command = (objdump, *options, f"--adjust-vma={BASE:#x}", blob)
    run = subprocess.run(command, capture_output=True, check=True, text=True)
    return [line.partition(":\t")[2] for line in run.stdout.split("\n") if ":\t" in line]


def texts(objdump: str, unit: str, words: list[int], folder: Path) -> list[str]:
    """objdump's text of each word in a slot of the unit, one bundle after another at `BASE`."""
    blob = folder / f"{unit}.bin"
    blob.write_bytes(b"".join(bundle_of(unit, word) for word in words))
    lines = raw_lines(objdump, blob)
    each = 2 if unit == "X" else 3
    assert len(lines) == each * len(words), "objdump sees other bundles"
    return [clean(line) for line in lines[_PLACES[unit][2] :: each]]


def differences(objdump: str, unit: str, words: list[int], folder: Path) -> Iterator[str]:
    """Words for which objdump and the table disagree, and those that do not survive encoding."""
    tag = Unit[unit] << SLOT_BITS
    for number, (word, theirs) in enumerate(
        zip(words, texts(objdump, unit, words, folder), strict=True)
    ):
        insn = TABLE.decode(word | tag)
        if insn is None:
            ours = "data8"
        elif TABLE.encode(insn) != word | tag:
            ours = f"encodes as {TABLE.encode(insn):#x}"
        else:
            ours = spelling(insn, BASE + BUNDLE * number)
        known = theirs.partition(" ")[0] if theirs.startswith("data8") else theirs
        if ours != known and not (insn is None and GNU_ONLY.fullmatch(theirs)):
            yield f"{unit} {word:#x}: {ours!r}, objdump {theirs!r}"
