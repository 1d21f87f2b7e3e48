"""Instructions by our own table: what a text means, and its word where Keystone knows none."""

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


def check(word: int, text: str, width: int, byteorder: ByteOrder) -> None:
    """ValueError unless the word is the instruction that the text says.

    The text is of the table: `extended.raw`, with a branch's distance as its target.
    """
    found = table(width, byteorder).decode(word)
    if found is None:
        raise ValueError(f"Keystone made {word:#010x}, which is no instruction of {width} bits")
    is_branch = any(operand.kind is Kind.TARGET for operand in found.op.format.operands)
    if is_branch:  # the text of the table has the target in hexadecimal
        front, _, distance = text.rpartition("," if "," in text else " ")
        text = f"{front}{',' if ',' in text else ' '}{int(distance) % (1 << width):x}"
    made = table(width, byteorder).text(found, 0)
    if made != text:
        raise ValueError(f"Keystone made {made!r}, not {text!r}")


def word(text: str, width: int, byteorder: ByteOrder) -> int:
    """The word of a text of the table; ValueError if there is none."""
    rows = table(width, byteorder)
    mnemonic, _, operands = text.partition(" ")
    problem = f"there is no instruction {mnemonic}"
    for op in _named(rows, mnemonic):
        match = _pattern(op).fullmatch(operands)
        if match is None:
            problem = f"operands are not of the form {op.format.syntax}"
            continue
        try:
            return rows.encode(Insn(op, tuple(_values(rows, op, match.groupdict()))))
        except ValueError as misfit:
            problem = str(misfit)
    raise ValueError(problem)


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
    if operand.names:
        return operand.base + operand.scale * operand.names.index(text)
    if operand.kind is Kind.REGISTER:
        return Reg(rows.register_names.index(text))
    return int(text, 0)
