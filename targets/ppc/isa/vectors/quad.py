"""Rows: binary floating point of quad precision (Power ISA 3.1B, Book I, 7.6.1)."""

from __future__ import annotations

from functools import partial

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.families import family
from targets.ppc.isa.formats import x
from targets.ppc.meanings.unknown import Maker, arithmetic, classifying, comparing, flagged, pure

_X63 = partial(x, 63)
_ODD = 1  # rounds to odd

_TWO, _ONE = "vrt,vra,vrb", "vrt,vrb"


def _rounded(text: str, meaning: Maker, sched: str, opcodes: str) -> list[Op]:
    """Instructions that also exist with an o: rounded to odd."""
    odd = partial(x, 63, rc=_ODD)
    spelt = opcodes.split()
    named = " ".join(f"{n}o {code}" for n, code in zip(spelt[::2], spelt[1::2], strict=True))
    return [
        *family(text, _X63, meaning, sched, "3.0", opcodes),
        *family(text, odd, meaning, sched, "3.0", named),
    ]


def _arithmetic() -> list[Op]:
    two, fused, one = arithmetic("v=vv"), arithmetic("V=vv"), arithmetic("v=v")
    return [
        *_rounded(_TWO, two, "vecquad", "xsaddqp 4 xssubqp 516"),
        *_rounded(_TWO, two, "qmul", "xsmulqp 36"),
        *_rounded(_TWO, two, "vecdiv", "xsdivqp 548"),
        *_rounded(_TWO, fused, "qmul", "xsmaddqp 388 xsmsubqp 420 xsnmaddqp 452 xsnmsubqp 484"),
        *_rounded(_ONE, one, "vecdiv", "xssqrtqp 27:804"),
        *_rounded(_ONE, arithmetic("d=v"), "vecquad", "xscvqpdp 20:836"),
    ]


def _conversions() -> list[Op]:
    to_integer = "xscvqpuwz 1:836 xscvqpswz 9:836 xscvqpudz 17:836 xscvqpsdz 25:836"
    to_quadword = "xscvqpuqz 836 xscvqpsqz 8:836"
    rounds = "r,vrt,vrb,rmc"
    return [
        *family(rounds, _X63, arithmetic("nv=vn"), "vecquad", "3.0", "xsrqpi 5 xsrqpxp 37"),
        *family(rounds, partial(x, 63, rc=1), arithmetic("nv=vn"), "vecquad", "3.0", "xsrqpix 5"),
        *family(_ONE, _X63, arithmetic("d=v"), "vecquad", "3.0", to_integer),
        *family(_ONE, _X63, arithmetic("v=v"), "vecquad", "3.1", to_quadword),
        *family(_ONE, _X63, arithmetic("v=d"), "vecquad", "3.0", "xscvdpqp 22:836"),
        *family(_ONE, _X63, arithmetic("v=d"), "vecquad", "3.0", "xscvudqp 2:836 xscvsdqp 10:836"),
        *family(_ONE, _X63, arithmetic("v=v"), "vecquad", "3.1", "xscvuqqp 3:836 xscvsqqp 11:836"),
    ]


def _compares() -> list[Op]:
    text, masks = "bf,vra,vrb", "xscmpeqqp 68 xscmpgeqp 196 xscmpgtqp 228"
    return [
        *family(text, _X63, comparing("r=vv"), "fpcompare", "3.0", "xscmpoqp 132 xscmpuqp 644"),
        *family(text, _X63, classifying("r=vv"), "fpcompare", "3.0", "xscmpexpqp 164"),
        *family("bf,vrb,dcmx", _X63, classifying("r=vn"), "fpcompare", "3.0", "xststdcqp 708"),
        *family(_TWO, _X63, flagged("v=vv"), "fpcompare", "3.1", masks),
        *family(_TWO, _X63, flagged("v=vv"), "fpcompare", "3.1", "xsmaxcqp 676 xsmincqp 740"),
    ]


def _parts() -> list[Op]:
    one = "xsabsqp 804 xsxexpqp 2:804 xsnabsqp 8:804 xsnegqp 16:804 xsxsigqp 18:804"
    return [
        *family(_ONE, _X63, pure("v=v"), "vecsimple", "3.0", one),
        *family(_TWO, _X63, pure("v=vv"), "vecsimple", "3.0", "xscpsgnqp 100"),
        *family(_TWO, _X63, pure("v=vd"), "vecsimple", "3.0", "xsiexpqp 868"),
    ]


ROWS = (*_arithmetic(), *_conversions(), *_compares(), *_parts())
