"""GNU objdump as a second opinion on PowerPC text: its listing of a file beside ours.

`objdump -Mraw` prints each instruction by its own name and with all of its operands, as our table
does.  `spelling` and `plain` hold the whole list of differences; all else must agree letter by
letter.  An address is part of the text of branches alone, so that other lines are counted.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from numpy.typing import NDArray

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from targets.ppc.isa import table
from targets.ppc.isa.formats import WORD
from targets.ppc.isa.table import PpcTable

Words = NDArray[np.uint64]

# Of branches for processors before POWER4 the lowest bit of BO says that the usual guess is wrong
# (PowerPC User Instruction Set Architecture 1.x); objdump takes these for data.
_OLD_HINT = re.compile(r"\w+: 'bc\w* (1|3|5|9|11|13|17|19),.*', objdump '.long .*'")
# Words that objdump takes for an instruction which they are not (Power ISA 3.1B): an update form
# without a base, fields that it ignores (reserved bits, an odd register of a pair), and one that
# POWER had and PowerPC does not (dozi).
ALSO_DATA = {
    *("lu", "lwzu", "stwu", "ldu", "stdu", "lhzu", "sthu"),
    *("dcmpuq", "dtstdgq", "attn", "dozi"),
}
_LINE = re.compile(r" *([0-9a-f]+):\t(.*)")
_ALTERED = (
    (re.compile(r"(mfcr +\w+),-1"), r"\1"),  # a mask that the instruction does not have
    (re.compile(r"(\S+) <.*"), r"\1"),  # the symbol that follows an address
    (re.compile(r"(.*?)\s+# .*"), r"\1"),  # an address that was worked out
    (re.compile(r"(.*[ \t,])0x([0-9a-f]+)"), r"\1\2"),  # an address with no symbol near it
    (re.compile(r"tendall\."), "tend. 1"),
    # binutils 2.40 calls accumulators by a later name
    (re.compile(r"^(pm)?dm(?=x[vx])"), r"\1"),
    (re.compile(r"^dmsetaccz"), "xxsetaccz"),
    (re.compile(r"(\S+)\s+(.*)"), r"\1 \2"),
)


@dataclass(frozen=True)
class Text:
    """The words of the executable sections of a file, with their addresses."""

    table: PpcTable
    addresses: NDArray[np.uint64]
    words: Words


def table_of(path: Path) -> PpcTable:
    """The table for a file."""
    with path.open("rb") as stream:
        file = ELFFile(stream)
        return table(file.elfclass, "little" if file.little_endian else "big")


def text_of(path: Path) -> Text:
    """All instructions of a file, those with a prefix as one word."""
    known = table_of(path)
    order = "<u4" if known.byteorder == "little" else ">u4"
    addresses, words = [], []
    with path.open("rb") as stream:
        for section in ELFFile(stream).iter_sections():
            if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS":
                data = section.data()
                raw = np.frombuffer(data, dtype=order, count=len(data) // 4).astype(np.uint32)
                starts, found = known.joined(raw)
                at = np.flatnonzero(starts)
                addresses.append(np.uint64(section["sh_addr"]) + np.uint64(4) * at.view(np.uint64))
                words.append(found)
    return Text(known, np.concatenate(addresses), np.concatenate(words))


@dataclass
class Listing:
    """What objdump says: how often of a word, and of branches where."""

    plain: Counter[tuple[int, str]] = field(default_factory=Counter)
    placed: list[tuple[int, int, str]] = field(default_factory=list)


def lines(objdump: str, *arguments: str | Path) -> Iterator[tuple[int, str]]:
    """The address and the text of each instruction."""
    command = [objdump, "-z", "-Mraw", "--no-show-raw-insn", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if found := _LINE.match(line):
                yield int(found[1], 16), found[2]
    assert run.returncode == 0, command


def listing(objdump: str, text: Text, *arguments: str | Path) -> Listing:
    """What objdump says of the words of a text; ours and its are the same places."""
    placed = _placed(text)
    result, counted = Listing(), Counter[tuple[int, str]]()
    ours = zip(text.addresses.tolist(), text.words.tolist(), placed.tolist(), strict=True)
    for (address, word, is_placed), (there, line) in zip(
        ours, lines(objdump, *arguments), strict=True
    ):
        assert address == there, f"{address:#x}: objdump goes on at {there:#x}"
        if is_placed:
            result.placed.append((address, word, plain(line)))
        else:
            counted[word, line] += 1
    for (word, line), count in counted.items():
        result.plain[word, plain(line)] += count
    return result


def _placed(text: Text) -> NDArray[np.bool_]:
    """The words whose text depends on where they stand."""
    rows = text.table.classify(text.words)
    kinds = [any(o.kind is Kind.TARGET for o in op.format.operands) for op in text.table.rows]
    found: NDArray[np.bool_] = np.array([*kinds, False])[rows]
    return found


def plain(line: str) -> str:
    """objdump's text without what the instruction does not have."""
    for pattern, replacement in _ALTERED:
        line = pattern.sub(replacement, line)
    return line.rstrip()


def differences(known: PpcTable, result: Listing) -> tuple[Counter[str], Counter[str]]:
    """Lines whose text is not ours, and what objdump calls words that we do not decode."""
    wrong, unknown = Counter[str](), Counter[str]()
    for word, theirs, address, count in _all(result):
        insn = known.decode(word)
        if insn is None:
            unknown[theirs.partition(" ")[0]] += count
        elif (ours := known.text(insn, address)) != theirs:
            wrong[f"{word:08x}: {ours!r}, objdump {theirs!r}"] += count
    return wrong, unknown


def is_old_hint(line: str) -> bool:
    """Whether a difference is a branch for processors before POWER4."""
    return bool(_OLD_HINT.fullmatch(line))


def _all(result: Listing) -> Iterable[tuple[int, str, int | None, int]]:
    for (word, text), count in result.plain.items():
        yield word, text, None, count
    for address, word, text in result.placed:
        yield word, text, address, 1


def blob(
    objdump: str, known: PpcTable, insns: Iterable[Insn], folder: Path
) -> tuple[Text, Listing]:
    """Instructions of ours in a file without headers, and what objdump says of them."""
    base = 1 << 28  # so high that no branch goes below address 0
    code, addresses, words = bytearray(), [], []
    for insn in insns:
        word = known.encode(insn)
        addresses.append(base + len(code))
        words.append(word)
        for at in range(8 * insn.size - 32, -1, -32):
            code += (word >> at & 0xFFFFFFFF).to_bytes(WORD, known.byteorder)
    file = folder / "blob"
    file.write_bytes(code)
    text = Text(known, np.array(addresses, dtype=np.uint64), np.array(words, dtype=np.uint64))
    order = "-EL" if known.byteorder == "little" else "-EB"
    options = ("-D", "-b", "binary", "-m", "powerpc:common64", order, f"--adjust-vma={base:#x}")
    return text, listing(objdump, text, *options, file)
