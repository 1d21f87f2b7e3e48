"""One instruction's text to an `Insn`: every row's syntax read backwards, and pseudo-instructions.

The mnemonic is a row's name with completers behind it; a completer that has an empty spelling,
or a usual one (`.sptk`, `.few`, `.s0`), may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Protocol

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind, Operand
from rewriter.core.isa.registers import Reg
from targets.ia64.isa.fields import QP, SLOT, Unit
from targets.ia64.isa.formats import SlotFormat, SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import BR, FR, GR, NUMBERS


class Names(Protocol):
    """What expressions in the text stand for; each raises ValueError for one that it is not."""

    def number(self, text: str) -> int:
        """A number."""
        ...

    def distance(self, text: str) -> int:
        """The address of code, from this bundle."""
        ...

    def register(self, text: str) -> int:
        """The number of a register."""
        ...


REGISTERS: Mapping[str, int] = {
    **NUMBERS,
    **{f"in{n}": GR + 32 + n for n in range(96)},
    **{f"ret{n}": GR + 8 + n for n in range(4)},
    **{f"{name}{n}": FR + 8 + n for name in ("farg", "fret") for n in range(8)},
    "gp": GR + 1,
    "sp": GR + 12,
    "tp": GR + 13,
    "rp": BR,
}

_NUMBER = r"(-?\w+)"
_O = r"([^,=]+)"
_TWO = rf"{_O},{_O}={_O},{_O}"
_I_UNIT = r"ar\.(?:pfs|lc|ec)"  # the application registers of the I unit
_PRECISION = r"((?:\.[sd])?(?:\.s[0-3])?)"

# What stands for an instruction of the table, which may again stand for another.  An `f1` that is
# a factor is the constant 1.0, an `f0` that is added is 0.0.
ALIASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"mov {_O}={_O}", r"adds \1=0,\2"),
        (rf"mov {_O}={_O}", r"addl \1=\2,r0"),
        (rf"mov {_O}={_O}", r"fmerge.s \1=\2,\2"),
        (r"mov (pr=\w+)", r"mov \1,-2"),
        (r"mov([.\w]*) (\w+)=(\w+)", r"mov\1 \2=\3,."),
        (rf"mov ({_I_UNIT}=\S+)", r"mov.i \1"),
        (r"mov (ar\S+)", r"mov.m \1"),
        (rf"mov {_O}=({_I_UNIT})", r"mov.i \1=\2"),
        (rf"mov {_O}=(ar\S+)", r"mov.m \1=\2"),
        (rf"add {_O}={_NUMBER},{_O}", r"adds \1=\2,\3"),
        (rf"add {_O}={_NUMBER},{_O}", r"addl \1=\2,\3"),
        (rf"(cmp4?)\.ne((?:\.unc)?) {_TWO}", r"\1.eq\2 \4,\3=\5,\6"),
        (rf"(cmp4?)\.ge(u?(?:\.unc)?) {_TWO}", r"\1.lt\2 \4,\3=\5,\6"),
        (rf"(cmp4?)\.gt(u?(?:\.unc)?) {_O},{_O}=(r\w+),{_O}", r"\1.lt\2 \3,\4=\6,\5"),
        (rf"(cmp4?)\.le(u?(?:\.unc)?) {_O},{_O}=(r\w+),{_O}", r"\1.lt\2 \4,\3=\6,\5"),
        (rf"(tbit|tnat|tf)\.nz((?:\.unc)?) {_O},{_O}=(\S+)", r"\1.z\2 \4,\3=\5"),
        (rf"fnorm{_PRECISION} {_O}={_O}", r"fma\1 \2=\3,f1,f0"),
        (rf"fadd{_PRECISION} {_O}={_O},{_O}", r"fma\1 \2=\3,f1,\4"),
        (rf"fsub{_PRECISION} {_O}={_O},{_O}", r"fms\1 \2=\3,f1,\4"),
        (rf"(fn?p?n?)mpy{_PRECISION} {_O}={_O},{_O}", r"\1ma\2 \3=\4,\5,f0"),
        (rf"xmpy(\.\w+) {_O}={_O},{_O}", r"xma\1 \2=\3,\4,f0"),
        (r"xma\.lu (\S+)", r"xma.l \1"),
        (rf"(fp?)neg {_O}={_O}", r"\1merge.ns \2=\3,\3"),
        (rf"(fp?)abs {_O}={_O}", r"\1merge.s \2=f0,\3"),
        (rf"(fp?)negabs {_O}={_O}", r"\1merge.ns \2=f0,\3"),
        (r"(brl?)((?:\.[sd]p(?:tk|nt))?(?:\.few|\.many)?(?:\.clr)?) (\S+)", r"\1.cond\2 \3"),
        (r"chk\.s (\S+)", r"chk.s.m \1"),
        (r"chk\.s (\S+)", r"chk.s.i \1"),
        *((rf"(nop|break|hint) {_NUMBER}", rf"\1.{unit} \2") for unit in "mifbx"),
    )
)


def _whole_field(row: str) -> Callable[[re.Match[str]], str]:
    """A shift by a number is a field up to the end of the register."""
    return lambda m: f"{row} {m[1]}={m[2]},{m[3]},{64 - int(m[3], 0)}"


def _below(order: str) -> Callable[[re.Match[str]], str]:
    """A comparison with a number one less; that number does not wrap."""

    def text(match: re.Match[str]) -> str:
        number = int(match[5], 0) - 1
        if match[2].startswith("u") and number < 0:
            raise ValueError("no unsigned number is below 0")
        first, second = (match[3], match[4]) if order == "same" else (match[4], match[3])
        return f"{match[1]}.lt{match[2]} {first},{second}={number},{match[6]}"

    return text


def _frame(match: re.Match[str]) -> str:
    """The sizes of inputs, locals, outputs and rotating registers, as the fields have them."""
    inputs, locals_, outputs, rotating = (int(size, 0) for size in match.groups()[1:])
    own = inputs + locals_
    return f"alloc {match[1]}=ar.pfs,{own + outputs},{own},{rotating}"


_N = r"(-?(?:0x[0-9a-f]+|\d+))"
_COMPUTED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(rf"shl {_O}={_O},{_N}"), _whole_field("dep.z")),
    (re.compile(rf"shr {_O}={_O},{_N}"), _whole_field("extr")),
    (re.compile(rf"shr\.u {_O}={_O},{_N}"), _whole_field("extr.u")),
    (re.compile(rf"(cmp4?)\.le(u?(?:\.unc)?) {_O},{_O}={_N},{_O}"), _below("same")),
    (re.compile(rf"(cmp4?)\.gt(u?(?:\.unc)?) {_O},{_O}={_N},{_O}"), _below("swapped")),
    (re.compile(rf"alloc {_O}=ar\.pfs,{_N},{_N},{_N},{_N}"), _frame),
)

_OTHER_FORM = "operands are not of the form"
_QUALIFIED = re.compile(r"\(\s*([\w.\[\]]+)\s*\)\s*(.+)")


def normal(text: str) -> str:
    """One space behind the mnemonic, none elsewhere."""
    name, *operands = text.split(None, 1)
    return " ".join([name, *("".join(part.split()) for part in operands)])


def instruction(text: str, names: Names, unit: Unit | None = None) -> Insn:
    """The instruction that `text` spells, for a slot of `unit`, or of whichever it needs.

    ValueError for text that is no instruction.
    """
    qualified = _QUALIFIED.fullmatch(text)
    qp = names.register(qualified[1]) if qualified else QP.base
    problems: list[str] = []
    for candidate in _candidates(normal(qualified[2] if qualified else text)):
        mnemonic, _, operands = candidate.partition(" ")
        for op, completers in _rows(mnemonic):
            if unit is None or _stands_in(op, unit):
                given = {**completers, QP.name: qp, SLOT.name: 1 if unit is Unit.I else 0}
                try:
                    return _insn(op, operands, given, names)
                except ValueError as problem:
                    problems.append(str(problem))
    if not problems:
        where = f" of an {unit.name} slot" if unit is not None else ""
        raise ValueError(f"there is no such instruction{where}")
    raise ValueError(min(problems, key=lambda problem: problem.startswith(_OTHER_FORM)))


def _stands_in(op: SlotOp, unit: Unit) -> bool:
    return unit in (Unit.M, Unit.I) if op.unit == "A" else op.unit == unit.name


def _candidates(text: str, depth: int = 2) -> Iterator[str]:
    """The text, then what it may stand for."""
    yield text
    if depth:
        for pattern, replacement in ALIASES:
            if match := pattern.fullmatch(text):
                yield from _candidates(match.expand(replacement), depth - 1)
        for pattern, computed in _COMPUTED:
            if match := pattern.fullmatch(text):
                yield from _candidates(computed(match), depth - 1)


@cache
def _rows(mnemonic: str) -> tuple[tuple[SlotOp, dict[str, int]], ...]:
    """The rows that a mnemonic may be of, with the values of their completers."""
    found = []
    for op in TABLE:
        rest = mnemonic.removeprefix(op.name)
        if isinstance(op, SlotOp) and mnemonic.startswith(op.name) and rest[:1] in ("", "."):
            assert isinstance(op.format, SlotFormat)
            completers = _completed(op.format, rest)
            if completers is not None:
                found.append((op, completers))
    return tuple(found)


def _completed(layout: SlotFormat, text: str) -> dict[str, int] | None:
    """The values of the completers that `text` spells, in order; None if it spells others."""
    head = layout.syntax.partition(" ")[0]
    fields = {operand.name: operand for operand in layout.operands}
    values = {}
    for name in re.findall(r"\{(\w+)\}", head):
        field = fields[name]
        spellings = [(s, n) for n, s in enumerate(field.names) if field.values[n] is not None]
        fitting = [(len(s), n) for s, n in spellings if s and text.startswith(s)]
        if fitting:
            length, values[name] = max(fitting)
            text = text[length:]
        else:
            values[name] = next((n for s, n in spellings if not s), spellings[0][1])
    return None if text else values


@cache
def _pattern(layout: SlotFormat) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\})", layout.syntax.partition(" ")[2])
    return re.compile(
        "".join(
            f"(?P<{part[1:-1]}>[^,=]+?)" if part.startswith("{") else re.escape(part)
            for part in parts
        )
    )


def _insn(op: SlotOp, text: str, given: Mapping[str, int], names: Names) -> Insn:
    layout = op.format
    assert isinstance(layout, SlotFormat)
    match = _pattern(layout).fullmatch(text)
    if match is None:
        raise ValueError(_OTHER_FORM + layout.syntax)
    found = match.groupdict()
    operands = []
    for field in layout.operands:
        if field.name in found:
            operands.append(_operand(field, found[field.name], names))
        else:
            operands.append(given.get(field.name, 0))
    return Insn(op, tuple(operands))


def _operand(field: Operand, text: str, names: Names) -> int:
    if field.kind is Kind.REGISTER:
        number = names.register(text)
        if not field.base <= number < field.base + (1 << field.width):
            raise ValueError(f"{text} cannot be the operand {field.name}")
        return Reg(number)
    if field.names:
        if text in field.names:
            return field.names.index(text)
        raise ValueError(f"{text} is no {field.name}")
    if field.kind is Kind.TARGET:
        return names.distance(text)
    number = names.number(text)
    # A negative number may be written as the 64 bits that it is in a register.
    for same in (number, number - (1 << 64), number + (1 << 64)):
        try:
            field.insert(same)
        except ValueError:
            continue
        return same
    field.insert(number)
    raise AssertionError(field)
