"""Text to bytes in two passes: places first, then words.

loop:   lwzu   r0,4(r4)        # registers by name; conditions as cr1 or 4*cr1+eq
        cmpwi  cr1,r0,BYTES-1  # + and - over numbers and symbols
        bne    cr1,loop        # a branch goes to a label, without a hint
        .p2align 5             # to 2**5 bytes, filled with nop
BYTES = 16                     # also .include NAME
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rewriter.core.readings.machine import ByteOrder
from targets.assembly import Assembled, AssemblyError
from targets.ppc.asm import rows
from targets.ppc.asm.extended import raw, reach, takes_label
from targets.ppc.asm.source import Statement, is_register, statements, value, valued

WORD = 4  # bytes
NOP = 0x60000000
_EQUATE = re.compile(r"([A-Za-z_][\w$]*) ?= ?(.+)")


@dataclass
class _Assembler:
    width: int
    byteorder: ByteOrder
    base: int
    symbols: dict[str, int]
    address: int = 0
    insns: list[tuple[Statement, int]] = field(default_factory=list)

    def place(self, statement: Statement) -> None:
        """Pass one: gives a statement its place."""
        text = statement.text
        if text.endswith(":"):
            self._define(text[:-1], self.address)
        elif equate := _EQUATE.fullmatch(text):
            self._define(equate[1], value(equate[2], self.symbols))
        elif statement.mnemonic == ".p2align":
            boundary = 1 << value(statement.operands, self.symbols)
            while self.address % boundary:
                self._instruction(Statement(statement.file, statement.line, "nop"))
        elif text.startswith("."):
            raise ValueError(f"there is no directive {statement.mnemonic}")
        else:
            self._instruction(statement)

    def word(self, statement: Statement, here: int) -> int:
        """Pass two: the word of an instruction at its address."""
        mnemonic = statement.mnemonic
        operands = valued(statement.operands, self.symbols)
        if takes_label(mnemonic):
            condition, comma, target = operands.rpartition(",")
            distance, farthest = int(target) - here, reach(mnemonic)
            if not -farthest <= distance < farthest:
                raise ValueError(f"the target is {distance} bytes away, {farthest} are reached")
            operands = f"{condition}{comma}{distance}"
        return rows.word(raw(mnemonic, operands), self.width, self.byteorder)

    def _instruction(self, statement: Statement) -> None:
        self.insns.append((statement, self.address))
        self.address += WORD

    def _define(self, name: str, number: int) -> None:
        if name in self.symbols:
            raise ValueError(f"{name} is already defined")
        if is_register(name):
            raise ValueError(f"{name} is a register")
        self.symbols[name] = number


def assemble(
    text: str,
    *,
    width: int,
    byteorder: ByteOrder,
    base: int = 0,
    symbols: Mapping[str, int] | None = None,
    file: str = "text",
    folders: tuple[Path, ...] = (),
) -> Assembled:
    """Assembles `text` to stand at `base`, for a machine of 32 or 64 bits.

    `symbols` are known from outside, `folders` hold what is included.  Raises `AssemblyError` with
    file, line and text of the first statement that cannot be assembled.
    """
    outside = dict(symbols or {})
    state = _Assembler(width, byteorder, base, dict(outside), base)
    for statement in statements(text, file, *folders):
        try:
            state.place(statement)
        except ValueError as problem:
            raise _error(statement, problem) from None
    code = bytearray()
    for statement, here in state.insns:
        try:
            code += state.word(statement, here).to_bytes(WORD, byteorder)
        except ValueError as problem:
            raise _error(statement, problem) from None
    labels = {name: at for name, at in state.symbols.items() if name not in outside}
    return Assembled(bytes(code), base, labels)


def _error(statement: Statement, problem: ValueError) -> AssemblyError:
    return AssemblyError(statement.line, statement.text, str(problem), statement.file)
