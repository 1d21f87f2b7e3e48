"""Instructions by our own table: the word that a text means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import ByteOrder
from targets.ppc.isa import table
from targets.ppc.isa.formats import CR_BITS
from targets.ppc.isa.table import PpcTable
from targets.ppc.registers import CR

_BITS = ("lt", "gt", "eq", "so")
_BIT = re.compile(r"(?:4\*cr([0-7])\+)?(lt|gt|eq|so)")


def word(text: str, width: int, byteorder: ByteOrder) -> int:
    """The word of a text of the table; ValueError if there is none.

    The text is `extended.raw`, with a branch's distance as its target.
    """
    rows = table(width, byteorder)
    mnemonic, _, operands = text.partition(" ")
    problem = f"there is no instruction {mnemonic} of {width} bits"
    for op in _named(rows, mnemonic):
        match = _pattern(op).fullmatch(operands)
        if match is None:
            problem = f"operands are not of the form {op.format.syntax}"
            continue
        try:
            made = rows.encode(Insn(op, tuple(_values(rows, op, match.groupdict()))))
            _check(rows, made, text)
        except ValueError as misfit:
            problem = str(misfit)
        else:
            return made
    raise ValueError(problem)


def _check(rows: PpcTable, word: int, text: str) -> None:
    """ValueError unless the word, decoded again, is the instruction that the text says."""
    found = rows.decode(word)
    if found is None:
        raise ValueError(f"{word:#010x} is no instruction of {rows.width} bits")
    if any(operand.kind is Kind.TARGET for operand in found.op.format.operands):
        front, comma, distance = text.rpartition("," if "," in text else " ")
        text = f"{front}{comma}{int(distance) % (1 << rows.width):x}"  # as the table writes it
    made = rows.text(found, 0)
    if made != text:
        raise ValueError(f"the word {word:#010x} is {made!r}, not {text!r}")


def _named(rows: PpcTable, mnemonic: str) -> Iterator[Op]:
    return (op for op in rows if op.name == mnemonic)


@cache
def _pattern(op: Op) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\})", op.format.syntax)
    return re.compile(
        "".join(
            f"(?P<{part[1:-1]}>[^,()]+)" if part.startswith("{") else re.escape(part)
            for part in parts
        )
    )


def _values(rows: PpcTable, op: Op, found: dict[str, str]) -> Iterator[int]:
    """The values of a row's operands from their texts."""
    for operand in op.format.operands:
        name = operand.name
        if name in CR_BITS or name.removesuffix("_bit") in CR_BITS:
            bit = _BIT.fullmatch(found[name.removesuffix("_bit")])
            if bit is None:
                raise ValueError(f"{found[name]} is no bit of the condition register")
            yield Reg(CR + int(bit[1] or 0)) if name in CR_BITS else _BITS.index(bit[2])
        else:
            yield _value(rows, operand, found[name])


def _value(rows: PpcTable, operand: Operand, text: str) -> int:
    names = operand.names or (rows.register_names if operand.kind is Kind.REGISTER else ())
    if not names:
        return int(text, 0)
    if text not in names:
        raise ValueError(f"{text} is no register of {operand.name}")
    at = names.index(text)
    return operand.base + operand.scale * at if operand.names else Reg(at)
