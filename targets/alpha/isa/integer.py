"""Rows: Alpha's integer, memory, control, byte/word, count and multimedia instructions.

Opcodes and functions: Alpha Architecture Handbook v4, appendix C.  `sched` classes are those of
the 21264 Hardware Reference Manual, table 2-4, divided where an older chip tells more apart: icmp
from iadd and ilog, each multiply, locked accesses, each barrier, and sext, which gcc calls a shift.
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Does, Flow, Op
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.alpha.isa import formats as f
from targets.alpha.isa.formats import operate, row, unary
from targets.alpha.meanings import bytewise, control, memory, multimedia
from targets.alpha.meanings.operate import (
    binary,
    compare,
    conditional_move,
    long,
    scaled,
    single,
    test_zero,
    trapping,
)

_add = scaled(1, +1)
_sub = scaled(1, -1)


def _mul(m: Machine, a: Value, b: Value) -> Value:
    return a * b


_ARITHMETIC = (
    ("addl", 0x00, binary(long(_add))),
    ("s4addl", 0x02, binary(long(scaled(4, +1)))),
    ("subl", 0x09, binary(long(_sub))),
    ("s4subl", 0x0B, binary(long(scaled(4, -1)))),
    ("s8addl", 0x12, binary(long(scaled(8, +1)))),
    ("s8subl", 0x1B, binary(long(scaled(8, -1)))),
    ("cmpult", 0x1D, compare(lambda m, a, b: m.ult(a, b))),
    ("addq", 0x20, binary(_add)),
    ("s4addq", 0x22, binary(scaled(4, +1))),
    ("subq", 0x29, binary(_sub)),
    ("s4subq", 0x2B, binary(scaled(4, -1))),
    ("cmpeq", 0x2D, compare(lambda m, a, b: m.eq(a, b))),
    ("s8addq", 0x32, binary(scaled(8, +1))),
    ("s8subq", 0x3B, binary(scaled(8, -1))),
    ("cmpule", 0x3D, compare(lambda m, a, b: m.ule(a, b))),
    ("addl/v", 0x40, trapping(long(_add), "addl/v")),
    ("subl/v", 0x49, trapping(long(_sub), "subl/v")),
    ("cmplt", 0x4D, compare(lambda m, a, b: m.slt(a, b))),
    ("addq/v", 0x60, trapping(_add, "addq/v")),
    ("subq/v", 0x69, trapping(_sub, "subq/v")),
    ("cmple", 0x6D, compare(lambda m, a, b: m.sle(a, b))),
)

_LOGICAL = (
    ("and", 0x00, binary(lambda m, a, b: a & b)),
    ("bic", 0x08, binary(lambda m, a, b: a & ~b)),
    ("bis", 0x20, binary(lambda m, a, b: a | b)),
    ("ornot", 0x28, binary(lambda m, a, b: a | ~b)),
    ("xor", 0x40, binary(lambda m, a, b: a ^ b)),
    ("eqv", 0x48, binary(lambda m, a, b: a ^ ~b)),
)

_CMOV = (
    *(("lbs", 0x14), ("lbc", 0x16), ("eq", 0x24), ("ne", 0x26)),
    *(("lt", 0x44), ("ge", 0x46), ("le", 0x64), ("gt", 0x66)),
)

_SHIFT = (
    ("mskbl", 0x02, bytewise.mask_low(1)),
    ("extbl", 0x06, bytewise.extract_low(1)),
    ("insbl", 0x0B, bytewise.insert_low(1)),
    ("mskwl", 0x12, bytewise.mask_low(2)),
    ("extwl", 0x16, bytewise.extract_low(2)),
    ("inswl", 0x1B, bytewise.insert_low(2)),
    ("mskll", 0x22, bytewise.mask_low(4)),
    ("extll", 0x26, bytewise.extract_low(4)),
    ("insll", 0x2B, bytewise.insert_low(4)),
    ("zap", 0x30, lambda m, a, b: a & ~bytewise.byte_mask(m, b)),
    ("zapnot", 0x31, lambda m, a, b: a & bytewise.byte_mask(m, b)),
    ("mskql", 0x32, bytewise.mask_low(8)),
    ("srl", 0x34, lambda m, a, b: m.lshr(a, b & m.const(63))),
    ("extql", 0x36, bytewise.extract_low(8)),
    ("sll", 0x39, lambda m, a, b: m.shl(a, b & m.const(63))),
    ("insql", 0x3B, bytewise.insert_low(8)),
    ("sra", 0x3C, lambda m, a, b: m.ashr(a, b & m.const(63))),
    ("mskwh", 0x52, bytewise.mask_high(2)),
    ("inswh", 0x57, bytewise.insert_high(2)),
    ("extwh", 0x5A, bytewise.extract_high(2)),
    ("msklh", 0x62, bytewise.mask_high(4)),
    ("inslh", 0x67, bytewise.insert_high(4)),
    ("extlh", 0x6A, bytewise.extract_high(4)),
    ("mskqh", 0x72, bytewise.mask_high(8)),
    ("insqh", 0x77, bytewise.insert_high(8)),
    ("extqh", 0x7A, bytewise.extract_high(8)),
)

_MULTIPLY = (
    ("mull", 0x00, binary(long(_mul))),
    ("mulq", 0x20, binary(_mul)),
    ("umulh", 0x30, binary(lambda m, a, b: m.umulh(a, b))),
    ("mull/v", 0x40, trapping(long(_mul), "mull/v")),
    ("mulq/v", 0x60, trapping(_mul, "mulq/v")),
)

# name, function, lane bits, signed, largest
_MIN_MAX = (
    ("minsb8", 0x38, 8, True, False),
    ("minsw4", 0x39, 16, True, False),
    ("minub8", 0x3A, 8, False, False),
    ("minuw4", 0x3B, 16, False, False),
    ("maxub8", 0x3C, 8, False, True),
    ("maxuw4", 0x3D, 16, False, True),
    ("maxsb8", 0x3E, 8, True, True),
    ("maxsw4", 0x3F, 16, True, True),
)

_COUNT = (
    ("ctpop", 0x30, lambda m, b: m.ctpop(b)),
    ("ctlz", 0x32, lambda m, b: m.ctlz(b)),
    ("cttz", 0x33, lambda m, b: m.cttz(b)),
)

_PACK = (
    ("unpkbw", 0x34, multimedia.spread(16, 4)),
    ("unpkbl", 0x35, multimedia.spread(32, 2)),
    ("pkwb", 0x36, multimedia.gather(16, 4)),
    ("pklb", 0x37, multimedia.gather(32, 2)),
)


def _extend(bits: int) -> Does:
    return single(lambda m, b: m.sext(b, bits))


def _sign_extend_long(m: Machine, value: Value) -> Value:
    return m.sext(value, 32)


# name, opcode, meaning, class, feature
_MEMORY = (
    ("lda", 0x08, memory.lda(1), "lda", ""),
    ("ldah", 0x09, memory.lda(1 << 16), "lda", ""),
    ("ldbu", 0x0A, memory.load(1), "ild", "BWX"),
    ("ldq_u", 0x0B, memory.load_unaligned, "ild", ""),
    ("ldwu", 0x0C, memory.load(2), "ild", "BWX"),
    ("stw", 0x0D, memory.store(2), "ist", "BWX"),
    ("stb", 0x0E, memory.store(1), "ist", "BWX"),
    ("stq_u", 0x0F, memory.store_unaligned, "ist", ""),
    ("ldl", 0x28, memory.load(4, _sign_extend_long), "ild", ""),
    ("ldq", 0x29, memory.load(8), "ild", ""),
    ("ldl_l", 0x2A, memory.load_locked(4), "ld_l", ""),
    ("ldq_l", 0x2B, memory.load_locked(8), "ld_l", ""),
    ("stl", 0x2C, memory.store(4), "ist", ""),
    ("stq", 0x2D, memory.store(8), "ist", ""),
    ("stl_c", 0x2E, memory.store_conditional(4), "st_c", ""),
    ("stq_c", 0x2F, memory.store_conditional(8), "st_c", ""),
)

_BRANCHES = (
    *(("lbc", 0x38), ("eq", 0x39), ("lt", 0x3A), ("le", 0x3B)),
    *(("lbs", 0x3C), ("ne", 0x3D), ("ge", 0x3E), ("gt", 0x3F)),
)
_BRANCH_NAMES = {"lbc": "blbc", "lbs": "blbs"}

# Memory-format jumps: bits 15:14 (Handbook, table 4-4)
_JUMPS = (
    ("jmp", 0, Flow.INDIRECT),
    ("jsr", 1, Flow.INDIRECT_CALL),
    ("ret", 2, Flow.RETURN),
    ("jsr_coroutine", 3, Flow.INDIRECT),
)

# Opcode 18: the function is the displacement field (Handbook, table C-7)
_TRAP_BARRIERS = (("trapb", 0x0000, "trapb"), ("excb", 0x0400, "excb"))
_BARRIERS = (
    ("mb", 0x4000, "mb"),
    ("wmb", 0x4400, "wmb"),
)
_LINE_HINTS = (
    ("fetch", 0x8000, ""),
    ("fetch_m", 0xA000, ""),
    ("ecb", 0xE800, ""),
    ("wh64", 0xF800, "WH64"),
    ("wh64en", 0xFC00, "WH64"),
)
_COUNTERS = (("rpcc", 0xC000), ("rc", 0xE000), ("rs", 0xF000))


def _counter(name: str) -> Does:
    def meaning(m: Machine, ra: Reg) -> None:
        m.event(name)
        m.set(ra, m.observed(name))

    return meaning


def _implementation(name: str) -> Does:
    """AMASK and IMPLVER: what they say depends on the chip alone."""

    def meaning(m: Machine, *operands: Reg) -> None:
        *sources, rc = operands
        m.set(rc, m.opaque(name, *(m.get(s) for s in sources)))

    return meaning


def _operates() -> list[Op]:
    rows: list[Op] = []
    for name, function, meaning in _ARITHMETIC:
        sched = "icmp" if name.startswith("cmp") else "iadd"
        rows += operate(name, 0x10, function, meaning, sched)
    rows += operate("cmpbge", 0x10, 0x0F, binary(bytewise.compare_bytes), "icmp")
    for name, function, meaning in _LOGICAL:
        rows += operate(name, 0x11, function, meaning, "ilog")
    for test, function in _CMOV:
        rows += operate(f"cmov{test}", 0x11, function, conditional_move(test_zero(test)), "cmov")
    for name, function, shift in _SHIFT:
        rows += operate(name, 0x12, function, binary(shift), "ishf")
    for name, function, meaning in _MULTIPLY:
        rows += operate(name, 0x13, function, meaning, f"i{name.partition('/')[0]}")
    rows += unary("amask", 0x11, 0x61, _implementation("amask"), "ilog")
    return rows


def _extensions() -> list[Op]:
    rows: list[Op] = []
    for name, function, bits in (("sextb", 0x00, 8), ("sextw", 0x01, 16)):
        rows += unary(name, 0x1C, function, _extend(bits), "sext", "BWX")
    for name, function, count in _COUNT:
        rows.append(unary(name, 0x1C, function, single(count), "imisc", "CIX")[0])
    for name, function, move in _PACK:
        rows.append(unary(name, 0x1C, function, single(move), "imisc", "MVI")[0])
    rows.append(operate("perr", 0x1C, 0x31, binary(multimedia.pixel_error), "imisc", "MVI")[0])
    for name, function, bits, signed, largest in _MIN_MAX:
        meaning = binary(multimedia.lanes(bits, multimedia.pick(bits, signed, largest)))
        rows += operate(name, 0x1C, function, meaning, "imisc", "MVI")
    return rows


def _memory() -> list[Op]:
    return [
        row(name, f.MEMORY, code << 26, meaning, sched, needs)
        for name, code, meaning, sched, needs in _MEMORY
    ]


def _control() -> list[Op]:
    rows = [
        row("br", f.BRANCH, 0x30 << 26, control.branch_and_link, "br", flow=Flow.JUMP),
        row("bsr", f.BRANCH, 0x34 << 26, control.branch_and_link, "br", flow=Flow.CALL),
    ]
    for test, code in _BRANCHES:
        name = _BRANCH_NAMES.get(test, f"b{test}")
        rows.append(
            row(
                name,
                f.BRANCH,
                code << 26,
                control.branch(test_zero(test)),
                "icbr",
                flow=Flow.BRANCH,
            )
        )
    for name, kind, flow in _JUMPS:
        rows.append(row(name, f.JUMP, 0x1A << 26 | kind << 14, control.jump, "jsr", flow=flow))
    return rows


def _miscellaneous() -> list[Op]:
    base = 0x18 << 26
    rows = [
        row(name, f.BARRIER, base | function, control.barrier(name), sched)
        for name, function, sched in _BARRIERS
    ]
    rows += [
        row(name, f.BARRIER, base | function, control.trap_barrier(name), sched)
        for name, function, sched in _TRAP_BARRIERS
    ]
    for name, function, needs in _LINE_HINTS:
        rows.append(
            row(
                *(name, f.ONE_BASE, base | 31 << 21 | function, control.event(name)),
                *("wh64" if needs else "mem_misc", needs),
            )
        )
    for name, function in _COUNTERS:
        rows.append(row(name, f.ONE_RESULT, base | 31 << 16 | function, _counter(name), "misc"))
    rows.append(
        row(
            "implver",
            f.RESULT_ONLY,
            0x11 << 26 | 31 << 21 | 1 << 13 | 1 << 12 | 0x6C << 5,
            _implementation("implver"),
            "ilog",
        )
    )
    return rows


ROWS = (*_operates(), *_extensions(), *_memory(), *_control(), *_miscellaneous())
