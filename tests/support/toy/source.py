"""Toy programs: text to words, and words to an ELF file."""

from __future__ import annotations

import re
import struct

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from tests.support.toy.isa import TABLE, WORD

MACHINE = 0x7E57
BASE = 0x10000
TEXT = BASE + 0x200

_TOKENS = re.compile(r"[^\s,()]+")


def assembled(text: str, start: int = TEXT) -> tuple[bytes, dict[str, int]]:
    """The code of a text, a line an instruction or a label, and where the labels are."""
    lines = [line.strip() for line in text.strip().splitlines()]
    labels: dict[str, int] = {}
    at = start
    for line in lines:
        if line.endswith(":"):
            labels[line[:-1]] = at
        else:
            at += WORD
    words, at = [], start
    for line in lines:
        if not line.endswith(":"):
            words.append(TABLE.encode(_insn(line, at, labels)))
            at += WORD
    return struct.pack(f">{len(words)}I", *words), labels


def _insn(line: str, at: int, labels: dict[str, int]) -> Insn:
    name, *given = _TOKENS.findall(line)
    op = TABLE.find(name)
    values = []
    for operand, token in zip(op.format.operands, given, strict=True):
        if operand.kind is Kind.TARGET:
            values.append(operand.distance(labels[token], at, WORD))
        else:
            values.append(int(token.removeprefix("r"), 0))
    return Insn(op, tuple(values))


def program(text: str) -> bytes:
    """An ELF file, 32-bit and big-endian: labels that begin with a letter are its functions."""
    code, labels = assembled(text)
    starts = sorted((at, name) for name, at in labels.items() if name[0].isalpha())
    ends = [at for at, _ in starts[1:]] + [TEXT + len(code)]
    names, symbols = b"\0", struct.pack(">IIIBBH", 0, 0, 0, 0, 0, 0)
    for (at, name), end in zip(starts, ends, strict=True):
        symbols += struct.pack(">IIIBBH", len(names), at, end - at, 0x12, 0, 1)
        names += name.encode() + b"\0"
    sections = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    parts, at = [], TEXT - BASE + len(code)
    for content in (symbols, names, sections):
        parts.append((at, content))
        at += len(content) + -len(content) % 4
    table = at
    headers = [
        (0,) * 10,
        (1, 1, 6, TEXT, TEXT - BASE, len(code), 0, 0, 4, 0),
        (7, 2, 0, 0, parts[0][0], len(symbols), 3, 1, 4, 16),
        (15, 3, 0, 0, parts[1][0], len(names), 0, 0, 1, 0),
        (23, 3, 0, 0, parts[2][0], len(sections), 0, 0, 1, 0),
    ]
    head = b"\x7fELF\1\2\1".ljust(16, b"\0") + struct.pack(
        ">HHIIIIIHHHHHH", 2, MACHINE, 1, TEXT, 52, table, 0, 52, 32, 1, 40, len(headers), 4
    )
    load = struct.pack(">8I", 1, 0, BASE, BASE, *(TEXT - BASE + len(code),) * 2, 5, 0x1000)
    out = (head + load).ljust(TEXT - BASE, b"\0") + code
    for start, content in parts:
        out = out.ljust(start, b"\0") + content
    return out.ljust(table, b"\0") + b"".join(struct.pack(">10I", *one) for one in headers)
