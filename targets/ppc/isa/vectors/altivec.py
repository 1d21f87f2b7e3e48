"""Rows: the vector facility, as AltiVec had it first (Power ISA 3.1B, Book I, chapter 6).

Later rows of the same chapter are in `later`, loads and stores in `memory`.
"""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.families import family
from targets.ppc.isa.features import ALTIVEC
from targets.ppc.isa.formats import va, vx
from targets.ppc.meanings import permutes
from targets.ppc.meanings import vector as does
from targets.ppc.meanings.unknown import Unknown, pure, saturating, single
from targets.ppc.registers import VSCR_NJ, VSCR_SAT

THREE, FOUR, UNARY = "vrt,vra,vrb", "vrt,vra,vrb,vrc", "vrt,vrb"
RC = 1 << 10  # of the VC form

_three, _four, _unary = pure("v=vv"), pure("v=vvv"), pure("v=v")


def _integer() -> list[Op]:
    simple = """
        vaddcuw 384   vsubcuw 1408
        vmaxub 2      vmaxuh 66     vmaxuw 130    vmaxsb 258   vmaxsh 322   vmaxsw 386
        vminub 514    vminuh 578    vminuw 642    vminsb 770   vminsh 834   vminsw 898
        vavgub 1026   vavguh 1090   vavguw 1154   vavgsb 1282  vavgsh 1346  vavgsw 1410
        vrlb 4        vrlh 68       vrlw 132      vslb 260     vslh 324     vslw 388
        vsrb 516      vsrh 580      vsrw 644      vsrab 772    vsrah 836    vsraw 900
    """
    saturated = """
        vaddubs 512   vadduhs 576   vadduws 640   vaddsbs 768  vaddshs 832  vaddsws 896
        vsububs 1536  vsubuhs 1600  vsubuws 1664  vsubsbs 1792 vsubshs 1856 vsubsws 1920
    """
    products = """
        vmuloub 8     vmulouh 72    vmulosb 264   vmulosh 328
        vmuleub 520   vmuleuh 584   vmulesb 776   vmulesh 840
    """
    sums = "vsum4ubs 1544 vsum4shs 1608 vsum2sws 1672 vsum4sbs 1800 vsumsws 1928"
    compares = """
        vcmpgtub 518  vcmpgtuh 582  vcmpgtuw 646  vcmpgtsb 774 vcmpgtsh 838 vcmpgtsw 902
    """
    return [
        *family(THREE, vx, _three, "vecsimple", ALTIVEC, simple),
        *family(THREE, vx, saturating("v=vv"), "vecsimple", ALTIVEC, saturated),
        *family(THREE, vx, _three, "veccomplex", ALTIVEC, products),
        *family(THREE, vx, saturating("v=vv"), "veccomplex", ALTIVEC, sums),
        *family(THREE, vx, _three, "veccmp", ALTIVEC, compares, record=RC),
        *_elements(),
    ]


def _elements() -> Iterator[Op]:
    """What is done to bytes, halfwords and words alike."""
    for number, (size, unit) in enumerate(((1, "b"), (2, "h"), (4, "w"))):
        code, sched = 64 * number, "vecsimple"
        sums = f"vaddu{unit}m {code}", f"vsubu{unit}m {code + 1024}"
        merges = f"vmrgh{unit} {code + 12}", f"vmrgl{unit} {code + 268}"
        equal, splats = f"vcmpequ{unit} {code + 6}", f"vspltis{unit} {code + 780}"
        yield from family(THREE, vx, does.added(size), sched, ALTIVEC, sums[0])
        yield from family(THREE, vx, does.subtracted(size), sched, ALTIVEC, sums[1])
        yield from family(THREE, vx, does.equal(size), "veccmp", ALTIVEC, equal, record=RC)
        yield from family(
            THREE, vx, permutes.merged(size, low=False), "vecperm", ALTIVEC, merges[0]
        )
        yield from family(THREE, vx, permutes.merged(size, low=True), "vecperm", ALTIVEC, merges[1])
        yield from family("vrt,sim", vx, permutes.splat_number(size), "vecperm", ALTIVEC, splats)


def _logical() -> list[Op]:
    sched = "veclogical"
    return [
        *family(THREE, vx, does.AND, sched, ALTIVEC, "vand 1028"),
        *family(THREE, vx, does.ANDC, sched, ALTIVEC, "vandc 1092"),
        *family(THREE, vx, does.OR, sched, ALTIVEC, "vor 1156"),
        *family(THREE, vx, does.XOR, sched, ALTIVEC, "vxor 1220"),
        *family(THREE, vx, does.NOR, sched, ALTIVEC, "vnor 1284"),
        *family(FOUR, va, does.SELECT, sched, ALTIVEC, "vsel 42"),
    ]


def _multiply_sums() -> list[Op]:
    modulo = "vmladduhm 34 vmsumubm 36 vmsummbm 37 vmsumuhm 38 vmsumshm 40"
    saturated = "vmhaddshs 32 vmhraddshs 33 vmsumuhs 39 vmsumshs 41"
    return [
        *family(FOUR, va, _four, "veccomplex", ALTIVEC, modulo),
        *family(FOUR, va, saturating("v=vvv"), "veccomplex", ALTIVEC, saturated),
    ]


def _permutes() -> list[Op]:
    shifts = "vsl 452 vsr 708 vslo 1036 vsro 1100"
    saturated = "vpkuhus 142 vpkuwus 206 vpkshus 270 vpkswus 334 vpkshss 398 vpkswss 462"
    unpacks = "vupkhsb 526 vupkhsh 590 vupklsb 654 vupklsh 718 vupkhpx 846 vupklpx 974"
    return [
        *family(FOUR, va, permutes.permuted(right=False), "vecperm", ALTIVEC, "vperm 43"),
        *family(f"{THREE},shb", va, permutes.shift_octets(1), "vecperm", ALTIVEC, "vsldoi 44"),
        *family(THREE, vx, _three, "vecperm", ALTIVEC, shifts),
        *family(THREE, vx, permutes.packed(2), "vecperm", ALTIVEC, "vpkuhum 14"),
        *family(THREE, vx, permutes.packed(4), "vecperm", ALTIVEC, "vpkuwum 78"),
        *family(THREE, vx, _three, "vecperm", ALTIVEC, "vpkpx 782"),
        *family(THREE, vx, saturating("v=vv"), "vecperm", ALTIVEC, saturated),
        *family(UNARY, vx, _unary, "vecperm", ALTIVEC, unpacks),
        *family(f"{UNARY},uim4", vx, permutes.splat(1), "vecperm", ALTIVEC, "vspltb 524"),
        *family(f"{UNARY},uim3", vx, permutes.splat(2), "vecperm", ALTIVEC, "vsplth 588"),
        *family(f"{UNARY},uim2", vx, permutes.splat(4), "vecperm", ALTIVEC, "vspltw 652"),
    ]


def _floating() -> list[Op]:
    fused, unary = "vrt,vra,vrc,vrb", "vrefp 266 vrsqrtefp 330 vexptefp 394 vlogefp 458"
    rounds = "vrfin 522 vrfiz 586 vrfip 650 vrfim 714"
    compares = "vcmpeqfp 198 vcmpgefp 454 vcmpgtfp 710 vcmpbfp 966"
    to_integer = saturating("v=vn", (VSCR_NJ,))
    return [
        *family(
            THREE,
            vx,
            single("v=vv"),
            "vecfloat",
            ALTIVEC,
            "vaddfp 10 vsubfp 74 vmaxfp 1034 vminfp 1098",
        ),
        *family(fused, va, single("v=vvv"), "vecfloat", ALTIVEC, "vmaddfp 46 vnmsubfp 47"),
        *family(UNARY, vx, single("v=v"), "vecfloat", ALTIVEC, unary),
        *family(UNARY, vx, single("v=v"), "vecfloat", ALTIVEC, rounds),
        *family(THREE, vx, single("v=vv"), "veccmp", ALTIVEC, compares, record=RC),
        *family(f"{UNARY},uim5", vx, pure("v=vn"), "vecfloat", ALTIVEC, "vcfux 778 vcfsx 842"),
        *family(f"{UNARY},uim5", vx, to_integer, "vecfloat", ALTIVEC, "vctuxs 906 vctsxs 970"),
    ]


def _status() -> list[Op]:
    """The VSCR."""
    status = (VSCR_NJ, VSCR_SAT)
    return [
        *family("vrt", vx, Unknown("v=", reads=status), "vecsimple", ALTIVEC, "mfvscr 1540"),
        *family("vrb", vx, Unknown("=v", sets=status), "vecsimple", ALTIVEC, "mtvscr 1604"),
    ]


ROWS = (
    *_integer(),
    *_logical(),
    *_multiply_sums(),
    *_permutes(),
    *_floating(),
    *_status(),
)
