"""Rows: scalar floating point (Power ISA 3.1B, Book I, chapter 4).

Arithmetic is an unknown function of its sources and of the controls in the FPSCR.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.families import family
from targets.ppc.isa.features import GRAPHICS, SQRT, wide
from targets.ppc.isa.formats import a, d, row, x
from targets.ppc.meanings import floating as does
from targets.ppc.meanings.unknown import Maker, arithmetic, comparing, moving, pure
from targets.ppc.registers import FPSCR_CONTROLS, FPSCR_RESULT

_X59, _X63 = partial(x, 59), partial(x, 63)
_A59, _A63 = partial(a, 59), partial(a, 63)
_TWO, _ONE = "frt,fra,frb", "frt,frb"
_RC = 1

_sum, _product, _fused = arithmetic("d=dd"), arithmetic("d=dd"), arithmetic("d=ddd")
_unary = arithmetic("d=d")


def _arithmetic() -> list[Op]:
    fused = "frt,fra,frc,frb"
    return [
        *family(_TWO, _A63, _sum, "fp", "", "fsub 20 fadd 21", record=_RC),
        *family(_TWO, _A59, _sum, "fp", "", "fsubs 20 fadds 21", record=_RC),
        *family(_TWO, _A63, _sum, "ddiv", "", "fdiv 18", record=_RC),
        *family(_TWO, _A59, _sum, "sdiv", "", "fdivs 18", record=_RC),
        *family("frt,fra,frc", _A63, _product, "dmul", "", "fmul 25", record=_RC),
        *family("frt,fra,frc", _A59, _product, "fp", "", "fmuls 25", record=_RC),
        *family(fused, _A63, _fused, "fp", "", "fmsub 28 fmadd 29 fnmsub 30 fnmadd 31", record=_RC),
        *family(
            fused, _A59, _fused, "fp", "", "fmsubs 28 fmadds 29 fnmsubs 30 fnmadds 31", record=_RC
        ),
        *family(_ONE, _A63, _unary, "dsqrt", SQRT, "fsqrt 22", record=_RC),
        *family(_ONE, _A59, _unary, "ssqrt", SQRT, "fsqrts 22", record=_RC),
        *family(_ONE, _A63, _unary, "fp", GRAPHICS, "frsqrte 26", record=_RC),
        *family(_ONE, _A59, _unary, "fp", GRAPHICS, "fres 24", record=_RC),
        *family(_ONE, _A63, _unary, "fp", "2.02", "fre 24", record=_RC),
        *family(_ONE, _A59, _unary, "fp", "2.02", "frsqrtes 26", record=_RC),
    ]


def _conversions() -> list[Op]:
    return [
        *family(_ONE, _X63, _unary, "fp", "", "frsp 12 fctiw 14 fctiwz 15", record=_RC),
        *family(_ONE, _X63, _unary, "fp", wide(), "fctid 814 fctidz 815 fcfid 846", record=_RC),
        *family(
            _ONE,
            _X63,
            _unary,
            "fp",
            "2.06",
            "fctiwu 142 fctiwuz 143 fctidu 942 fctiduz 943 fcfidu 974",
            record=_RC,
        ),
        *family(_ONE, _X59, _unary, "fp", "2.06", "fcfids 846 fcfidus 974", record=_RC),
        *family(
            _ONE, _X63, _unary, "fp", "2.03", "frin 392 friz 424 frip 456 frim 488", record=_RC
        ),
    ]


def _moves() -> list[Op]:
    return [
        *family(_ONE, _X63, does.copy(does.NEGATED), "fpsimple", "", "fneg 40", record=_RC),
        *family(_ONE, _X63, does.copy(does.SAME), "fpsimple", "", "fmr 72", record=_RC),
        *family(_ONE, _X63, does.copy(does.NEGATIVE), "fpsimple", "", "fnabs 136", record=_RC),
        *family(_ONE, _X63, does.copy(does.POSITIVE), "fpsimple", "", "fabs 264", record=_RC),
        *family("frt,fra,frc,frb", _A63, moving("d=ddd"), "fp", GRAPHICS, "fsel 23", record=_RC),
        *family(_TWO, _X63, does.copy_sign, "fpsimple", "2.05", "fcpsgn 8", record=_RC),
        *family(_TWO, _X63, does.merge(even=False), "fpsimple", "2.07", "fmrgow 838"),
        *family(_TWO, _X63, does.merge(even=True), "fpsimple", "2.07", "fmrgew 966"),
    ]


def _compares() -> list[Op]:
    text = "bf,fra,frb"
    return [
        *family(text, _X63, comparing("r=dd"), "fpcompare", "", "fcmpu 0 fcmpo 32"),
        *family(text, _X63, pure("r=dd"), "fpcompare", "2.06", "ftdiv 128"),
        *family("bf,frb", _X63, pure("r=d"), "fpcompare", "2.06", "ftsqrt 160"),
    ]


def _status() -> list[Op]:
    """The FPSCR."""
    read = does.reading("d=", *does.ALL)
    controls = (FPSCR_CONTROLS,)
    exchange = does.reading("d=d", *controls, sets=controls)
    exchange_number = does.reading("d=n", *controls, sets=controls)
    quiet = does.reading("d=", *does.ALL, sets=controls)
    light = does.reading("d=", FPSCR_CONTROLS, FPSCR_RESULT)
    return [
        row("mcrfs", "bf,bfs", x(63, 64), does.take_field, "fp"),
        *family("frt", _X63, read, "fp", "", "mffs 583", record=_RC),
        *family("frt", _X63, quiet, "fp", "3.0B", "mffsce 1:583"),
        *family("frt,frb", _X63, exchange, "fp", "3.0B", "mffscdrn 20:583 mffscrn 22:583"),
        *family("frt,drm", _X63, exchange_number, "fp", "3.0B", "mffscdrni 21:583"),
        *family("frt,rm", _X63, exchange_number, "fp", "3.0B", "mffscrni 23:583"),
        *family("frt", _X63, light, "fp", "3.0B", "mffsl 24:583"),
        *family("btf", _X63, does.set_bit, "fp", "", "mtfsb1 38 mtfsb0 70", record=_RC),
        *family("bff,u,w", _X63, does.set_field, "fp", "", "mtfsfi 134", record=_RC),
        *family("flm,frb,l25,w", _X63, does.set_fields, "fp", "", "mtfsf 711", record=_RC),
    ]


# The name, the opcodes of the D form and of the indexed one, what is loaded or stored.
_LOADS = (("lfs", 48, 535, does.load_single), ("lfd", 50, 599, does.load_double))
_STORES = (("stfs", 52, 663, does.store_single), ("stfd", 54, 727, does.store_double))


def _forms(
    name: str, reg: str, primary: int, extended: int, access: Callable[..., Maker], sched: str
) -> list[Op]:
    """An access with all ways to say where; `access` makes its meaning, with the position of the
    operand that is updated."""
    plain, displaced, indexed = access(), access(base=2), access(base=1)
    update, updating = 1, 32  # what is added to the opcode
    return [
        row(name, f"{reg},d(ra0)", d(primary), plain(name), sched),
        row(f"{name}u", f"{reg},d(ran)", d(primary + update), displaced(name), f"{sched}-u"),
        row(f"{name}x", f"{reg},ra0,rb", x(31, extended), plain(name), sched),
        row(f"{name}ux", f"{reg},ran,rb", x(31, extended + updating), indexed(name), f"{sched}-ux"),
    ]


def _memory() -> list[Op]:
    rows = []
    for name, primary, extended, load in _LOADS:
        rows += _forms(name, "frt", primary, extended, partial(does.loading, load), "fpload")
    for name, primary, extended, store in _STORES:
        rows += _forms(name, "frs", primary, extended, partial(does.storing, store), "fpstore")
    indexed = partial(x, 31)
    sign, zero = does.loading(does.load_signed_word), does.loading(does.load_word)
    word = does.storing(does.store_word)
    return [
        *rows,
        *family("frt,ra0,rb", indexed, sign, "fpload", "2.05", "lfiwax 855"),
        *family("frt,ra0,rb", indexed, zero, "fpload", "2.06", "lfiwzx 887"),
        *family("frs,ra0,rb", indexed, word, "fpstore", GRAPHICS, "stfiwx 983"),
    ]


ROWS = (*_arithmetic(), *_conversions(), *_moves(), *_compares(), *_status(), *_memory())
