"""Rows: the vector-scalar facility (Power ISA 3.1B, Book I, chapter 7), but for memory.

Scalars are in doubleword 0.
"""

from __future__ import annotations

from functools import partial

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.families import family
from targets.ppc.isa.features import VSX, wide
from targets.ppc.isa.formats import row, x, xx2, xx3, xx4
from targets.ppc.meanings import floating as scalar
from targets.ppc.meanings import permutes
from targets.ppc.meanings import vector as does
from targets.ppc.meanings.unknown import arithmetic, classifying, comparing, flagged, pure

_TWO, _ONE = "xt,xa,xb", "xt,xb"
_RC = 1 << 10
_X60, _X31 = partial(x, 60), partial(x, 31)

_two, _one = pure("v=vv"), pure("v=v")


def _scalar() -> list[Op]:
    sums, fused, unary = arithmetic("d=dd"), arithmetic("D=dd"), arithmetic("d=d")
    return [
        *family(_TWO, xx3, sums, "fp", VSX, "xsadddp 32 xssubdp 40"),
        *family(_TWO, xx3, sums, "fp", "2.07", "xsaddsp 0 xssubsp 8 xsmulsp 16"),
        *family(_TWO, xx3, sums, "dmul", VSX, "xsmuldp 48"),
        *family(_TWO, xx3, sums, "ddiv", VSX, "xsdivdp 56"),
        *family(_TWO, xx3, sums, "sdiv", "2.07", "xsdivsp 24"),
        *family(
            _TWO,
            xx3,
            fused,
            "fp",
            VSX,
            """
            xsmaddadp 33   xsmaddmdp 41   xsmsubadp 49   xsmsubmdp 57
            xsnmaddadp 161 xsnmaddmdp 169 xsnmsubadp 177 xsnmsubmdp 185
            """,
        ),
        *family(
            _TWO,
            xx3,
            fused,
            "fp",
            "2.07",
            """
            xsmaddasp 1    xsmaddmsp 9    xsmsubasp 17   xsmsubmsp 25
            xsnmaddasp 129 xsnmaddmsp 137 xsnmsubasp 145 xsnmsubmsp 153
            """,
        ),
        *family(_ONE, xx2, unary, "dsqrt", VSX, "xssqrtdp 75"),
        *family(_ONE, xx2, unary, "ssqrt", "2.07", "xssqrtsp 11"),
        *family(_ONE, xx2, unary, "fp", VSX, "xsredp 90 xsrsqrtedp 74"),
        *family(_ONE, xx2, unary, "fp", "2.07", "xsresp 26 xsrsqrtesp 10"),
    ]


def _scalar_conversions() -> list[Op]:
    unary, plain = arithmetic("d=d"), pure("d=d")
    vsx = """
        xsrdpi 73      xsrdpiz 89     xsrdpip 105    xsrdpim 121    xsrdpic 107
        xscvdpuxws 72  xscvdpsxws 88  xscvdpuxds 328 xscvdpsxds 344
        xscvuxddp 360  xscvsxddp 376  xscvdpsp 265   xscvspdp 329
    """
    return [
        *family(_ONE, xx2, unary, "fp", VSX, vsx),
        *family(_ONE, xx2, unary, "fp", "2.07", "xsrsp 281 xscvuxdsp 296 xscvsxdsp 312"),
        *family(_ONE, xx2, unary, "fp", "3.0", "xscvhpdp 16:347 xscvdphp 17:347"),
        *family(_ONE, xx2, plain, "fp", "2.07", "xscvdpspn 267 xscvspdpn 331"),
        *family(_ONE, xx2, scalar.copy(scalar.POSITIVE), "fpsimple", VSX, "xsabsdp 345"),
        *family(_ONE, xx2, scalar.copy(scalar.NEGATIVE), "fpsimple", VSX, "xsnabsdp 361"),
        *family(_ONE, xx2, scalar.copy(scalar.NEGATED), "fpsimple", VSX, "xsnegdp 377"),
        *family(_TWO, xx3, scalar.copy_sign, "fpsimple", VSX, "xscpsgndp 176"),
        *family("xt,ra,rb", _X60, pure("d=rr"), "vecsimple", wide("3.0"), "xsiexpdp 918"),
        *family("rt,xb", xx2, pure("r=d"), "vecsimple", wide("3.0"), "xsxexpdp 347 xsxsigdp 1:347"),
    ]


def _scalar_compares() -> list[Op]:
    text, test = "bf,xa,xb", "bf,xb,dcmx"
    maxima = "xsmaxcdp 128 xsmincdp 136 xsmaxjdp 144 xsminjdp 152"
    masks = "xscmpeqdp 3 xscmpgtdp 11 xscmpgedp 19"
    return [
        *family(_TWO, xx3, flagged("d=dd"), "fp", VSX, "xsmaxdp 160 xsmindp 168"),
        *family(_TWO, xx3, flagged("d=dd"), "fp", "3.0", maxima),
        *family(_TWO, xx3, flagged("d=dd"), "fpcompare", "3.0", masks),
        *family(text, xx3, comparing("r=dd"), "fpcompare", VSX, "xscmpudp 35 xscmpodp 43"),
        *family(text, xx3, classifying("r=dd"), "fpcompare", "3.0", "xscmpexpdp 59"),
        *family(text, xx3, pure("r=dd"), "fpcompare", VSX, "xstdivdp 61"),
        *family("bf,xb", xx2, pure("r=d"), "fpcompare", VSX, "xstsqrtdp 106"),
        *family(test, xx2, classifying("r=dn"), "fpcompare", "3.0", "xststdcsp 298 xststdcdp 362"),
    ]


def _vector() -> list[Op]:
    two, fused, one = flagged("v=vv"), flagged("V=vv"), flagged("v=v")
    sums = """
        xvaddsp 64 xvsubsp 72  xvmulsp 80  xvmaxsp 192 xvminsp 200
        xvadddp 96 xvsubdp 104 xvmuldp 112 xvmaxdp 224 xvmindp 232
    """
    products = """
        xvmaddasp 65   xvmaddmsp 73   xvmsubasp 81   xvmsubmsp 89
        xvnmaddasp 193 xvnmaddmsp 201 xvnmsubasp 209 xvnmsubmsp 217
        xvmaddadp 97   xvmaddmdp 105  xvmsubadp 113  xvmsubmdp 121
        xvnmaddadp 225 xvnmaddmdp 233 xvnmsubadp 241 xvnmsubmdp 249
    """
    estimates = "xvresp 154 xvrsqrtesp 138 xvredp 218 xvrsqrtedp 202"
    compares = """
        xvcmpeqsp 67 xvcmpgtsp 75  xvcmpgesp 83
        xvcmpeqdp 99 xvcmpgtdp 107 xvcmpgedp 115
    """
    tests = "xvtdivsp 93 xvtdivdp 125"
    return [
        *family(_TWO, xx3, two, "vecdouble", VSX, sums),
        *family(_TWO, xx3, fused, "vecdouble", VSX, products),
        *family(_TWO, xx3, two, "vecfdiv", VSX, "xvdivsp 88"),
        *family(_TWO, xx3, two, "vecdiv", VSX, "xvdivdp 120"),
        *family(_ONE, xx2, one, "vecfdiv", VSX, "xvsqrtsp 139"),
        *family(_ONE, xx2, one, "vecdiv", VSX, "xvsqrtdp 203"),
        *family(_ONE, xx2, one, "vecdouble", VSX, estimates),
        *family(_TWO, xx3, two, "vecdouble", VSX, compares, record=_RC),
        *family("bf,xa,xb", xx3, pure("r=vv"), "vecdouble", VSX, tests),
        *family("bf,xb", xx2, pure("r=v"), "vecdouble", VSX, "xvtsqrtsp 170 xvtsqrtdp 234"),
    ]


def _vector_conversions() -> list[Op]:
    one = flagged("v=v")
    vsx = """
        xvrspi 137     xvrspiz 153    xvrspip 169    xvrspim 185    xvrspic 171
        xvrdpi 201     xvrdpiz 217    xvrdpip 233    xvrdpim 249    xvrdpic 235
        xvcvspuxws 136 xvcvspsxws 152 xvcvuxwsp 168  xvcvsxwsp 184
        xvcvdpuxws 200 xvcvdpsxws 216 xvcvuxwdp 232  xvcvsxwdp 248
        xvcvspuxds 392 xvcvspsxds 408 xvcvuxdsp 424  xvcvsxdsp 440
        xvcvdpuxds 456 xvcvdpsxds 472 xvcvuxddp 488  xvcvsxddp 504
        xvcvdpsp 393   xvcvspdp 457
    """
    signs = "xvabssp 409 xvnabssp 425 xvnegsp 441 xvabsdp 473 xvnabsdp 489 xvnegdp 505"
    tests = "xvtstdcsp 213 xvtstdcdp 245"
    parts = "xvxexpdp 475 xvxsigdp 1:475 xvxexpsp 8:475 xvxsigsp 9:475"
    return [
        *family(_ONE, xx2, one, "vecdouble", VSX, vsx),
        *family(_ONE, xx2, one, "vecdouble", "3.0", "xvcvhpsp 24:475 xvcvsphp 25:475"),
        *family(_ONE, xx2, one, "vecdouble", "3.1", "xvcvspbf16 17:475"),
        *family(_ONE, xx2, _one, "vecdouble", "3.1", "xvcvbf16spn 16:475"),
        *family(_ONE, xx2, _one, "vecsimple", VSX, signs),
        *family(_TWO, xx3, _two, "vecsimple", VSX, "xvcpsgnsp 208 xvcpsgndp 240"),
        *family(_TWO, xx3, _two, "vecsimple", "3.0", "xviexpsp 216 xviexpdp 248"),
        *family(_ONE, xx2, _one, "vecsimple", "3.0", parts),
        *family("xt,xb,dcmxs", xx3, pure("v=vn"), "vecsimple", "3.0", tests),
    ]


def _logical() -> list[Op]:
    sched = "veclogical"
    return [
        *family(_TWO, xx3, does.AND, sched, VSX, "xxland 130"),
        *family(_TWO, xx3, does.ANDC, sched, VSX, "xxlandc 138"),
        *family(_TWO, xx3, does.OR, sched, VSX, "xxlor 146"),
        *family(_TWO, xx3, does.XOR, sched, VSX, "xxlxor 154"),
        *family(_TWO, xx3, does.NOR, sched, VSX, "xxlnor 162"),
        *family(_TWO, xx3, does.ORC, sched, "2.07", "xxlorc 170"),
        *family(_TWO, xx3, does.NAND, sched, "2.07", "xxlnand 178"),
        *family(_TWO, xx3, does.EQV, sched, "2.07", "xxleqv 186"),
        *family(f"{_TWO},xc", xx4, does.SELECT, sched, VSX, "xxsel 3"),
    ]


def _permutes() -> list[Op]:
    masks = "xxgenpcvbm 916 xxgenpcvhm 917 xxgenpcvwm 948 xxgenpcvdm 949"
    sched = "vecperm"
    rows = []
    for size, opcode in ((2, "xxbrh 7:475"), (4, "xxbrw 15:475"), (8, "xxbrd 23:475")):
        rows += family(_ONE, xx2, permutes.reversed_bytes(size), sched, "3.0", opcode)
    return [
        *rows,
        *family(_ONE, xx2, permutes.reversed_bytes(16), sched, "3.0", "xxbrq 31:475"),
        row("xxpermdi", f"{_TWO},dm", xx3(10), permutes.permute_doublewords, sched, VSX),
        *family(f"{_TWO},dm", xx3, permutes.shift_octets(4), sched, VSX, "xxsldwi 2"),
        *family(_TWO, xx3, permutes.merged(4, low=False), sched, VSX, "xxmrghw 18"),
        *family(_TWO, xx3, permutes.merged(4, low=True), sched, VSX, "xxmrglw 50"),
        *family(_TWO, xx3, permutes.permuted_in_place(right=False), sched, "3.0", "xxperm 26"),
        *family(_TWO, xx3, permutes.permuted_in_place(right=True), sched, "3.0", "xxpermr 58"),
        *family("xt,xb,uim2", xx2, permutes.splat(4), sched, VSX, "xxspltw 164"),
        *family("xt,imm8", _X60, permutes.splat_number(1), sched, "3.0", "xxspltib 360"),
        *family("xt,xb,uim4", xx2, pure("v=vn"), sched, "3.0", "xxextractuw 165"),
        *family("xt,xb,uim4", xx2, pure("V=vn"), sched, "3.0", "xxinsertw 181"),
        *family("xt,uimb", _X60, pure("v=n"), "vecsimple", "3.1", "lxvkq 31:360"),
        *family("xt,vrb,uim5", _X60, pure("v=vn"), sched, "3.1", masks),
        *family("bf,xb", xx2, pure("r=v"), "vecsimple", "3.1", "xvtlsbb 2:475"),
    ]


def _moves() -> list[Op]:
    """Between vector-scalar registers and general ones."""
    signed, zero = permutes.move_word_to(signed=True), permutes.move_word_to(signed=False)
    return [
        *family("ra,xs", _X31, permutes.move_from(low=False), "mfvsr", wide("2.07"), "mfvsrd 51"),
        row("mfvsrwz", "ra,xs", x(31, 115), permutes.move_word_from, "mfvsr", "2.07"),
        *family("ra,xs", _X31, permutes.move_from(low=True), "mfvsr", wide("3.0"), "mfvsrld 307"),
        *family("xt,ra", _X31, permutes.move_to, "mtvsr", wide("2.07"), "mtvsrd 179"),
        *family("xt,ra", _X31, signed, "mtvsr", "2.07", "mtvsrwa 211"),
        *family("xt,ra", _X31, zero, "mtvsr", "2.07", "mtvsrwz 243"),
        row("mtvsrws", "xt,ra", x(31, 403), permutes.splat_word_to, "mtvsr", "3.0"),
        row("mtvsrdd", "xt,ra0,rb", x(31, 435), permutes.move_both_to, "mtvsr", wide("3.0")),
    ]


ROWS = (
    *_scalar(),
    *_scalar_conversions(),
    *_scalar_compares(),
    *_vector(),
    *_vector_conversions(),
    *_logical(),
    *_permutes(),
    *_moves(),
)
