"""The toy's instructions: 32-bit words, big-endian, a condition register, a link register."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewriter.core.isa.instruction import Does, Flow, Format, Op
from rewriter.core.isa.operands import CountedFrom, Kind, Operand
from rewriter.core.isa.registers import Reg
from rewriter.core.isa.table import Table

WORD, WIDTH = 4, 32
GENERAL = 32
CR, LR = Reg(GENERAL), Reg(GENERAL + 1)
NAMES = (*(f"r{number}" for number in range(GENERAL)), "cr", "lr")
LESS, GREATER, EQUAL = 2, 1, 0
"""Bits of the condition register."""


def _register(name: str, low: int) -> Operand:
    return Operand(name, Kind.REGISTER, ((low, 5),))


RD, RA, RB = _register("rd", 21), _register("ra", 16), _register("rb", 11)
IMMEDIATE = Operand("imm", Kind.IMMEDIATE, ((0, 16),), signed=True)
AMOUNT = Operand("imm", Kind.IMMEDIATE, ((11, 5),))
DISPLACEMENT = Operand("disp", Kind.IMMEDIATE, ((0, 16),), signed=True)
BIT = Operand("bit", Kind.IMMEDIATE, ((21, 2),))
SENSE = Operand("sense", Kind.IMMEDIATE, ((24, 1),))
FAR = Operand("target", Kind.TARGET, ((0, 26),), signed=True, scale=WORD, origin=CountedFrom.HERE)
NEAR = Operand("target", Kind.TARGET, ((0, 16),), signed=True, scale=WORD, origin=CountedFrom.HERE)

BARE = Format("bare", (), "", WORD)
UNARY = Format("unary", (RD, RA), "{rd},{ra}", WORD)
THREE = Format("three", (RD, RA, RB), "{rd},{ra},{rb}", WORD)
SHIFT = Format("shift", (RD, RA, AMOUNT), "{rd},{ra},{imm}", WORD)
SUM = Format("sum", (RD, RA, IMMEDIATE), "{rd},{ra},{imm}", WORD)
COMPARE = Format("compare", (RA, IMMEDIATE), "{ra},{imm}", WORD)
MEMORY = Format("memory", (RD, DISPLACEMENT, RA), "{rd},{disp}({ra})", WORD)
INDEXED = Format("indexed", (RD, RA, RB), "{rd},{ra},{rb}", WORD)
JUMP = Format("jump", (FAR,), "{target}", WORD)
BRANCH = Format("branch", (BIT, SENSE, NEAR), "{bit},{sense},{target}", WORD)
CONDITION = Format("condition", (BIT, SENSE), "{bit},{sense}", WORD)

# What they do ---------------------------------------------------------------------------------


def _sum(m: Any, rd: Reg, ra: Reg, other: Any) -> None:
    m.set(rd, m.get(ra) + m.get(other))


def _recorded(m: Any, rd: Reg, ra: Reg, rb: Reg) -> None:
    value = m.get(ra) + m.get(rb)
    m.set(rd, value)
    m.set(CR, _compared(m, value, m.const(0)))


def _compared(m: Any, a: Any, b: Any) -> Any:
    other = m.ite(m.eq(a, b), m.const(1 << EQUAL), m.const(1 << GREATER))
    return m.ite(m.slt(a, b), m.const(1 << LESS), other)


def _compare(m: Any, ra: Reg, imm: Any) -> None:
    m.set(CR, _compared(m, m.get(ra), imm))


def _shifted(kind: str) -> Does:
    return lambda m, rd, ra, amount: m.set(rd, getattr(m, kind)(m.get(ra), amount))


def _extended(bits: int) -> Does:
    return lambda m, rd, ra: m.set(rd, m.sext(m.get(ra), bits))


def _load(size: int) -> Does:
    return lambda m, rd, disp, ra: m.set(rd, m.load(m.get(ra) + disp, size))


def _load_indexed(m: Any, rd: Reg, ra: Reg, rb: Reg) -> None:
    m.set(rd, m.load(m.get(ra) + m.get(rb), 4))


def _load_update(m: Any, rd: Reg, disp: Any, ra: Reg) -> None:
    address = m.get(ra) + disp
    m.set(rd, m.load(address, 4))
    m.set(ra, address)


def _store(size: int) -> Does:
    return lambda m, rd, disp, ra: m.store(m.get(ra) + disp, m.get(rd), size)


def _holds(m: Any, bit: Any, sense: Any) -> Any:
    return m.eq(m.lshr(m.get(CR), bit) & m.const(1), sense)


def _branch(m: Any, bit: Any, sense: Any, target: Any) -> None:
    m.branch(_holds(m, bit, sense), target)


def _jump(m: Any, target: Any) -> None:
    m.jump(target)


def _call(m: Any, target: Any) -> None:
    m.set(LR, m.next)
    m.jump(target)


def _return(m: Any) -> None:
    m.jump(m.get(LR))


def _return_if(m: Any, bit: Any, sense: Any) -> None:
    m.branch(_holds(m, bit, sense), m.get(LR))


def _nothing(m: Any) -> None:
    pass


def _row(
    name: str, opcode: int, form: Format, does: Callable[..., None], sched: str,
    flow: Flow = Flow.NEXT, needs: str = "",
) -> Op:  # fmt: skip
    mask = (1 << 8 * WORD) - 1
    for operand in form.operands:
        mask &= ~operand.mask
    return Op(name, form, opcode << 26, mask, does, sched, needs, flow)


ROWS = (
    _row("nop", 1, BARE, _nothing, "integer"),
    _row("addi", 2, SUM, _sum, "integer"),
    _row("add", 3, THREE, _sum, "integer"),
    _row("add.", 4, THREE, _recorded, "integer"),
    _row("slwi", 5, SHIFT, _shifted("shl"), "integer"),
    _row("srawi", 6, SHIFT, _shifted("ashr"), "integer"),
    _row("extsb", 7, UNARY, _extended(8), "integer", needs="BWX"),
    _row("extsh", 8, UNARY, _extended(16), "integer", needs="BWX"),
    _row("cmpwi", 9, COMPARE, _compare, "integer"),
    _row("lwz", 10, MEMORY, _load(4), "load"),
    _row("lhz", 11, MEMORY, _load(2), "load"),
    _row("lbz", 12, MEMORY, _load(1), "load"),
    _row("lwzx", 13, INDEXED, _load_indexed, "load"),
    _row("lwzu", 14, MEMORY, _load_update, "load"),
    _row("stw", 15, MEMORY, _store(4), "store"),
    _row("sth", 16, MEMORY, _store(2), "store"),
    _row("stb", 17, MEMORY, _store(1), "store"),
    _row("b", 18, JUMP, _jump, "branch", Flow.JUMP),
    _row("bl", 19, JUMP, _call, "branch", Flow.CALL),
    _row("bc", 20, BRANCH, _branch, "branch", Flow.BRANCH),
    _row("blr", 21, BARE, _return, "branch", Flow.RETURN),
    _row("bclr", 22, CONDITION, _return_if, "branch", Flow.RETURN_IF),
)

TABLE = Table(
    name="toy",
    rows=ROWS,
    word_bits=8 * WORD,
    width=WIDTH,
    byteorder="big",
    aligned=False,
    register_names=NAMES,
)
