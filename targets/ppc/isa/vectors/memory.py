"""Rows: loads and stores of vectors (Power ISA 3.1B, Book I, 6.7 and 7.6), streams of AltiVec."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.features import ALTIVEC, VSX
from targets.ppc.isa.formats import d, row, x
from targets.ppc.meanings import floating as scalar
from targets.ppc.meanings import vector_memory as does

_whole, _aligned = does.loading(does.load), does.loading(does.load_aligned)
_store, _store_aligned = does.storing(does.store), does.storing(does.store_aligned)

# Indexed accesses of one register, by the letters before its field: name, opcode, meaning, needs.
_LOADS = {
    "vr": (
        ("lvebx", 7, does.load_element(1), ALTIVEC),
        ("lvehx", 39, does.load_element(2), ALTIVEC),
        ("lvewx", 71, does.load_element(4), ALTIVEC),
        ("lvx", 103, _aligned, ALTIVEC),
        ("lvxl", 359, _aligned, ALTIVEC),
    ),
    "x": (
        ("lxvx", 268, _whole, "3.0"),
        ("lxvd2x", 844, does.loading(does.load_elements(8)), VSX),
        ("lxvw4x", 780, does.loading(does.load_elements(4)), VSX),
        ("lxvh8x", 812, does.loading(does.load_elements(2)), "3.0"),
        ("lxvb16x", 876, does.loading(does.load_elements(1)), "3.0"),
        ("lxvdsx", 332, does.loading(does.load_splat(8)), VSX),
        ("lxvwsx", 364, does.loading(does.load_splat(4)), "3.0"),
        ("lxvrbx", 13, does.loading(does.load_last(1)), "3.1"),
        ("lxvrhx", 45, does.loading(does.load_last(2)), "3.1"),
        ("lxvrwx", 77, does.loading(does.load_last(4)), "3.1"),
        ("lxvrdx", 109, does.loading(does.load_last(8)), "3.1"),
        ("lxvl", 269, does.load_length, "3.0"),
        ("lxvll", 301, does.load_length, "3.0"),
    ),
}
_STORES = {
    "vr": (
        ("stvebx", 135, does.store_element(1), ALTIVEC),
        ("stvehx", 167, does.store_element(2), ALTIVEC),
        ("stvewx", 199, does.store_element(4), ALTIVEC),
        ("stvx", 231, _store_aligned, ALTIVEC),
        ("stvxl", 487, _store_aligned, ALTIVEC),
    ),
    "x": (
        ("stxvx", 396, _store, "3.0"),
        ("stxvd2x", 972, does.storing(does.store_elements(8)), VSX),
        ("stxvw4x", 908, does.storing(does.store_elements(4)), VSX),
        ("stxvh8x", 940, does.storing(does.store_elements(2)), "3.0"),
        ("stxvb16x", 1004, does.storing(does.store_elements(1)), "3.0"),
        ("stxvrbx", 141, does.storing(does.store_last(1)), "3.1"),
        ("stxvrhx", 173, does.storing(does.store_last(2)), "3.1"),
        ("stxvrwx", 205, does.storing(does.store_last(4)), "3.1"),
        ("stxvrdx", 237, does.storing(does.store_last(8)), "3.1"),
        ("stxvl", 397, does.store_length, "3.0"),
        ("stxvll", 429, does.store_length, "3.0"),
    ),
}

# Of doubleword 0.
_SCALAR_LOADS = (
    ("lxsdx", 588, scalar.loading(scalar.load_double), VSX),
    ("lxsspx", 524, scalar.loading(scalar.load_single), "2.07"),
    ("lxsiwzx", 12, scalar.loading(scalar.load_word), "2.07"),
    ("lxsiwax", 76, scalar.loading(scalar.load_signed_word), "2.07"),
    ("lxsibzx", 781, scalar.loading(does.load_low(1)), "3.0"),
    ("lxsihzx", 813, scalar.loading(does.load_low(2)), "3.0"),
)
_SCALAR_STORES = (
    ("stxsdx", 716, scalar.storing(scalar.store_double), VSX),
    ("stxsspx", 652, scalar.storing(scalar.store_single), "2.07"),
    ("stxsiwx", 140, scalar.storing(scalar.store_word), "2.07"),
    ("stxsibx", 909, scalar.storing(does.store_low(1)), "3.0"),
    ("stxsihx", 941, scalar.storing(does.store_low(2)), "3.0"),
)

# Those with a displacement: the text, the primary opcode and what is in the lowest bits.
_DISPLACED = (
    ("lxv", "xtq,dq(ra0)", d(61, 1), _whole, "vecload", "3.0"),
    ("stxv", "xtq,dq(ra0)", d(61, 5), _store, "vecstore", "3.0"),
    ("lxsd", "vrt,ds(ra0)", d(57, 2), scalar.loading(scalar.load_double), "fpload", "3.0"),
    ("lxssp", "vrt,ds(ra0)", d(57, 3), scalar.loading(scalar.load_single), "fpload", "3.0"),
    ("stxsd", "vrs,ds(ra0)", d(61, 2), scalar.storing(scalar.store_double), "fpstore", "3.0"),
    ("stxssp", "vrs,ds(ra0)", d(61, 3), scalar.storing(scalar.store_single), "fpstore", "3.0"),
    ("lxvp", "xtp,dq(ra0)", d(6, 0), does.load_pair, "vecload", "3.1"),
    ("stxvp", "xtp,dq(ra0)", d(6, 1), does.store_pair, "vecstore", "3.1"),
    ("lxvpx", "xtp,ra0,rb", x(31, 333), does.load_pair, "vecload", "3.1"),
    ("stxvpx", "xtp,ra0,rb", x(31, 461), does.store_pair, "vecstore", "3.1"),
)


def _indexed() -> Iterator[Op]:
    for file, loads in _LOADS.items():
        for name, extended, meaning, needs in loads:
            yield row(name, f"{file}t,ra0,rb", x(31, extended), meaning(name), "vecload", needs)
    for file, stores in _STORES.items():
        for name, extended, meaning, needs in stores:
            yield row(name, f"{file}s,ra0,rb", x(31, extended), meaning(name), "vecstore", needs)
    for name, extended, meaning, needs in _SCALAR_LOADS:
        yield row(name, "xt,ra0,rb", x(31, extended), meaning(name), "fpload", needs)
    for name, extended, meaning, needs in _SCALAR_STORES:
        yield row(name, "xs,ra0,rb", x(31, extended), meaning(name), "fpstore", needs)


def _displaced() -> Iterator[Op]:
    for name, text, bits, meaning, sched, needs in _DISPLACED:
        yield row(name, text, bits, meaning(name), sched, needs)


def _controls() -> Iterator[Op]:
    """What vperm needs of an address, and streams of prefetches."""
    yield row("lvsl", "vrt,ra0,rb", x(31, 6), does.shift_left_control, "vecload", ALTIVEC)
    yield row("lvsr", "vrt,ra0,rb", x(31, 38), does.shift_right_control, "vecload", ALTIVEC)
    transient = 1 << 25
    for name, extended, bits in (
        ("dst", 342, 0),
        ("dstt", 342, transient),
        ("dstst", 374, 0),
        ("dststt", 374, transient),
    ):
        opcode = x(31, extended) | bits
        yield row(name, "ra,rb,strm", opcode, does.stream(name), "vecload", ALTIVEC)
    yield row("dss", "strm", x(31, 822), does.stop_stream, "vecload", ALTIVEC)
    yield row("dssall", "", x(31, 822) | transient, does.stop_streams, "vecload", ALTIVEC)


ROWS = (*_indexed(), *_displaced(), *_controls())
