"""A two-pass assembler on top of the table, for explicit text as GNU `as -x` takes it.

    .rotr w[4]                  // names of rotating registers: w[0] is r32
    limit = r14                 // a name of a register, or of a number
    loop:
    { .mmi                      // a bundle: its template, an instruction for each slot
      (p16) ld8 w[0]=[in0],8
      (p17) xor r8=w[1],limit
      nop.i 0 ;;                // ;; is a stop
    }
    add r9=1,r8 ;;              // outside braces: bundles are chosen by `assembler_groups`
    br.cond.sptk loop ;;

A label is the address of a bundle; a number is decimal, or hexadecimal after 0x.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rewriter.core.isa.instruction import Insn
from targets.assembly import Assembled, AssemblyError, summed
from targets.ia64.asm.groups import Item, packed, units_of
from targets.ia64.asm.text import REGISTERS, Names, instruction
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import Bundle, Template
from targets.ia64.isa.fields import BUNDLE, Unit
from targets.ia64.isa.formats import SLOT2, SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import FR, GR, PR


@dataclass(frozen=True, slots=True)
class _Statement:
    line: int
    text: str
    stop: bool


@dataclass(frozen=True, slots=True)
class _Placed:
    """A bundle in its place, its instructions not yet encoded."""

    address: int
    template: Template
    statements: tuple[_Statement, ...]


_TOKENS = re.compile(r"(;;|[;{}])")
_LABEL = re.compile(r"\s*([A-Za-z_][\w$]*):(?!:)")
_EQUATE = re.compile(r"([A-Za-z_]\w*)\s*=\s*(\S.*)")
_TERM = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|\d+|\.|[A-Za-z_][\w.$]*)")
_ELEMENT = re.compile(r"(\w+)\[([^\]]+)\]")
# The directives that name rotating registers, and the first register of each kind.
_ROTATING = {".rotr": GR + 32, ".rotf": FR + 32, ".rotp": PR + 16}
_FOR_GNU_AS = (".pred.rel", ".explicit", ".text")  # what we do not need
_NOP = _Statement(0, "nop 0", False)


@dataclass
class _Assembler:
    base: int
    symbols: dict[str, int]
    registers: dict[str, int]
    sizes: dict[str, int] = field(default_factory=dict)  # of arrays of rotating registers
    placed: list[_Placed] = field(default_factory=list)
    run: list[_Statement] = field(default_factory=list)  # statements outside braces
    inside: list[_Statement] | None = None  # statements of the bundle between braces
    template: str = ""

    @property
    def address(self) -> int:
        """Where the next bundle goes."""
        return self.base + BUNDLE * len(self.placed)

    # Pass one: places.

    def line(self, number: int, text: str) -> None:
        """Takes one line of the text."""
        for token in _TOKENS.split(text.partition("//")[0]):
            if token == ";;":
                self._stop()
            elif token == "{":
                self.flush()
                self.inside, self.template = [], ""
            elif token == "}":
                self._close()
            elif token != ";":
                self._statement(number, token)

    def _stop(self) -> None:
        statements = self.run if self.inside is None else self.inside
        if not statements or statements[-1].stop:
            raise ValueError("there is no instruction before this stop")
        last = statements.pop()
        statements.append(_Statement(last.line, last.text, True))

    def _statement(self, number: int, text: str) -> None:
        while match := _LABEL.match(text):
            self.flush()
            if self.inside:
                raise ValueError("a label inside a bundle")
            self._define(match[1], self.address)
            text = text[match.end() :]
        text = text.strip()
        if not text or text.startswith(_FOR_GNU_AS):
            return
        if text.startswith("."):
            self._directive(text)
        elif equate := _EQUATE.fullmatch(text):
            self._equate(equate[1], equate[2])
        else:
            statements = self.run if self.inside is None else self.inside
            statements.append(_Statement(number, text, False))

    def _define(self, name: str, value: int) -> None:
        if name in self.symbols or name in self.registers:
            raise ValueError(f"{name} is already defined")
        self.symbols[name] = value

    def _equate(self, name: str, text: str) -> None:
        try:
            register = self.register(text)
        except ValueError:
            self._define(name, self.value(text, self.address))
        else:
            if name in self.symbols:
                raise ValueError(f"{name} is already defined")
            self.registers[name] = register

    def _directive(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        if name in _ROTATING:
            first = _ROTATING[name]
            for array, size in _ELEMENT.findall(rest):
                self.registers[array] = first
                self.sizes[array] = self.value(size, self.address)
                first += self.sizes[array]
        elif name == ".align":
            self.flush(self.value(rest.strip(), self.address) // BUNDLE)
        elif self.inside == [] and not rest:
            self.template = name[1:]
        else:
            raise ValueError(f"there is no directive {name}")

    def _close(self) -> None:
        if self.inside is None:
            raise ValueError("there is no bundle to close")
        self._place(self.template, self.inside)
        self.inside = None

    def _place(self, units: str, statements: list[_Statement]) -> None:
        last = len(statements) - 1
        stops = frozenset(2 if n == last else n for n, s in enumerate(statements) if s.stop)
        letters = [letter for letter in units.upper() if letter in Unit.__members__]
        template = bundles.for_slots([Unit[letter] for letter in letters], stops)
        if template is None:
            raise ValueError(f"no template is {units!r} with stops behind slots {sorted(stops)}")
        if len(statements) != len(template.holders):
            raise ValueError(f"{len(statements)} instructions in a bundle .{units}")
        self.placed.append(_Placed(self.address, template, tuple(statements)))

    def flush(self, multiple: int = 1) -> None:
        """Ends the instructions outside braces: they become bundles, aligned at their end."""
        run, self.run = self.run, []
        here = _Names(self, self.address, placed=False)
        items = [_item(_insn(statement, here, None), statement.stop) for statement in run]
        for filled in packed(items, multiple, -self.address // BUNDLE):
            statements = (_NOP if number is None else run[number] for number in filled.items)
            self.placed.append(_Placed(self.address, filled.template, tuple(statements)))

    # Pass two: words.

    def encoded(self, placed: _Placed) -> bytes:
        """The 16 bytes of a bundle."""
        names = _Names(self, placed.address, placed=True)
        words = [
            TABLE.encode(_insn(statement, names, unit))
            for statement, unit in zip(placed.statements, placed.template.holders, strict=True)
        ]
        return bundles.encode(Bundle(placed.template, tuple(words)))

    # What names stand for.

    def value(self, text: str, here: int) -> int:
        """A sum of numbers and names."""
        return summed(text, here, self.symbols, _TERM)

    def register(self, text: str) -> int:
        """The number of a register, or of an element of an array of rotating ones."""
        element = _ELEMENT.fullmatch(text)
        if element and element[1] in self.sizes:
            index = self.value(element[2], 0)
            if not 0 <= index < self.sizes[element[1]]:
                raise ValueError(f"{element[1]} has no element {index}")
            return self.registers[element[1]] + index
        if text not in self.registers or text in self.sizes:
            raise ValueError(f"{text} is no register")
        return self.registers[text]


@dataclass(frozen=True, slots=True)
class _Names:
    """Names as seen from a bundle; before all bundles are placed every distance is 0."""

    assembler: _Assembler
    here: int
    placed: bool

    def number(self, text: str) -> int:
        return self.assembler.value(text, self.here)

    def distance(self, text: str) -> int:
        return self.number(text) - self.here if self.placed else 0

    def register(self, text: str) -> int:
        return self.assembler.register(text)


def _insn(statement: _Statement, names: Names, unit: Unit | None) -> Insn:
    try:
        insn = instruction(statement.text, names, unit)
        TABLE.encode(insn)  # whether all operands fit
        return insn
    except ValueError as problem:
        raise AssemblyError(statement.line, statement.text, str(problem)) from None


def _item(insn: Insn, stop: bool) -> Item:
    assert isinstance(insn.op, SlotOp)
    return Item(units_of(insn.op.unit), stop, SLOT2 in insn.op.rules)


def assemble(text: str, base: int = 0, symbols: Mapping[str, int] | None = None) -> Assembled:
    """Assembles `text` to stand at `base`; `symbols` are known from outside.

    Raises `AssemblyError` for the first line that cannot be assembled.
    """
    state = _Assembler(base, dict(symbols or {}), dict(REGISTERS))
    number, line = 0, ""
    try:
        for number, line in enumerate(text.splitlines(), 1):
            state.line(number, line)
        state.flush()
    except AssemblyError:
        raise
    except ValueError as problem:
        raise AssemblyError(number, line, str(problem)) from None
    code = b"".join(state.encoded(placed) for placed in state.placed)
    labels = {n: v for n, v in state.symbols.items() if n not in (symbols or {})}
    return Assembled(code, base, labels)
