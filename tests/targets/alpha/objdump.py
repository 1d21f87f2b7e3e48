"""GNU objdump as a second opinion on Alpha text: its listing, and its spelling of our text.

objdump prints pseudo-instructions where it can (`mov`, `clr`, `unop`, ...).  `ALIASES` is the whole
list of differences between our text and its own; everything else must agree letter by letter.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rewriter.core.isa.instruction import Insn
from targets.alpha.isa.rows import TABLE

Words = NDArray[np.uint32]
Addresses = NDArray[np.uint64]

_R = r"([$\w]+)"  # a register
_V = r"([$\w]+)"  # a register or a literal


Rules = list[tuple[re.Pattern[str], str]]


def _rules(*rules: tuple[str, str]) -> Rules:
    return [(re.compile(pattern), replacement) for pattern, replacement in rules]


def _negation(name: str) -> Rules:
    return _rules((rf"sub{name} (?:zero|\$f31),{_V},{_R}", rf"neg{name} \1,\2"))


def _no_base(name: str) -> Rules:
    return _rules((rf"{name} {_R},(-?\d+)\(zero\)", rf"{name} \1,\2"))


def _one_register(name: str) -> Rules:
    return _rules((rf"{name} {_R},\1,\1", rf"{name} \1"))


_NEGATIONS = (
    *("l", "q", "l/v", "q/v"),
    *("s", "s/su", "s/sui", "t", "t/su", "t/sui", "f", "f/s", "g", "g/s"),
)


# mnemonic -> (our text, objdump's text); the first pattern that matches the whole text counts
ALIASES: dict[str, Rules] = {
    "addl": _rules((rf"addl zero,{_V},{_R}", r"sextl \1,\2")),
    "bic": _rules((r"bic (.*)", r"andnot \1")),
    "bis": _rules(
        (r"bis zero,zero,zero", "nop"),
        (rf"bis zero,zero,{_R}", r"clr \1"),
        (rf"bis zero,{_V},{_R}", r"mov \1,\2"),
        (rf"bis {_R},\1,{_R}", r"mov \1,\2"),
        (r"bis (.*)", r"or \1"),
    ),
    "br": _rules((r"br zero,(\w+)", r"br \1")),
    "call_pal": _rules((r"call_pal 0", "halt"), (r"call_pal 0x2", "draina")),
    "swpipl": _rules((r"swpipl", "call_pal 0x35")),
    "rdps": _rules((r"rdps", "call_pal 0x36")),
    "tbi": _rules((r"tbi", "call_pal 0x33")),
    "cpys": _rules(
        (r"cpys \$f31,\$f31,\$f31", "fnop"),
        (rf"cpys \$f31,\$f31,{_R}", r"fclr \1"),
        (rf"cpys \$f31,{_R},{_R}", r"fabs \1,\2"),
        (rf"cpys {_R},\1,{_R}", r"fmov \1,\2"),
    ),
    "cpysn": _rules((rf"cpysn {_R},\1,{_R}", r"fneg \1,\2")),
    "ldq_u": _rules((r"ldq_u zero,-?\d+\(\w+\)", "unop")),
    "ornot": _rules((rf"ornot zero,{_V},{_R}", r"not \1,\2")),
    **{name: _no_base(name) for name in ("lda", "ldah")},
    **{name: _one_register(name) for name in ("mt_fpcr", "mf_fpcr")},
    **{f"sub{name}": _negation(name) for name in _NEGATIONS},
}
_LITERAL = re.compile(r"(?<=[ ,])(\d+)(?=,|$)")
_HEXADECIMAL = ("operate literal", "unary literal", "pal")  # formats whose immediates it prints so


_JUMP_NAMES = {"jsr_coroutine": "jcr"}


def spelling(insn: Insn, address: int = 0) -> str:
    """What objdump prints for `insn` at `address`."""
    if insn.op.format.name == "jump":
        return _jump(insn, address)
    text = TABLE.text(insn, address)
    if insn.op.format.name in _HEXADECIMAL:
        text = _LITERAL.sub(lambda match: f"{int(match[1]):#x}" if match[1] != "0" else "0", text)
    for pattern, replacement in ALIASES.get(insn.name, ()):
        match = pattern.fullmatch(text)
        if match:
            return match.expand(replacement)
    return text


def _jump(insn: Insn, address: int) -> str:
    """A jump's hint is an address to objdump, or a number, or nothing where it is the usual one."""
    name = _JUMP_NAMES.get(insn.name, insn.name)
    ra, rb = (TABLE.register_names[insn.operand(operand)] for operand in ("ra", "rb"))
    hint = insn.operand("hint")
    if (name, ra, hint) == ("jmp", "zero", 0):
        return f"jmp ({rb})"
    if (name, ra, rb, hint) == ("ret", "zero", "ra", 1):
        return "ret"
    if name in ("ret", "jcr"):
        return f"{name} {ra},({rb}),{hint:#x}" if hint else f"{name} {ra},({rb}),0"
    return f"{name} {ra},({rb}),{(address + 4 + 4 * (hint - (hint >> 13 << 14))) % (1 << 64):x}"


@dataclass
class Listing:
    """A disassembly: lines that do not depend on their address counted, the others placed."""

    plain: Counter[tuple[int, str]] = field(default_factory=Counter)
    placed: list[tuple[int, int, str]] = field(default_factory=list)


# Opcodes whose text depends on where the instruction stands: jumps and branches.
_PLACED = np.isin(np.arange(64), (0x1A, *range(0x30, 0x40)))


def listing(objdump: str, words: Words, addresses: Addresses, *arguments: str | Path) -> Listing:
    """Runs objdump and reads what it prints about `words`."""
    command = [objdump, "-z", "--no-show-raw-insn", *arguments]
    run = subprocess.run(command, capture_output=True, check=True, text=True)
    parts = (line.partition(":\t") for line in run.stdout.split("\n"))
    lines = [text for _, colon, text in parts if colon]
    assert len(lines) == len(words), "objdump sees other instructions"
    result = Listing()
    placed = _PLACED[words >> 26]
    columns = zip(addresses.tolist(), words.tolist(), lines, placed.tolist(), strict=True)
    plain: Counter[tuple[int, str]] = Counter()
    for address, word, line, is_placed in columns:
        if is_placed:
            result.placed.append((address, word, _clean(line)))
        else:
            plain[word, line] += 1
    for (word, line), count in plain.items():
        result.plain[word, _clean(line)] += count
    return result


def _clean(line: str) -> str:
    """The text without tabs and without the symbol that follows an address."""
    return line.partition(" <")[0].replace("\t", " ").rstrip()


def differences(result: Listing) -> tuple[list[str], Counter[str]]:
    """Lines whose text is not ours, and the mnemonics of the words that we do not decode."""
    wrong: list[str] = []
    unknown: Counter[str] = Counter()
    for (word, theirs), count in result.plain.items():
        insn = TABLE.decode(word)
        if insn is None:
            unknown[theirs.partition(" ")[0]] += count
        elif (ours := spelling(insn)) != theirs:
            wrong.append(f"{word:08x}: {ours!r}, objdump {theirs!r}")
    for address, word, theirs in result.placed:
        insn = TABLE.decode(word)
        if insn is None:
            unknown[theirs.partition(" ")[0]] += 1
        elif (ours := spelling(insn, address)) != theirs and ours != theirs.replace("0x", ""):
            # (An address with no symbol near it has a prefix.)
            wrong.append(f"{address:x} {word:08x}: {ours!r}, objdump {theirs!r}")
    return wrong, unknown
