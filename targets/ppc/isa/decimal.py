"""Rows: decimal floating point (Power ISA 3.1B, Book I, chapter 5).

A number of quad precision is in two floating-point registers, an even one and the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.families import family
from targets.ppc.isa.features import DFP
from targets.ppc.isa.formats import x
from targets.ppc.meanings.unknown import arithmetic, classifying, comparing, moving

_LONG, _QUAD = partial(x, 59), partial(x, 63)
_RC = 1

# The text of long precision and its shape, those of quad precision, and names with opcodes; quad
# precision has a q behind the name.
_ARITHMETIC = (
    ("frt,fra,frb", "d=dd", "frtp,frap,frbp", "q=qq", "dadd 2 dmul 34 dsub 514 ddiv 546"),
    ("frt,fra,frb,rmc", "d=ddn", "frtp,frap,frbp,rmc", "q=qqn", "dqua 3"),
    ("frt,fra,frb,rmc", "d=ddn", "frtp,fra,frbp,rmc", "q=dqn", "drrnd 35"),
    ("te,frt,frb,rmc", "nd=dn", "te,frtp,frbp,rmc", "nq=qn", "dquai 67"),
    ("r,frt,frb,rmc", "nd=dn", "r,frtp,frbp,rmc", "nq=qn", "drintx 99 drintn 227"),
    ("frt,frb", "d=d", "frt,frbp", "d=q", "dctfix 290"),
    ("s1,frt,frb", "nd=d", "s1,frtp,frbp", "nq=q", "denbcd 834"),
)
_MOVES = (
    ("frt,fra,shd", "d=dn", "frtp,frap,shd", "q=qn", "dscli 66 dscri 98"),
    ("sp,frt,frb", "nd=d", "sp,frtp,frbp", "nq=q", "ddedpd 322"),
    ("frt,frb", "d=d", "frt,frbp", "d=q", "dxex 354"),
    ("frt,fra,frb", "d=dd", "frtp,fra,frbp", "q=dq", "diex 866"),
)
_COMPARES = (("bf,fra,frb", "r=dd", "bf,frap,frbp", "r=qq", "dcmpo 130 dcmpu 642"),)
_TESTS = (
    ("bf,fra,frb", "r=dd", "bf,frap,frbp", "r=qq", "dtstex 162"),
    ("bf,fra,frb", "r=dd", "bf,fra,frbp", "r=dq", "dtstsf 674"),
    ("bf,fra,dcm", "r=dn", "bf,frap,dcm", "r=qn", "dtstdc 194 dtstdg 226"),
)


def _quad(opcodes: str) -> str:
    words = opcodes.split()
    return " ".join(f"{n}q {code}" for n, code in zip(words[::2], words[1::2], strict=True))


def _both() -> Iterator[Op]:
    """What exists in both precisions."""
    kinds = (
        (_ARITHMETIC, arithmetic, _RC),
        (_MOVES, moving, _RC),
        (_COMPARES, comparing, 0),
        (_TESTS, classifying, 0),
    )
    for table, kind, record in kinds:
        for text, shape, quad_text, quad_shape, opcodes in table:
            quad = _quad(opcodes)
            yield from family(text, _LONG, kind(shape), "dfp", DFP, opcodes, record=record)
            yield from family(quad_text, _QUAD, kind(quad_shape), "dfp", DFP, quad, record=record)


def _conversions() -> list[Op]:
    """Between formats, and from integers."""
    one, widened, narrowed = arithmetic("d=d"), arithmetic("q=d"), arithmetic("q=q")
    test = "bf,uim6"
    return [
        *family("frt,frb", _LONG, one, "dfp", DFP, "dctdp 258 drsp 770", record=_RC),
        *family("frtp,frb", _QUAD, widened, "dfp", DFP, "dctqpq 258 dcffixq 802", record=_RC),
        *family("frtp,frbp", _QUAD, narrowed, "dfp", DFP, "drdpq 770", record=_RC),
        *family("frt,frb", _LONG, one, "dfp", "2.06", "dcffix 802", record=_RC),
        *family("frtp,vrb", _QUAD, arithmetic("q=v"), "dfp", "3.1", "dcffixqq 994"),
        *family("vrt,frbp", _QUAD, arithmetic("v=q"), "dfp", "3.1", "dctfixqq 1:994"),
        *family(f"{test},frb", _LONG, classifying("r=nd"), "dfp", "3.0", "dtstsfi 675"),
        *family(f"{test},frbp", _QUAD, classifying("r=nq"), "dfp", "3.0", "dtstsfiq 675"),
    ]


ROWS = (*_both(), *_conversions())
