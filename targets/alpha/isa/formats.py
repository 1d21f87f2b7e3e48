"""Alpha's instruction formats (Alpha Architecture Handbook v4, section 3.3), and row makers."""

from __future__ import annotations

from rewriter.core.isa.instruction import Does, Flow, Format, Op
from rewriter.core.isa.operands import Kind, Operand
from targets.alpha.registers import FP

WORD = 4  # bytes


def _register(name: str, low: int, base: int = 0) -> Operand:
    return Operand(name, Kind.REGISTER, ((low, 5),), base=base)


RA, RB, RC = _register("ra", 21), _register("rb", 16), _register("rc", 0)
FA, FB, FC = _register("fa", 21, FP), _register("fb", 16, FP), _register("fc", 0, FP)
LIT = Operand("rb", Kind.IMMEDIATE, ((13, 8),))
DISP = Operand("disp", Kind.IMMEDIATE, ((0, 16),), signed=True)
TARGET = Operand("target", Kind.TARGET, ((0, 21),), signed=True, scale=WORD)
HINT = Operand("hint", Kind.IMMEDIATE, ((0, 14),))
PAL = Operand("function", Kind.IMMEDIATE, ((0, 26),))

OPERATE = Format("operate", (RA, RB, RC), "{ra},{rb},{rc}", WORD)
OPERATE_LITERAL = Format("operate literal", (RA, LIT, RC), "{ra},{rb},{rc}", WORD)
FP_OPERATE = Format("fp operate", (FA, FB, FC), "{fa},{fb},{fc}", WORD)
FP_UNARY = Format("fp unary", (FB, FC), "{fb},{fc}", WORD)
MEMORY = Format("memory", (RA, DISP, RB), "{ra},{disp}({rb})", WORD)
FP_MEMORY = Format("fp memory", (FA, DISP, RB), "{fa},{disp}({rb})", WORD)
BRANCH = Format("branch", (RA, TARGET), "{ra},{target}", WORD)
FP_BRANCH = Format("fp branch", (FA, TARGET), "{fa},{target}", WORD)
JUMP = Format("jump", (RA, RB, HINT), "{ra},({rb}),{hint}", WORD)
PALCODE = Format("pal", (PAL,), "{function}", WORD)
BARE = Format("bare", (), "", WORD)
# The chip ignores a barrier's registers, assemblers differ in them: kept, but not shown.
BARRIER = Format("barrier", (RA, RB), "", WORD)
ONE_BASE = Format("base", (RB,), "({rb})", WORD)
ONE_RESULT = Format("result", (RA,), "{ra}", WORD)
RESULT_ONLY = Format("operate result", (RC,), "{rc}", WORD)
FP_TO_INT = Format("fp to integer", (FA, RC), "{fa},{rc}", WORD)
INT_TO_FP = Format("integer to fp", (RA, FC), "{ra},{fc}", WORD)
UNARY = Format("unary", (RB, RC), "{rb},{rc}", WORD)
UNARY_LITERAL = Format("unary literal", (LIT, RC), "{rb},{rc}", WORD)

_ALL = 0xFFFFFFFF


def row(
    name: str,
    form: Format,
    match: int,
    does: Does,
    sched: str,
    needs: str = "",
    flow: Flow = Flow.NEXT,
) -> Op:
    """A row whose mask is every bit that no operand holds."""
    mask = _ALL
    for operand in form.operands:
        mask &= ~operand.mask
    return Op(name, form, match & mask, mask, does, sched, needs, flow)


def operate(
    name: str, opcode: int, function: int, does: Does, sched: str, needs: str = ""
) -> tuple[Op, Op]:
    """Both forms of an integer operate instruction: register, and 8-bit literal (bit 12 set)."""
    bits = opcode << 26 | function << 5
    return (
        row(name, OPERATE, bits, does, sched, needs),
        row(name, OPERATE_LITERAL, bits | 1 << 12, does, sched, needs),
    )


def unary(
    name: str, opcode: int, function: int, does: Does, sched: str, needs: str = ""
) -> tuple[Op, Op]:
    """Both forms of an integer operate instruction whose Ra must be $31."""
    bits = opcode << 26 | 31 << 21 | function << 5
    return (
        row(name, UNARY, bits, does, sched, needs),
        row(name, UNARY_LITERAL, bits | 1 << 12, does, sched, needs),
    )
