"""PowerPC rows of floating point and vectors against binutils: random operands of every row."""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import capstone
import pytest

from fixtures import inputs
from rewriter.core.isa.instruction import Op
from targets.ppc.isa import decimal, floating, table, vectors
from targets.ppc.isa.formats import PREFIX
from tests.support.depth import depth

FAMILIES = {"floating": floating.ROWS, "decimal": decimal.ROWS, "vectors": vectors.ROWS}
TABLE = table(64, "big")
DIALECT = "power10"
_MODE = capstone.CS_MODE_64 | capstone.CS_MODE_BIG_ENDIAN | capstone.CS_MODE_PWR10

# The levels of `features` in binutils' words.
DIALECTS = {
    "2.00": "power4",
    "2.02": "power5",
    "2.05": "power6",
    "DFP": "power6",
    "VSX": "power7",
    "2.06": "power7",
    "2.07": "power8",
    "3.0": "power9",
    "3.0B": "power9",
    "3.1": "power10",
}
ORDER = ("power4", "power5", "power6", "power7", "power8", "power9", "power10")
# binutils 2.40 has these one level earlier than the manual's appendix of instructions does.
EARLIER = {"vabsdub", "vabsduh", "vabsduw"}

_LINE = re.compile(r" *([0-9a-f]+):\t[0-9a-f ]+\t(.*)")
_NAMES = re.compile(r"^(pm)?dm(?=x[vx])")  # binutils 2.40 calls accumulators by a later name
_WHOLE = {"dmsetaccz": "xxsetaccz"}


def drawn(op: Op, source: random.Random) -> int:
    """A word of a row, with random operands; an accumulator's own registers are no sources."""
    while True:
        word, taken = op.match, {}
        for operand in op.format.operands:
            value = None
            while value is None:
                value = operand.value(source.getrandbits(operand.width))
            word |= operand.insert(value)
            taken[operand.name] = value
        sources = {taken.get("xa"), taken.get("xb"), taken.get("xap")} - {None}
        if "acc" not in taken or not any(0 <= n - taken["acc"] < 4 for n in sources if n):
            return word


def listed(words: list[int], dialect: str, folder: Path) -> Iterator[str]:
    """objdump's text of each word, of four or eight bytes."""
    tool = inputs.require_tool("powerpc64-linux-gnu-objdump")
    file, starts, at = folder / "words", [], 0
    with file.open("wb") as stream:
        for word in words:
            starts.append(at)
            at += stream.write(word.to_bytes(8 if word >> PREFIX else 4, "big"))
    command = [tool, "-D", "-z", "-bbinary", "-mpowerpc:common64", "-EB", f"-M{dialect},raw", file]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {int(m[1], 16): m[2] for m in map(_LINE.match, text.splitlines()) if m}
    for start in starts:
        line = re.sub(r"\s+", " ", found[start].partition("\t#")[0]).strip()
        name, space, rest = line.partition(" ")
        yield _WHOLE.get(name, _NAMES.sub(r"\1", name)) + space + rest


@pytest.mark.parametrize("family", FAMILIES)
def test_the_text_of_random_operands_is_binutils_own(family: str, tmp_path: Path) -> None:
    source = random.Random(family)
    words = [drawn(op, source) for op in FAMILIES[family] for _ in range(depth(12, 200))]
    different = Counter[str]()
    for word, theirs in zip(words, listed(words, DIALECT, tmp_path), strict=True):
        insn = TABLE.decode(word)
        ours = TABLE.text(insn) if insn else "nothing"
        if ours != theirs:
            different[f"{word:x}: {ours!r}, objdump {theirs!r}"] += 1
    assert not different


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_decoded_is_encoded_as_it_was(family: str) -> None:
    source = random.Random(family)
    for op in FAMILIES[family]:
        for word in (drawn(op, source) for _ in range(depth(8, 100))):
            insn = TABLE.decode(word)
            assert insn is not None and insn.op is op, f"{word:x}"
            assert TABLE.encode(insn) == word, insn


def test_the_level_of_a_row_is_the_first_that_binutils_has(tmp_path: Path) -> None:
    source = random.Random("levels")
    rows = [op for family in FAMILIES.values() for op in family if op.name not in EARLIER]
    words = [drawn(op, source) for op in rows]
    listings = {name: list(listed(words, name, tmp_path)) for name in ORDER}
    wrong = []
    for number, op in enumerate(rows):
        level = DIALECTS.get(op.needs.removeprefix("64-"))
        if level is None:
            continue
        known = [name for name in ORDER if listings[name][number].split()[0] == op.name]
        if known != list(ORDER[ORDER.index(level) :]):
            wrong.append((op.name, op.needs, known[:1]))
    assert not wrong


def test_every_instruction_that_binutils_knows_has_a_row(tmp_path: Path) -> None:
    """Random words under the primary opcodes of floating point and vectors, for the names of all.

    Words with reserved bits set, which binutils takes in some rows, are none to us.
    """
    source = random.Random("all")
    words = [
        primary << 26 | source.getrandbits(26)
        for primary in (4, 6, 57, *range(48, 56), 59, 60, 61, 63)
        for _ in range(depth(4_000, 60_000))
    ]
    names = {line.partition(" ")[0] for line in listed(words, DIALECT, tmp_path)}
    others = {".long", "maddhd", "maddhdu", "maddld"}  # of general registers
    assert len(names) > 500
    assert not names - others - {op.name for op in TABLE}


# What Capstone 6.0.0a11 has another name for, does not decode, or writes the numbers of otherwise.
ALIASES = {
    *("mfvsrd", "mfvsrwz", "mtvsrd", "mtvsrwa", "mtvsrwz"),
    *("vnor", "vor", "xvcpsgnsp", "xvcpsgndp", "xxpermdi"),
}
UNKNOWN = {"fmrgew", "fmrgow", "mtfsb0.", "mtfsb1."}
OTHERWISE = {"mtfsf", "mtfsf.", "mtfsfi", "mtfsfi.", "mtvsrbmi"}
_NUMBER = re.compile(r"(?<![0-9a-z])-?(?:0x[0-9a-f]+|\d+)\b")
_FILE = re.compile(r"\b(?:vsp|vs|fp|f|v|r|a|acc|wacc|cr)(?=\d)")


def test_capstone_says_the_same() -> None:
    tool = capstone.Cs(capstone.CS_ARCH_PPC, _MODE)
    source, different, same = random.Random("capstone"), set[str](), 0
    for op in (op for family in FAMILIES.values() for op in family):
        for _ in range(depth(1, 20)):
            word = drawn(op, source)
            insn = TABLE.decode(word)
            assert insn is not None
            theirs = next(tool.disasm(word.to_bytes(op.format.size, "big"), 0), None)
            name = "" if theirs is None else theirs.mnemonic.rstrip(".")
            operands = "" if theirs is None else theirs.op_str
            if name != op.name.rstrip(".") or _numbers(TABLE.text(insn)) != _numbers(operands):
                different.add(op.name)
            else:
                same += 1
    assert same > 900
    masks = {op.name for op in vectors.ROWS if op.name.startswith("xxgenpcv")}
    rest = different - ALIASES - UNKNOWN - OTHERWISE - masks
    assert not rest


def _numbers(text: str) -> list[int]:
    """The numbers of the operands, of registers too."""
    return [int(n, 0) for n in _NUMBER.findall(_FILE.sub("", text))]


def test_a_changed_opcode_is_noticed(tmp_path: Path) -> None:
    """The comparison can fail: with a bit of its opcode flipped a row is another one."""
    op = TABLE.find("vperm")
    word = drawn(op, random.Random(0)) ^ 1
    insn = TABLE.decode(word)
    (theirs,) = listed([word], DIALECT, tmp_path)
    assert insn is not None and insn.op is not op
    assert TABLE.text(insn) == theirs
