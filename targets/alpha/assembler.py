"""A two-pass assembler on top of the table: the text that `TABLE.text` prints, and a little more.

    loop:   ldq   t0,8(a1)         # registers by ABI name or $0-$31, $f0-$f31
            lda   a1,table-loop(a1)    # + and - over numbers and labels; . is this address
            mov   a1,v0            # pseudo-instructions: ALIASES, and `ldi reg,constant`
            bne   t0,loop
            .align 4               # to 2**4 bytes, filled with unop
    table:  .quad 1, loop          # also .long, .word (16 bits), .byte, .space, NAME = value

A number is decimal, or hexadecimal after 0x; a branch goes to a label or an absolute address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial

from rewriter.core.isa.instruction import Format, Insn, Op
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.registers import Reg
from targets.alpha.isa.formats import WORD
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import FP, INTEGER_NAMES, PV, ZERO
from targets.assembly import Assembled, AssemblyError, summed

REGISTERS = {
    **{f"${n}": n for n in range(32)},
    **{f"$f{n}": FP + n for n in range(32)},
    **{name: n for n, name in enumerate(INTEGER_NAMES)},
    "pv": PV,
    "s6": INTEGER_NAMES.index("fp"),
}

_A = r"([^,()]+)"
# What stands for one instruction of the table: the first pattern that matches counts.
ALIASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"nop", "bis zero,zero,zero"),
        (r"unop", "ldq_u zero,0(sp)"),
        (r"fnop", "cpys $f31,$f31,$f31"),
        (r"halt", "call_pal 0"),
        (r"draina", "call_pal 2"),
        (rf"clr {_A}", r"bis zero,zero,\1"),
        (rf"fclr {_A}", r"cpys $f31,$f31,\1"),
        (rf"mov {_A},{_A}", r"bis zero,\1,\2"),
        (rf"fmov {_A},{_A}", r"cpys \1,\1,\2"),
        (rf"fneg {_A},{_A}", r"cpysn \1,\1,\2"),
        (rf"fabs {_A},{_A}", r"cpys $f31,\1,\2"),
        (rf"not {_A},{_A}", r"ornot zero,\1,\2"),
        (rf"neg([lq](?:/v)?) {_A},{_A}", r"sub\1 zero,\2,\3"),
        (rf"neg([stfg]\S*) {_A},{_A}", r"sub\1 $f31,\2,\3"),
        (rf"sextl {_A},{_A}", r"addl zero,\1,\2"),
        (r"or (.*)", r"bis \1"),
        (r"andnot (.*)", r"bic \1"),
        (r"xornot (.*)", r"eqv \1"),
        (rf"(m[tf]_fpcr) {_A}", r"\1 \2,\2,\2"),
        (rf"br {_A}", r"br zero,\1"),
        (rf"bsr {_A}", r"bsr ra,\1"),
        (r"ret", "ret zero,(ra),1"),
        (rf"ret \({_A}\)", r"ret zero,(\1),1"),
        (rf"jmp \({_A}\)", r"jmp zero,(\1),0"),
        (rf"jsr \({_A}\)", r"jsr ra,(\1),0"),
        (rf"(jmp|jsr) {_A},\({_A}\)", r"\1 \2,(\3),0"),
        (rf"jcr {_A},\({_A}\),{_A}", r"jsr_coroutine \1,(\2),\3"),
        (rf"(ldah?) {_A},{_A}", r"\1 \2,\3(zero)"),
        (rf"(\w+) {_A},\({_A}\)", r"\1 \2,0(\3)"),
    )
)

_LABEL = re.compile(r"\s*([A-Za-z_][\w$]*):")
_EQUATE = re.compile(r"([A-Za-z_][\w$]*)\s*=\s*(.+)")
_TERM = re.compile(r"\s*([+-]?)\s*(0[xX][0-9a-fA-F]+|\d+|\.|[A-Za-z_][\w$]*)")
_PUNCTUATION = re.compile(r"\s*([-+,()])\s*")
_DATA = {".quad": 8, ".long": 4, ".word": 2, ".byte": 1}
_UNOP = TABLE.encode(Insn(TABLE.find("ldq_u"), (Reg(ZERO), 0, Reg(30))))

Emit = Callable[[int], bytes]  # what a statement becomes, given its address


@dataclass
class _Assembler:
    base: int
    symbols: dict[str, int]
    pieces: list[tuple[int, str, int, Emit]] = field(default_factory=list)
    address: int = 0

    def statement(self, number: int, text: str) -> None:
        """Pass one: gives the statement its place."""
        while match := _LABEL.match(text):
            self._define(match[1], self.address)
            text = text[match.end() :]
        text = text.strip()
        equate = _EQUATE.fullmatch(text)
        if equate:
            self._define(equate[1], self.value(equate[2], self.address))
        elif text:
            size, emit = self._directive(text) if text[0] == "." else self._instruction(text)
            self.pieces.append((number, text, self.address, emit))
            self.address += size

    def _define(self, name: str, value: int) -> None:
        if name in self.symbols:
            raise ValueError(f"{name} is already defined")
        if name in REGISTERS:
            raise ValueError(f"{name} is a register")
        self.symbols[name] = value

    def value(self, text: str, here: int) -> int:
        """A sum of numbers and labels."""
        return summed(text, here, self.symbols, _TERM)

    def _directive(self, text: str) -> tuple[int, Emit]:
        name, _, rest = text.partition(" ")
        values = rest.split(",")
        if name in _DATA:
            size = _DATA[name]
            return size * len(values), lambda here: b"".join(
                (self.value(v, here) % (1 << 8 * size)).to_bytes(size, "little") for v in values
            )
        if name == ".space":
            space = self.value(rest, self.address)
            return space, lambda here: bytes(space)
        if name == ".align":
            gap = -self.address % (1 << self.value(rest, self.address))
            return gap, lambda here: _padding(gap)
        raise ValueError(f"there is no directive {name}")

    def _instruction(self, text: str) -> tuple[int, Emit]:
        text = normal(text)
        name, _, operands = text.partition(" ")
        if name == "ldi":
            register, _, constant = operands.partition(",")
            words = b"".join(
                _little(TABLE.encode(insn))
                for insn in load_constant(_register(register), self.value(constant, self.address))
            )
            return len(words), lambda here: words
        return WORD, partial(self._encode, text)

    def _encode(self, text: str, here: int) -> bytes:
        candidates = [text]
        for pattern, replacement in ALIASES:
            match = pattern.fullmatch(text)
            if match:
                candidates.append(match.expand(replacement))
                break
        problems: list[str] = []
        for candidate in candidates:
            name, _, operands = candidate.partition(" ")
            for op in _rows(name):
                try:
                    return _little(TABLE.encode(self._insn(op, operands, here)))
                except ValueError as problem:
                    problems.append(str(problem))
        if not problems:
            raise ValueError(f"there is no instruction {text.partition(' ')[0]}")
        raise ValueError(problems[-1])

    def _insn(self, op: Op, text: str, here: int) -> Insn:
        match = _pattern(op.format).fullmatch(text)
        if match is None:
            raise ValueError(f"operands are not of the form {op.format.syntax}")
        found = match.groupdict()
        values = [self._operand(o, found.get(o.name), here) for o in op.format.operands]
        return Insn(op, tuple(values))

    def _operand(self, operand: Operand, text: str | None, here: int) -> int:
        if text is None:  # a field that the text does not show
            return operand.base
        if operand.kind is Kind.REGISTER:
            return _register(text, operand.base)
        value = self.value(text, here)
        return value - here - WORD if operand.kind is Kind.TARGET else value


def normal(text: str) -> str:
    """One space after the mnemonic, none around punctuation."""
    name, *operands = text.split(None, 1)
    return " ".join([name, *(_PUNCTUATION.sub(r"\1", text) for text in operands)])


def _register(text: str, file: int = 0) -> Reg:
    """A register of the integer file, or of the floating one that starts at `file`."""
    number = REGISTERS.get(text)
    if number is None or number & FP != file:
        raise ValueError(f"{text} is no {'floating' if file else 'integer'} register")
    return Reg(number)


def _little(word: int) -> bytes:
    return word.to_bytes(WORD, "little")


def _padding(gap: int) -> bytes:
    return bytes(gap % WORD) + _little(_UNOP) * (gap // WORD)


@cache
def _rows(name: str) -> tuple[Op, ...]:
    return tuple(op for op in TABLE if op.name == name)


@cache
def _pattern(form: Format) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\})", form.syntax)
    return re.compile(
        "".join(
            f"(?P<{part[1:-1]}>[^,()]+)" if part.startswith("{") else re.escape(part)
            for part in parts
        )
    )


def load_constant(register: Reg, value: int) -> list[Insn]:
    """Instructions that load any 64-bit constant: at most LDAH, LDA, SLL, LDAH, LDA."""
    value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    low = _signed(value, 16)
    high = (value - low) >> 16
    if -(1 << 15) <= high < 1 << 15:
        return _halves(register, high, low, Reg(ZERO))
    lower = _signed(value, 32)
    # LDAH cannot reach 0x7fff8000 to 0x7fffffff: the sum wraps where its own sign bit is.
    low = _signed(lower, 16)
    high = _signed((lower - low) >> 16, 16)
    upper = (value - ((high << 16) + low)) >> 32
    shift = Insn(TABLE.find("sll", "operate literal"), (register, 32, register))
    rest = _halves(register, high, low, register) if high or low else []
    return [*load_constant(register, _signed(upper, 32)), shift, *rest]


def _signed(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _halves(register: Reg, high: int, low: int, base: Reg) -> list[Insn]:
    insns = [Insn(TABLE.find("ldah"), (register, high, base))] if high else []
    if low or not high:
        insns.append(Insn(TABLE.find("lda"), (register, low, register if high else base)))
    return insns


def assemble(text: str, base: int = 0, symbols: Mapping[str, int] | None = None) -> Assembled:
    """Assembles `text` to stand at `base`; `symbols` are known from outside.

    Raises `AssemblyError` for the first line that cannot be assembled.
    """
    state = _Assembler(base, dict(symbols or {}), address=base)
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0]
        try:
            state.statement(number, line)
        except ValueError as problem:
            raise AssemblyError(number, line, str(problem)) from None
    code = bytearray()
    for number, line, here, emit in state.pieces:
        try:
            code += emit(here)
        except ValueError as problem:
            raise AssemblyError(number, line, str(problem)) from None
    labels = {n: v for n, v in state.symbols.items() if n not in (symbols or {})}
    return Assembled(bytes(code), base, labels)
