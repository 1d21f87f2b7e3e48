"""Rows: the vector facility of Power ISA 2.07, 3.0 and 3.1 (3.1B, Book I, chapter 6)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.families import family
from targets.ppc.isa.formats import row, va, vx
from targets.ppc.isa.vectors.altivec import FOUR, RC, THREE, UNARY
from targets.ppc.meanings import permutes
from targets.ppc.meanings import vector as does
from targets.ppc.meanings.unknown import pure, saturating

_three, _four, _unary = pure("v=vv"), pure("v=vvv"), pure("v=v")
_element, _to_general, _tied = pure("v=vn"), pure("r=v"), pure("V=vv")


def _power8() -> list[Op]:
    simple = """
        vmaxud 194    vmaxsd 450   vminud 706   vminsd 962
        vrld 196      vsld 1476     vsrad 964     vsrd 1732
    """
    complex_ = """
        vadduqm 256   vaddcuq 320   vsubuqm 1280  vsubcuq 1344
        vmulouw 136   vmuluwm 137   vmulosw 392   vmuleuw 648  vmulesw 904
        vpmsumb 1032  vpmsumh 1096  vpmsumw 1160  vpmsumd 1224
    """
    counts = """
        vclzb 1794    vclzh 1858    vclzw 1922    vclzd 1986
        vpopcntb 1795 vpopcnth 1859 vpopcntw 1923 vpopcntd 1987
    """
    ciphers = "vcipher 1288 vcipherlast 1289 vncipher 1352 vncipherlast 1353"
    sigma = pure("v=vnn")
    return [
        *family(THREE, vx, _three, "vecsimple", "2.07", simple),
        *family(THREE, vx, _three, "veccomplex", "2.07", complex_),
        *family(THREE, vx, does.added(8), "vecsimple", "2.07", "vaddudm 192"),
        *family(THREE, vx, does.subtracted(8), "vecsimple", "2.07", "vsubudm 1216"),
        *family(THREE, vx, does.ORC, "veclogical", "2.07", "vorc 1348"),
        *family(THREE, vx, does.NAND, "veclogical", "2.07", "vnand 1412"),
        *family(THREE, vx, does.EQV, "veclogical", "2.07", "veqv 1668"),
        *family(THREE, vx, does.equal(8), "veccmp", "2.07", "vcmpequd 199", record=RC),
        *family(THREE, vx, _three, "veccmp", "2.07", "vcmpgtud 711 vcmpgtsd 967", record=RC),
        *family(
            FOUR,
            va,
            _four,
            "veccomplex",
            "2.07",
            "vaddeuqm 60 vaddecuq 61 vsubeuqm 62 vsubecuq 63",
        ),
        *family(THREE, vx, permutes.packed(8), "vecperm", "2.07", "vpkudum 1102"),
        *family(THREE, vx, permutes.merged_words(even=False), "vecperm", "2.07", "vmrgow 1676"),
        *family(THREE, vx, permutes.merged_words(even=True), "vecperm", "2.07", "vmrgew 1932"),
        *family(
            THREE,
            vx,
            saturating("v=vv"),
            "vecperm",
            "2.07",
            "vpkudus 1230 vpksdus 1358 vpksdss 1486",
        ),
        *family(THREE, vx, _three, "vecperm", "2.07", "vbpermq 1356"),
        *family(UNARY, vx, _unary, "vecperm", "2.07", "vgbbd 1292 vupkhsw 1614 vupklsw 1742"),
        *family(UNARY, vx, _unary, "vecsimple", "2.07", counts),
        *family(THREE, vx, _three, "crypto", "2.07", ciphers),
        *family("vrt,vra", vx, _unary, "crypto", "2.07", "vsbox 1480"),
        *family("vrt,vra,st,six", vx, sigma, "crypto", "2.07", "vshasigmaw 1666 vshasigmad 1730"),
        *family(FOUR, va, _four, "crypto", "2.07", "vpermxor 45"),
    ]


def _decimal() -> list[Op]:
    """Signed decimal numbers of 31 digits: all tell of their result in CR6."""
    preferred, shifts = f"{THREE},ps", "bcds. 1217 bcdtrunc. 1281 bcdsr. 1473"
    return [
        *family(preferred, vx, pure("v=vvn"), "dfp", "2.07", "bcdadd. 1025 bcdsub. 1089"),
        *family(preferred, vx, pure("v=vvn"), "dfp", "3.0", shifts),
        *family(THREE, vx, _three, "dfp", "3.0", "bcdcpsgn. 833 bcdus. 1153 bcdutrunc. 1345"),
        *family(UNARY, vx, _unary, "dfp", "3.0", "bcdctsq. 1409 bcdctn. 5:1409"),
        *family(
            f"{UNARY},ps",
            vx,
            _element,
            "dfp",
            "3.0",
            "bcdcfsq. 2:1409 bcdctz. 4:1409 bcdcfz. 6:1409 bcdcfn. 7:1409 bcdsetsgn. 31:1409",
        ),
        *family("vrt,vra", vx, _unary, "dfp", "3.0", "vmul10cuq 1 vmul10uq 513"),
        *family(THREE, vx, _three, "dfp", "3.0", "vmul10ecuq 65 vmul10euq 577"),
    ]


def _power9() -> list[Op]:
    unary = """
        vnegw 6:1538     vnegd 7:1538     vprtybw 8:1538   vprtybd 9:1538   vprtybq 10:1538
        vextsb2w 16:1538 vextsh2w 17:1538 vextsb2d 24:1538 vextsh2d 25:1538 vextsw2d 26:1538
        vctzb 28:1538    vctzh 29:1538    vctzw 30:1538    vctzd 31:1538
    """
    extracts = "vextractub 525 vextractuh 589 vextractuw 653 vextractd 717"
    indexed = """
        vextublx 1549 vextuhlx 1613 vextuwlx 1677 vextubrx 1805 vextuhrx 1869 vextuwrx 1933
    """
    inserts = "vinsertb 781 vinserth 845 vinsertw 909 vinsertd 973"
    return [
        *family(UNARY, vx, _unary, "vecsimple", "3.0", unary),
        *family(THREE, vx, _three, "vecsimple", "3.0", "vabsdub 1027 vabsduh 1091 vabsduw 1155"),
        *family(THREE, vx, _three, "vecsimple", "3.0", "vrlwnm 389 vrldnm 453"),
        *family(THREE, vx, _tied, "vecsimple", "3.0", "vrlwmi 133 vrldmi 197"),
        *_compares(),
        *family(THREE, vx, _three, "vecperm", "3.0", "vbpermd 1484 vsrv 1796 vslv 1860"),
        *family(FOUR, va, permutes.permuted(right=True), "vecperm", "3.0", "vpermr 59"),
        *family(FOUR, va, _four, "veccomplex", "3.0B", "vmsumudm 35"),
        row("vclzlsbb", "rt,vrb", vx(1538), does.leading_even, "vecsimple", "3.0"),
        row("vctzlsbb", "rt,vrb", vx(1538) | 1 << 16, does.trailing_even, "vecsimple", "3.0"),
        *family(f"{UNARY},uim4", vx, _element, "vecperm", "3.0", extracts),
        *family("rt,ra,vrb", vx, pure("r=rv"), "vecperm", "3.0", indexed),
        *family(f"{UNARY},uim4", vx, pure("V=vn"), "vecperm", "3.0", inserts),
    ]


def _compares() -> Iterator[Op]:
    for number, (size, unit) in enumerate(((1, "b"), (2, "h"), (4, "w"))):
        plain, zero = f"vcmpne{unit} {64 * number + 7}", f"vcmpnez{unit} {64 * number + 263}"
        yield from family(THREE, vx, does.unequal(size), "veccmp", "3.0", plain, record=RC)
        yield from family(THREE, vx, does.unequal_or_zero(size), "veccmp", "3.0", zero, record=RC)


def _power10() -> list[Op]:
    simple = """
        vrlq 5 vslq 261 vsrq 517 vsraq 773 vrlqnm 325
        vcfuged 1357 vpextd 1421 vpdepd 1485 vclzdm 1924 vctzdm 1988
    """
    products = """
        vmuloud 200 vmulosd 456 vmuleud 712 vmulesd 968 vmulld 457
        vmulhuw 649 vmulhud 713 vmulhsw 905 vmulhsd 969
    """
    quotients = """
        vdivuq 11 vdivuw 139 vdivud 203 vdivsq 267 vdivsw 395 vdivsd 459
        vdiveuq 523 vdiveuw 651 vdiveud 715 vdivesq 779 vdivesw 907 vdivesd 971
        vmoduq 1547 vmoduw 1675 vmodud 1739 vmodsq 1803 vmodsw 1931 vmodsd 1995
    """
    strings = "vstribl 13 vstribr 1:13 vstrihl 2:13 vstrihr 3:13"
    return [
        *family(THREE, vx, _three, "vecsimple", "3.1", simple),
        *family(THREE, vx, _tied, "vecsimple", "3.1", "vrlqmi 69"),
        *family(THREE, vx, _three, "veccomplex", "3.1", products),
        *family(FOUR, va, _four, "veccomplex", "3.1", "vmsumcud 23"),
        *family(THREE, vx, _three, "vecdiv", "3.1", quotients),
        *family(
            THREE, vx, _three, "veccmp", "3.1", "vcmpequq 455 vcmpgtuq 647 vcmpgtsq 903", record=RC
        ),
        *family("bf,vra,vrb", vx, pure("r=vv"), "veccmp", "3.1", "vcmpuq 257 vcmpsq 321"),
        *family(f"{THREE},sh3", va, pure("v=vvn"), "vecperm", "3.1", "vsldbi 22 vsrdbi 534"),
        *family(UNARY, vx, _unary, "vecsimple", "3.1", "vextsd2q 27:1538"),
        *family(UNARY, vx, _unary, "vecperm", "3.1", strings, record=RC),
        *family("vrt,vra,rb", vx, pure("v=vr"), "vecsimple", "3.1", "vclrlb 397 vclrrb 461"),
    ]


def _masks() -> list[Op]:
    """Between elements and bits of a general register (3.1)."""
    expand = "vexpandbm 1602 vexpandhm 1:1602 vexpandwm 2:1602 vexpanddm 3:1602 vexpandqm 4:1602"
    extract = """
        vextractbm 8:1602 vextracthm 9:1602 vextractwm 10:1602 vextractdm 11:1602
        vextractqm 12:1602
    """
    count = "vcntmbb 24:1602 vcntmbh 26:1602 vcntmbw 28:1602 vcntmbd 30:1602"
    move = "mtvsrbm 16:1602 mtvsrhm 17:1602 mtvsrwm 18:1602 mtvsrdm 19:1602 mtvsrqm 20:1602"
    return [
        *family(UNARY, vx, _unary, "vecsimple", "3.1", expand),
        *family("rt,vrb", vx, _to_general, "vecsimple", "3.1", extract),
        *family("rt,vrb,mp", vx, pure("r=vn"), "vecsimple", "3.1", count),
        *family("rt,vrb,n", vx, pure("r=vn"), "vecsimple", "3.1", "vgnb 1228"),
        *family("vrt,rb", vx, pure("v=r"), "vecsimple", "3.1", move),
        *family("vrt,bm", va, pure("v=n"), "vecsimple", "3.1", "mtvsrbmi 20"),
    ]


def _inserts() -> list[Op]:
    """Elements put into vectors, or taken from two of them, at a place in a register (3.1)."""
    general = """
        vinsblx 527 vinshlx 591 vinswlx 655 vinsdlx 719
        vinsbrx 783 vinshrx 847 vinswrx 911 vinsdrx 975
    """
    vector = "vinsbvlx 15 vinshvlx 79 vinswvlx 143 vinsbvrx 271 vinshvrx 335 vinswvrx 399"
    extracts = """
        vextdubvlx 24 vextdubvrx 25 vextduhvlx 26 vextduhvrx 27
        vextduwvlx 28 vextduwvrx 29 vextddvlx 30  vextddvrx 31
    """
    return [
        *family("vrt,ra,rb", vx, pure("V=rr"), "vecperm", "3.1", general),
        *family("vrt,ra,vrb", vx, pure("V=rv"), "vecperm", "3.1", vector),
        *family("vrt,rb,uim4", vx, pure("V=rn"), "vecperm", "3.1", "vinsw 207 vinsd 463"),
        *family(f"{THREE},rc", va, pure("v=vvr"), "vecperm", "3.1", extracts),
    ]


ROWS = (*_power8(), *_decimal(), *_power9(), *_power10(), *_masks(), *_inserts())
