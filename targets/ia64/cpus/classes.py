"""The Itanium 2's scheduling classes: which ports take them, and when their results are there.

What several sources say alike names both; where they disagree the figure is a parameter.
"""

from __future__ import annotations

from rewriter.core.target.bundled_cpu import IssueClass, RolePass
from rewriter.core.target.cpu import Figure, assumed
from targets.ia64.cpus.sources import BOTH, GCC, KNB, LINUX, SEED, disputed

_M = ("M0", "M1", "M2", "M3")
_I = ("I0", "I1")
_F = ("F0", "F1")
_B = ("B0", "B1", "B2")
_LOADS, _STORES = ("M0", "M1"), ("M2", "M3")
_M0, _M2, _I0 = ("M0",), ("M2",), ("I0",)

# M ports are given first to classes that only a part of them takes (the article's measurement,
# where the manual's text would split).  I ports are given in the order of the slots (gcc), and then
# what is left of the M ports to A-type instructions in I slots.
_NARROW, _WIDE, _I_SLOT = 0, 1, 2


def _m(ports: tuple[str, ...], latency: Figure, rank: int = _NARROW) -> IssueClass:
    return IssueClass({"M": ports}, latency, {"M": rank})


def _i(ports: tuple[str, ...], latency: Figure) -> IssueClass:
    return IssueClass({"I": ports}, latency, {"I": _I_SLOT})


def _a(latency: Figure) -> IssueClass:
    return IssueClass({"M": _M, "I": (*_I, *_M)}, latency, {"M": _WIDE, "I": _I_SLOT})


def _f(latency: Figure, both: bool = False) -> IssueClass:
    return IssueClass({"F": _F}, latency, {}, all_ports=both)


def _x(latency: Figure) -> IssueClass:
    return IssueClass({"X": _I}, latency, {"X": _I_SLOT})


def _b(latency: Figure) -> IssueClass:
    return IssueClass({"B": _B, "X": _B}, latency, {})


_ONE = Figure(1, BOTH)
_TWO = Figure(2, BOTH)
_FOUR = Figure(4, BOTH)
_ZERO = Figure(0, BOTH)
_NO_RESULT = Figure(1, f"{KNB}: no register result")
_SLOW_READ = Figure(12, LINUX)
_USE = Figure(5, SEED)
_OF_ITANIUM = f"{KNB}, labelled as of the first Itanium"

INTEGER = {
    **dict.fromkeys(("IALU", "ILOG", "PNT", "ICMP"), _a(_ONE)),
    "MMALU_A": _a(_TWO),
    **dict.fromkeys(("ISHF", "TBIT"), _i(_I0, _ONE)),
    "XTD": _i(_I, _ONE),
    "MMSHF": _i(_I, _TWO),
    "MMMUL": _i(_I0, _TWO),
    "MMALU_I": _i(_I, _TWO),
    "LONG_I": _x(_ONE),
    "NOP_X": _x(_NO_RESULT),
    "BRK_X": _x(_NO_RESULT),
    **dict.fromkeys(("NOP_I", "BRK_I", "CHK_I"), _i(_I, _NO_RESULT)),
    **dict.fromkeys(("TOBR", "TOPR", "TOAR_I", "FRIP"), _i(_I0, _ONE)),
    **dict.fromkeys(("FRBR", "FRPR", "FRAR_I"), _i(_I0, _TWO)),
}

MEMORY = {
    "LD": _m(_LOADS, Figure(1, f"{BOTH}: hit in the first-level cache")),
    **dict.fromkeys(("CLD", "FCLD", "FLDP check"), _m(_LOADS, _ZERO)),
    "FLD": _m(_M, Figure(6, f"{BOTH}: always from the second-level cache"), _WIDE),
    **dict.fromkeys(
        ("FLD advanced", "FLDP"), _m(_LOADS, Figure(6, f"{BOTH}: from the second-level cache"))
    ),
    "LFETCH": _m(_LOADS, disputed(0, f"5 in {KNB}, 0 in {GCC}; nothing waits for it")),
    **dict.fromkeys(("ST", "STF"), _m(_STORES, _NO_RESULT)),
    "SEM": _m(_STORES, Figure(6, f"{BOTH}: the pipeline stalls")),
    "TOFR": _m(_STORES, Figure(5, BOTH)),
    "FRFR": _m(_M2, Figure(5, BOTH)),
}

SYSTEM = {
    "CHK_ALAT": _m(_LOADS, _ZERO),
    "CHK_M": _m(_STORES, disputed(0, f"ports: M0 and M1 in {KNB}, M2 and M3 in {GCC}")),
    **dict.fromkeys(("NOP_M", "BRK_M"), _m(_M, _NO_RESULT, _WIDE)),
    "SYST_M": _m(_LOADS, _NO_RESULT),
    **dict.fromkeys(("SYST_M0", "RSE_M"), _m(_M0, _NO_RESULT)),
    "SYST_M2": _m(_M2, _ONE),
    **{
        f"SYST_M2 {name}": _m(_M2, _USE)
        for name in ("probe.r", "probe.w", "tpa", "tak", "thash", "ttag")
    },
    **dict.fromkeys(("SYST_M2 mov =psr", "SYST_M2 mov =psr.um"), _m(_M2, _SLOW_READ)),
    **{
        f"SYST_M2 mov ={name}": _m(_M2, assumed(12, "not published; as for mov =psr"))
        for name in ("rr", "dbr", "ibr", "pkr", "pmc", "pmd", "msr", "cpuid", "dahr")
    },
    "FRAR_M": _m(_M2, _SLOW_READ),
    "FRAR_M mov =ar.bsp": _m(_M2, disputed(12, f"12 in {LINUX}, 13 in {GCC}")),
    "FRAR_M mov =ar.rnat": _m(_M2, Figure(5, LINUX)),
    "FRAR_M mov =ar.unat": _m(_M2, disputed(5, f"5 in {LINUX}, 6 in {GCC}")),
    "FRAR_M mov =ar.itc": _m(_M2, disputed(36, f"35 to 36 in {LINUX}, 38 in {KNB}")),
    "FRCR": _m(_M2, assumed(12, f"cr.ipsr takes 12 in {LINUX}, the others are not published")),
    **{f"FRCR mov =cr.{name}": _m(_M2, Figure(2, LINUX)) for name in ("iip", "iim")},
    **{f"FRCR mov =cr.{name}": _m(_M2, assumed(35, _OF_ITANIUM)) for name in ("itm", "ivr", "tpr")},
    "TOAR_M": _m(_M2, assumed(5, _OF_ITANIUM)),
    "TOCR": _m(_M2, assumed(5, _OF_ITANIUM)),
}

FLOATING = {
    **dict.fromkeys(("FMAC", "FMISC", "FMINMAX", "FCVTFX", "FCVTXF", "XMA"), _f(_FOUR)),
    **dict.fromkeys(("FCMP", "FCLASS"), _f(_TWO)),
    "FOTHER": _f(_NO_RESULT),
    **dict.fromkeys(("NOP_F", "BRK_F"), _f(_NO_RESULT)),
    **dict.fromkeys(("SFMAC", "SFMISC", "SFMINMAX", "SFCVTFX", "SFCMP"), _f(_FOUR, both=True)),
}

BRANCHES = dict.fromkeys(("BR", "BR_B2", "BRP", "NOP_B", "BRK_B"), _b(_ONE))

CLASSES = {**INTEGER, **MEMORY, **SYSTEM, **FLOATING, **BRANCHES}

_MM = frozenset({"MMALU_A", "MMALU_I", "MMSHF", "MMMUL"})
_ALU = frozenset({"IALU", "ILOG", "PNT", "ISHF", "XTD", "LONG_I"})
_CONTROL = frozenset({"BR", "BR_B2"})
_TESTS = frozenset({"ICMP", "TBIT", "TOPR"})
_ARITHMETIC = frozenset({"FMAC", "FMISC", "FMINMAX", "FCVTFX", "FCVTXF", "XMA"})
_SIMD = frozenset({"SFMAC", "SFMISC", "SFMINMAX", "SFCVTFX", "SFCMP"})
_FLOAT_LOADS = frozenset({"FLD", "FLDP"})
_EVERY = frozenset[str]()
_ADDRESS, _DATA, _QP = frozenset({"address"}), frozenset({"data"}), frozenset({"qp"})
_LATE = "to a store's data or getf, one cycle more"


def _pass(
    producers: frozenset[str],
    consumers: frozenset[str],
    cycles: int | Figure,
    source: str,
    reads: frozenset[str] = _EVERY,
    wrote: frozenset[str] = frozenset({"result"}),
) -> RolePass:
    figure = cycles if isinstance(cycles, Figure) else Figure(cycles, source)
    return RolePass(producers, consumers, figure, reads, wrote)


# The first that fits counts.
PASSES = (
    _pass(_EVERY, _EVERY, 1, f"{KNB}: a post-incremented address", wrote=frozenset({"base"})),
    _pass(_TESTS, _CONTROL, 0, BOTH, _QP),
    _pass(frozenset({"FCMP", "FCLASS"}), _CONTROL, disputed(1, f"2 in {KNB}, 1 in {GCC}"), "", _QP),
    _pass(frozenset({"TOBR"}), _CONTROL, 0, BOTH),
    _pass(frozenset({"TOAR_I"}), frozenset({"BR br.ret"}), 0, BOTH),
    _pass(frozenset({"LD"}), _EVERY, 2, f"{BOTH}: to an address", _ADDRESS),
    _pass(frozenset({"LD"}), frozenset({"TOFR"}), 2, f"{KNB}: to setf"),
    _pass(frozenset({"LD"}), _MM, 2, f"{BOTH}: to a multimedia instruction"),
    _pass(frozenset({"CLD"}), _MM, 2, f"{GCC}: to a multimedia instruction"),
    _pass(_MM, _MM, 2, BOTH),
    _pass(_MM, _EVERY, 3, f"{BOTH}: to anything but a multimedia instruction"),
    _pass(_ALU, _MM, disputed(3, f"2 in {KNB}, 3 in {GCC}"), ""),
    _pass(_ARITHMETIC, frozenset({"FRFR"}), 5, f"{KNB}: {_LATE}"),
    _pass(_ARITHMETIC, frozenset({"STF"}), 5, f"{KNB}: {_LATE}", _DATA),
    _pass(_SIMD, frozenset({"FRFR"}), 5, f"{KNB}: {_LATE}"),
    _pass(_SIMD, frozenset({"STF"}), 5, f"{KNB}: {_LATE}", _DATA),
    _pass(_FLOAT_LOADS, frozenset({"FRFR"}), 7, f"{BOTH}: {_LATE}"),
    _pass(_FLOAT_LOADS, frozenset({"STF"}), 7, f"{BOTH}: {_LATE}", _DATA),
    _pass(frozenset({"TOFR"}), frozenset({"FRFR"}), 6, f"{BOTH}: {_LATE}"),
    _pass(frozenset({"TOFR"}), frozenset({"STF"}), 6, f"{BOTH}: {_LATE}", _DATA),
    _pass(frozenset({"FRFR"}), _MM, 6, KNB),
    _pass(frozenset({"FRBR", "FRPR"}), _MM, 3, KNB),
    _pass(frozenset({"FRAR_I"}), _MM, 4, KNB),
)
