"""Rows: Alpha's floating-point instructions.

Arithmetic is an unknown function of its sources and of the FPCR (rounding, disabled traps), and
sets flags there or traps: a proof may pass it but never look into it, drop it or change its order.
Moves, sign copies, conditional moves, loads, stores and longword conversions have their meaning.
Function codes: Alpha Architecture Handbook v4, tables C-2 to C-5.
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Flow, Op
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.alpha.isa import formats as f
from targets.alpha.isa.formats import row
from targets.alpha.meanings import control, memory, operate
from targets.alpha.meanings import floating as does

# Qualifiers: trap bits <10:8> and rounding bits <7:6> of the function (Handbook, table 4-8).
_ROUNDING = (("c", 0x000), ("m", 0x040), ("", 0x080), ("d", 0x0C0))
_IEEE_TRAPS = (("", 0x000), ("u", 0x100), ("su", 0x500), ("sui", 0x700))
_TO_QUAD_TRAPS = (("", 0x000), ("v", 0x100), ("sv", 0x500), ("svi", 0x700))
_FROM_QUAD_TRAPS = (("", 0x000), ("sui", 0x700))
_VAX_ROUNDING = (("c", 0x000), ("", 0x080))
_VAX_TRAPS = (("", 0x000), ("u", 0x100), ("s", 0x400), ("su", 0x500))
_VAX_TO_QUAD_TRAPS = (("", 0x000), ("v", 0x100), ("s", 0x400), ("sv", 0x500))

Qualifiers = tuple[tuple[str, int], ...]


def _qualified(name: str, traps: Qualifiers, rounding: Qualifiers) -> list[tuple[str, int]]:
    """Every qualified spelling of `name`, with the bits that its qualifiers add."""
    spellings = []
    for trap, trap_bits in traps:
        for mode, mode_bits in rounding:
            suffix = f"/{trap}{mode}" if trap or mode else ""
            spellings.append((name + suffix, trap_bits | mode_bits))
    return spellings


# base name, opcode, low function bits, unary, traps, rounding, class
_ARITHMETIC = (
    *(
        (n, 0x16, c, False, _IEEE_TRAPS, _ROUNDING, "fadd")
        for n, c in (("adds", 0x00), ("subs", 0x01), ("addt", 0x20), ("subt", 0x21))
    ),
    *(
        (n, 0x16, c, False, _IEEE_TRAPS, _ROUNDING, "fmul")
        for n, c in (("muls", 0x02), ("mult", 0x22))
    ),
    *(
        (n, 0x16, c, False, _IEEE_TRAPS, _ROUNDING, sched)
        for n, c, sched in (("divs", 0x03, "fdivs"), ("divt", 0x23, "fdivt"))
    ),
    ("cvtts", 0x16, 0x2C, True, _IEEE_TRAPS, _ROUNDING, "fadd"),
    ("cvttq", 0x16, 0x2F, True, _TO_QUAD_TRAPS, _ROUNDING, "fadd"),
    ("cvtqs", 0x16, 0x3C, True, _FROM_QUAD_TRAPS, _ROUNDING, "fadd"),
    ("cvtqt", 0x16, 0x3E, True, _FROM_QUAD_TRAPS, _ROUNDING, "fadd"),
    ("sqrts", 0x14, 0x0B, True, _IEEE_TRAPS, _ROUNDING, "fsqrts"),
    ("sqrtt", 0x14, 0x2B, True, _IEEE_TRAPS, _ROUNDING, "fsqrtt"),
    ("sqrtf", 0x14, 0x0A, True, _VAX_TRAPS, _VAX_ROUNDING, "fsqrts"),
    ("sqrtg", 0x14, 0x2A, True, _VAX_TRAPS, _VAX_ROUNDING, "fsqrtt"),
    *(
        (n, 0x15, c, False, _VAX_TRAPS, _VAX_ROUNDING, "fadd")
        for n, c in (("addf", 0x00), ("subf", 0x01), ("addg", 0x20), ("subg", 0x21))
    ),
    *(
        (n, 0x15, c, False, _VAX_TRAPS, _VAX_ROUNDING, "fmul")
        for n, c in (("mulf", 0x02), ("mulg", 0x22))
    ),
    *(
        (n, 0x15, c, False, _VAX_TRAPS, _VAX_ROUNDING, sched)
        for n, c, sched in (("divf", 0x03, "fdivs"), ("divg", 0x23, "fdivt"))
    ),
    *(
        (n, 0x15, c, True, _VAX_TRAPS, _VAX_ROUNDING, "fadd")
        for n, c in (("cvtdg", 0x1E), ("cvtgf", 0x2C), ("cvtgd", 0x2D))
    ),
    ("cvtgq", 0x15, 0x2F, True, _VAX_TO_QUAD_TRAPS, _VAX_ROUNDING, "fadd"),
    *(
        (n, 0x15, c, True, (("", 0),), _VAX_ROUNDING, "fadd")
        for n, c in (("cvtqf", 0x3C), ("cvtqg", 0x3E))
    ),
)

# name, opcode, function: comparisons and conversions with no rounding
_COMPARE = (
    *((f"cmpt{n}", 0x16, 0x0A4 + i) for i, n in enumerate(("un", "eq", "lt", "le"))),
    *((f"cmpt{n}/su", 0x16, 0x5A4 + i) for i, n in enumerate(("un", "eq", "lt", "le"))),
    *((f"cmpg{n}", 0x15, 0x0A5 + i) for i, n in enumerate(("eq", "lt", "le"))),
    *((f"cmpg{n}/s", 0x15, 0x4A5 + i) for i, n in enumerate(("eq", "lt", "le"))),
)
_WIDEN = (("cvtst", 0x16, 0x2AC), ("cvtst/s", 0x16, 0x6AC))

_MEMORY = (
    ("ldf", 0x20, memory.load(4, does.f_to_register), "fld"),
    ("ldg", 0x21, memory.load(8, does.g_swap), "fld"),
    ("lds", 0x22, memory.load(4, does.s_to_register), "fld"),
    ("ldt", 0x23, memory.load(8), "fld"),
    ("stf", 0x24, memory.store(4, does.register_to_f), "fst"),
    ("stg", 0x25, memory.store(8, does.g_swap), "fst"),
    ("sts", 0x26, memory.store(4, does.register_to_s), "fst"),
    ("stt", 0x27, memory.store(8), "fst"),
)

_BRANCHES = (("eq", 0x31), ("lt", 0x32), ("le", 0x33), ("ne", 0x35), ("ge", 0x36), ("gt", 0x37))
_CMOV = (("eq", 0x2A), ("ne", 0x2B), ("lt", 0x2C), ("ge", 0x2D), ("le", 0x2E), ("gt", 0x2F))

_COPY_SIGN = (
    ("cpys", 0x20, does.copy_sign(lambda m, a: a, 1)),
    ("cpysn", 0x21, does.copy_sign(lambda m, a: ~a, 1)),
    ("cpyse", 0x22, does.copy_sign(lambda m, a: a, 12)),
)


def _single_register(m: Machine, value: Value) -> Value:
    return m.sext(does.register_to_s(m, value), 32)


def _low_long(convert: memory.Convert) -> memory.Convert:
    return lambda m, value: convert(m, m.zext(value, 32))


def _bits(opcode: int, function: int, unary: bool) -> int:
    return opcode << 26 | (31 << 21 if unary else 0) | function << 5


def _arithmetic() -> list[Op]:
    rows = []
    for base, opcode, low, unary, traps, rounding, sched in _ARITHMETIC:
        form = f.FP_UNARY if unary else f.FP_OPERATE
        needs = "FIX" if opcode == 0x14 else ""
        for name, bits in _qualified(base, traps, rounding):
            fixed = _bits(opcode, low | bits, unary)
            rows.append(row(name, form, fixed, does.arithmetic(name), sched, needs))
    for name, opcode, function in _COMPARE:
        rows.append(
            row(name, f.FP_OPERATE, _bits(opcode, function, False), does.arithmetic(name), "fadd")
        )
    for name, opcode, function in _WIDEN:
        fixed = _bits(opcode, function, True)
        rows.append(row(name, f.FP_UNARY, fixed, does.arithmetic(name), "fadd"))
    return rows


def _moves() -> list[Op]:
    rows = [
        row(name, f.FP_OPERATE, _bits(0x17, code, False), meaning, "fcpys")
        for name, code, meaning in _COPY_SIGN
    ]
    for test, code in _CMOV:
        meaning = operate.conditional_move(does.test_fp_zero(test))
        rows.append(row(f"fcmov{test}", f.FP_OPERATE, _bits(0x17, code, False), meaning, "fcmov"))
    rows.append(
        row(
            "cvtlq", f.FP_UNARY, _bits(0x17, 0x010, True), operate.single(does.long_to_quad), "fadd"
        )
    )
    for name, code in (("cvtql", 0x030), ("cvtql/v", 0x130), ("cvtql/sv", 0x530)):
        rows.append(row(name, f.FP_UNARY, _bits(0x17, code, True), does.quad_to_long(name), "fadd"))
    rows.append(row("mt_fpcr", f.FP_OPERATE, _bits(0x17, 0x024, False), _write_fpcr, "fadd"))
    rows.append(row("mf_fpcr", f.FP_OPERATE, _bits(0x17, 0x025, False), _read_fpcr, "fadd"))
    return rows


def _write_fpcr(m: Machine, fa: Reg, fb: Reg, fc: Reg) -> None:
    m.event("mt_fpcr", m.get(fa))


def _read_fpcr(m: Machine, fa: Reg, fb: Reg, fc: Reg) -> None:
    m.event("mf_fpcr")
    m.set(fa, m.observed("mf_fpcr"))


def _between_files() -> list[Op]:
    to_fp = (
        ("itofs", 0x004, _low_long(does.s_to_register)),
        ("itoff", 0x014, _low_long(lambda m, v: does.f_to_register(m, does.swap_words(m, v, 2)))),
        ("itoft", 0x024, None),
    )
    rows = [
        row(n, f.INT_TO_FP, 0x14 << 26 | 31 << 16 | c << 5, does.move_fp(g), "itof", "FIX")
        for n, c, g in to_fp
    ]
    from_fp = (("ftoit", 0x70, None), ("ftois", 0x78, _single_register))
    rows += [
        row(n, f.FP_TO_INT, 0x1C << 26 | 31 << 16 | c << 5, does.move_fp(g), "ftoi", "FIX")
        for n, c, g in from_fp
    ]
    return rows


def _memory() -> list[Op]:
    return [
        row(name, f.FP_MEMORY, code << 26, meaning, sched) for name, code, meaning, sched in _MEMORY
    ]


def _branches() -> list[Op]:
    return [
        row(
            f"fb{test}",
            f.FP_BRANCH,
            code << 26,
            control.branch(does.test_fp_zero(test)),
            "fbr",
            flow=Flow.BRANCH,
        )
        for test, code in _BRANCHES
    ]


ROWS = (*_arithmetic(), *_moves(), *_between_files(), *_memory(), *_branches())
