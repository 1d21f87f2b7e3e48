"""PowerPC's operands, formats made of their text, and how a row is written.

A row is written like this, in a file of `targets/ppc/isa/` for each family, which puts all of its
rows into `ROWS`:

    row("lwz", "rt,d(ra0)", d(32), memory.load(4), "load")
    row("add", "rt,ra,rb", x(31, 266), operate.binary(...), "integer")
    row("vperm", "vrt,vra,vrb,vrc", va(43), ..., "vecperm", "ALTIVEC")

that is: the mnemonic that `objdump -Mraw` prints, the text of the operands, the fixed bits, the
meaning, the scheduling class, and the feature that a CPU must have.  Each name in the text is one
of `OPERANDS` (the manuals' names of the fields, in lower case; 0 behind the name of a register:
the field's 0 means the number zero; the base of an update form is not 0; p behind it: an even one
and the next); everything else in it stands as it is.  All bits that no operand holds are fixed, so
that `x(31, 266)` (and `d`, `md`, `va`, ... with the layout of the extended opcode of each form,
Power ISA 3.1B, Book I, section 1.6) gives the opcodes alone.

Bits are counted as in a shift, the least significant is 0: the manual's bit n is 31 - n.  A
prefixed instruction is one word of 64 bits, the prefix above the suffix; `prefix` gives its bits.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from rewriter.core.isa.instruction import Does, Flow, Format, Op
from rewriter.core.isa.operands import CountedFrom, Kind, Operand, Piece
from targets.ppc.registers import CR, FPR, GPR, VR, VSR, ZERO

WORD = 4  # bytes
PREFIX = 32  # the lowest bit of a prefix
_WORD_BITS = 0xFFFFFFFF
_PREFIXED = 1 << 26 + PREFIX  # primary opcode 1

CR_BIT = ("lt", "gt", "eq", "so")

# Operands ----------------------------------------------------------------------------------

_FIELDS = {"t": 21, "s": 21, "a": 16, "b": 11, "c": 6}
"""The lowest bit of the 5-bit fields that name registers: target, source, A, B and C."""


def _register(
    name: str, *pieces: Piece, base: int, scale: int = 1, names: tuple[str, ...] = ()
) -> Operand:
    return Operand(name, Kind.REGISTER, pieces, base=base, scale=scale, names=names)


def _number(
    name: str, *pieces: Piece, signed: bool = False, scale: int = 1, base: int = 0
) -> Operand:
    return Operand(name, Kind.IMMEDIATE, pieces, signed=signed, scale=scale, base=base)


def _selector(name: str, *pieces: Piece, values: tuple[int | None, ...] = ()) -> Operand:
    return Operand(name, Kind.SELECTOR, pieces, values=values)


def _target(name: str, width: int, origin: CountedFrom) -> Operand:
    return Operand(name, Kind.TARGET, ((2, width),), signed=True, scale=WORD, origin=origin)


_SPELLED = tuple(f"vs{n}" for n in range(64))
"""How instructions of VSX spell the vector-scalar registers."""


def _files() -> list[Operand]:
    """Registers of the 5-bit fields, those of the 6-bit fields of VSX, and their pairs."""
    bases = {"r": GPR, "fr": FPR, "vr": VR}
    found = [
        _register(f"{file}{field}", (low, 5), base=base)
        for file, base in bases.items()
        for field, low in _FIELDS.items()
    ]
    zero_or = (ZERO, *range(1, 32))
    found += [
        Operand(f"r{field}0", Kind.REGISTER, ((low, 5),), values=zero_or)
        for field, low in _FIELDS.items()
        if field in "ab"
    ]
    found += [_register(name, (22, 4), base=GPR, scale=2) for name in ("rtp", "rsp")]
    found.append(Operand("ran", Kind.REGISTER, ((16, 5),), values=(None, *range(1, 32))))
    extra = {"t": 0, "s": 0, "a": 2, "b": 1, "c": 3}  # the sixth bit
    found += [
        _register(f"x{field}", (low, 5), (extra[field], 1), base=VSR, names=_SPELLED)
        for field, low in _FIELDS.items()
    ]
    return found


_GENERAL = tuple(f"r{n}" for n in range(32))
_CR_BIT_NAMES = tuple(
    f"4*cr{field}+{bit}" if field else bit for field in range(8) for bit in CR_BIT
)

_ONE_FIELD = tuple(mask if mask.bit_count() == 1 else None for mask in range(256))

_PLAIN = (
    # Numbers
    _number("d", (0, 16), signed=True),
    _number("ds", (2, 14), signed=True, scale=4),
    _number("dq", (4, 12), signed=True, scale=16),
    _number("si", (0, 16), signed=True),
    _number("ui", (0, 16)),
    _number("d34", (0, 16), (PREFIX, 18), signed=True),
    # What selects: lengths and ends of masks, conditions, special registers, fields
    _selector("sh", (11, 5)),
    _selector("sh6", (11, 5), (1, 1)),
    _selector("mb", (6, 5)),
    _selector("me", (1, 5)),
    _selector("mb6", (6, 5), (5, 1)),
    _selector("bh", (11, 2)),
    _selector("to", (21, 5)),
    _selector("fxm", (12, 8)),
    _selector("fxm_one", (12, 8), values=_ONE_FIELD),
    _selector("spr", (16, 5), (11, 5)),
    _selector("nb", (11, 5), values=(32, *range(1, 32))),
    _selector("l", (21, 1)),
    _selector("th", (21, 5)),
    _selector("eh", (0, 1)),
    _selector("fc", (11, 5)),
    _selector("sr", (16, 4)),
    _selector("flushed", (21, 3), values=(0, 1, None, 3, 4, None, 6, None)),
    _selector("synced", (21, 3), values=(0, 1, 2, None, 4, 5, None, None)),
    _selector("sc", (16, 2)),
    _selector("wc", (21, 2), values=(0, 1, 2, None)),
    _selector("l16", (16, 1)),
    _selector("l2", (16, 2)),
    _selector("ih", (21, 3)),
    _selector("ric", (18, 2)),
    _selector("prs", (17, 1)),
    _selector("a25", (25, 1)),
    _selector("bhrbe", (11, 10)),
    _number("hashdisp", (21, 5), (0, 1), scale=8, base=-512),
    _number("si5", (11, 5), signed=True),
    _number("lev", (5, 7)),
    _number("dx", (0, 1), (16, 5), (6, 10), signed=True),
    Operand("bi_any", Kind.IMMEDIATE, ((16, 5),), names=_CR_BIT_NAMES),
    Operand("rt_many", Kind.SELECTOR, ((21, 5),), names=_GENERAL),
    Operand("rs_many", Kind.SELECTOR, ((21, 5),), names=_GENERAL),
    # Floating point: fields of the FPSCR, digits, rounding; two registers of quad precision
    _selector("flm", (17, 8)),
    _selector("l25", (25, 1)),
    _selector("w", (16, 1)),
    _selector("u", (12, 4)),
    _selector("bff", (23, 3)),
    _selector("btf", (21, 5)),
    Operand("bfs", Kind.SELECTOR, ((18, 3),), names=tuple(f"cr{n}" for n in range(8))),
    _selector("drm", (11, 3)),
    _selector("rm", (11, 2)),
    _selector("r", (16, 1)),
    _selector("rmc", (9, 2)),
    _number("te", (16, 5), signed=True),
    _selector("sp", (19, 2)),
    _selector("s1", (20, 1)),
    _selector("shd", (10, 6)),
    _selector("dcm", (10, 6)),
    _selector("uim6", (16, 6)),
    *(_register(f"fr{field}p", (low + 1, 4), base=FPR, scale=2) for field, low in _FIELDS.items()),
    # Vectors: elements, shifts, immediates
    *(_selector(f"uim{width}", (16, width)) for width in (2, 3, 4, 5)),
    _number("sim", (16, 5), signed=True),
    _number("bm", (0, 1), (16, 5), (6, 10), signed=True),
    _selector("n", (16, 3), values=(None, None, *range(2, 8))),
    _selector("shb", (6, 4)),
    _selector("sh3", (6, 3)),
    _selector("st", (15, 1)),
    _selector("six", (11, 4)),
    _selector("ps", (9, 1)),
    _selector("mp", (16, 1)),
    _selector("strm", (21, 2)),
    _selector("dm", (8, 2)),
    _selector("imm8", (11, 8)),
    _selector("uimb", (11, 5)),
    _selector("dcmx", (16, 7)),
    _selector("dcmxs", (16, 5), (2, 1), (6, 1)),
    _register("xtp", (22, 4), (21, 1), base=VSR, scale=2, names=_SPELLED[::2]),
    _register("xtq", (21, 5), (3, 1), base=VSR, names=_SPELLED),
    # Prefixed vectors
    _register("xt26", (21, 5), (26, 1), base=VSR, names=_SPELLED),
    _register("xt16", (21, 5), (16, 1), base=VSR, names=_SPELLED),
    _register("acc", (23, 3), base=VSR, scale=4, names=tuple(f"a{n}" for n in range(8))),
    _register("xap", (17, 4), (2, 1), base=VSR, scale=2, names=_SPELLED[::2]),
    _selector("xmsk", (PREFIX + 4, 4)),
    _selector("ymsk", (PREFIX, 4)),
    _selector("ymsk2", (PREFIX + 2, 2)),
    *(_selector(f"pmsk{width}", (PREFIX + 16 - width, width)) for width in (2, 4, 8)),
    _selector("ix", (17, 1)),
    _selector("imm32", (0, 16), (PREFIX, 16)),
    _selector("uim3p", (PREFIX, 3)),
    _selector("imm8p", (PREFIX, 8)),
    # Fields of the condition register
    _register("bf", (23, 3), base=CR),
    _register("bfa", (18, 3), base=CR),
    # Targets of branches
    _target("li", 24, CountedFrom.HERE),
    _target("li_abs", 24, CountedFrom.ZERO),
    _target("bd", 14, CountedFrom.HERE),
    _target("bd_abs", 14, CountedFrom.ZERO),
)


class Hint(NamedTuple):
    """A part of the BO field that is free, and the values of the whole field."""

    pieces: tuple[Piece, ...]
    values: tuple[int | None, ...]

    @property
    def fixed(self) -> int:
        """The bits of BO that are not free."""
        return self.values[0] or 0


_LOWEST, _LOW_TWO, _AROUND = ((21, 1),), ((21, 2),), ((21, 1), (24, 1))
BRANCH_HINTS = {
    "bo_nz_f": Hint(_LOWEST, (0, 1)),
    "bo_z_f": Hint(_LOWEST, (2, 3)),
    "bo_f": Hint(_LOW_TWO, (4, 5, 6, 7)),
    "bo_nz_t": Hint(_LOWEST, (8, 9)),
    "bo_z_t": Hint(_LOWEST, (10, 11)),
    "bo_t": Hint(_LOW_TWO, (12, 13, 14, 15)),
    "bo_nz": Hint(_AROUND, (16, 17, 24, 25)),
    "bo_z": Hint(_AROUND, (18, 19, 26, 27)),
    "bo_always": Hint(((21, 2), (24, 1)), (20, *[None] * 7)),
}
"""What a branch asks for is in the fixed bits of BO, so that each question has rows of its own;
what is left of it are hints.  A branch that does not look at a bit has a BI field all the same."""

CR_BITS = {"bt": 21, "ba": 16, "bb": 11, "bi": 16, "bc": 6}
"""A bit of the condition register is two operands: its field, and `NAME_bit`, which bit of it
(0 is the most significant).  The text has one name for both."""

OPERANDS: dict[str, Operand] = {
    operand.name: operand
    for operand in (
        *_files(),
        *_PLAIN,
        *(_register(name, (low + 2, 3), base=CR) for name, low in CR_BITS.items()),
        *(_selector(f"{name}_bit", (low, 2)) for name, low in CR_BITS.items()),
        *(
            Operand(name, Kind.IMMEDIATE, hint.pieces, values=hint.values)
            for name, hint in BRANCH_HINTS.items()
        ),
    )
}

_NAME = re.compile(r"(?!r\d)[a-z]\w*")  # r31 is itself


@cache
def form(text: str, size: int = WORD) -> Format:
    """The format whose operands are those that its text names."""
    operands = []
    for name in _NAME.findall(text):
        operands.append(OPERANDS[name])
        if name in CR_BITS:
            operands.append(OPERANDS[f"{name}_bit"])
    return Format(text, tuple(operands), _NAME.sub(r"{\g<0>}", text), size)


# Opcodes -----------------------------------------------------------------------------------


def d(primary: int, extended: int = 0) -> int:
    """D, DS and DQ forms, and I and B, whose extended opcode is in the lowest bits."""
    return primary << 26 | extended


def x(primary: int, extended: int, rc: int = 0) -> int:
    """X and XL forms, XO with OE in its extended opcode, XFX, XX1: 10 bits above Rc, LK, or TX."""
    return primary << 26 | extended << 1 | rc


def a(primary: int, extended: int, rc: int = 0) -> int:
    """A form, 5 bits above Rc, and MDS, 4 bits."""
    return primary << 26 | extended << 1 | rc


def md(primary: int, extended: int, rc: int = 0) -> int:
    """MD form: 3 bits above the sixth bit of the length of the shift."""
    return primary << 26 | extended << 2 | rc


def vx(extended: int) -> int:
    """VX and VC forms: 11 bits, or 10 with Rc above them (bit 10)."""
    return 4 << 26 | extended


def va(extended: int) -> int:
    """VA form: 6 bits."""
    return 4 << 26 | extended


def xx2(extended: int) -> int:
    """XX2 form: 9 bits above BX and TX."""
    return 60 << 26 | extended << 2


def xx3(extended: int, rc: int = 0) -> int:
    """XX3 form: 8 bits above AX, BX and TX; compares have Rc above 7 (bit 10)."""
    return 60 << 26 | extended << 3 | rc << 10


def xx4(extended: int) -> int:
    """XX4 form: 2 bits above CX, AX, BX and TX."""
    return 60 << 26 | extended << 4


def prefix(kind: int, form: int, suffix: int) -> int:
    """A prefixed instruction: the type (2 bits) and form of the prefix, and the suffix.

    Types are 0 (8LS), 1 (8RR or 8MRR), 2 (MLS), 3 (MRR); `form` is the ST4 or ST1 field with the
    bit below it, as the prefix's manual bits 8 to 11.
    """
    return _PREFIXED | kind << 24 + PREFIX | form << 20 + PREFIX | suffix


# Rows --------------------------------------------------------------------------------------


def row(
    name: str,
    text: str,
    bits: int,
    does: Does,
    sched: str,
    needs: str = "",
    flow: Flow = Flow.NEXT,
) -> Op:
    """A row whose mask is every bit that no operand holds."""
    size = 2 * WORD if bits & _PREFIXED else WORD
    fields = form(text, size)
    mask = _WORD_BITS << PREFIX | _WORD_BITS
    for operand in fields.operands:
        assert not operand.mask & bits, (name, operand)
        mask &= ~operand.mask
    return Op(name, fields, bits, mask, does, sched, needs, flow)
