"""The Itanium 2 (McKinley, Madison): two bundles a cycle, in order.

What several sources say alike names both; where they disagree the figure is a parameter.
"""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.bundled import (
    Bundled,
    Dispersal,
    Front,
    Hierarchy,
    IssueClass,
    RolePass,
    Rotating,
    Waits,
)
from rewriter.core.cpu import Cache, Figure, assumed
from targets.ia64.cpus.pairs import (
    BRU,
    ECHOES,
    FE,
    PAIRS,
    SPLITS_AFTER,
    SPLITS_BEFORE,
    SPLITS_BETWEEN,
)
from targets.ia64.cpus.sources import (
    BOTH,
    GCC,
    GCC_COST,
    INTEL,
    KNB,
    LINUX,
    LINUX_COPY,
    SDM,
    SEED,
    described,
    disputed,
    guess,
)
from targets.ia64.cpus.traits import traits
from targets.ia64.fields import BUNDLE
from targets.ia64.registers import AR, BR, CR, FR, GR, NUMBERS, PR

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
    return IssueClass({"B": _B, "X": _I}, latency, {"X": _I_SLOT})


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

_BUSY_ENDS = frozenset({"MIB", "MMB", "MFB"})
DISPERSAL = Dispersal(
    bundles=Figure(2, BOTH),
    bundle_bytes=Figure(BUNDLE, f"{SDM} 3.3"),
    ending=frozenset({"MBB", "BBB"}),
    ending_if_busy=_BUSY_ENDS,
    idle=frozenset({"NOP_B", "BRP"}),
    apart=frozenset({("MII", "MX"), *((shape, "BBB") for shape in _BUSY_ENDS)}),
    places={
        **{(shape, 2): ("B2",) for shape in (*_BUSY_ENDS, "MBB", "BBB")},
        ("MBB", 1): ("B1",),
        ("BBB", 0): ("B0",),
        ("BBB", 1): ("B1",),
    },
    after=SPLITS_AFTER,
    before=SPLITS_BEFORE,
    between=SPLITS_BETWEEN,
)

GRALL, GRGR = "BE_EXE_BUBBLE.GRALL", "BE_EXE_BUBBLE.GRGR"
WAITS = (
    Waits(GR, FR - 1, GRALL, GRGR, frozenset({"LD", "CLD", "SEM"})),
    Waits(FR, PR - 1, "BE_EXE_BUBBLE.FRALL"),
    Waits(PR, BR - 1, "BE_EXE_BUBBLE.PR"),
    Waits(BR, AR - 1, "BE_EXE_BUBBLE.ARCR"),
    Waits(AR, CR - 1, "BE_EXE_BUBBLE.ARCR"),
    Waits(CR, NUMBERS["ip"] - 1, "BE_EXE_BUBBLE.ARCR"),
)

FRONT = Front(
    fetch_bytes=Figure(32, f"{KNB}: two bundles"),
    buffer_bundles=Figure(8, "Stallings, Computer Organization and Architecture, chapter 21"),
    taken=guess(0, "bubbles behind a branch that is predicted taken"),
    mispredicted=guess(6, "bubbles behind a branch that is predicted wrongly"),
    history_bits=guess(4, "outcomes that a branch's history holds"),
    counter_bits=guess(2, "bits of a prediction counter"),
    return_stack=guess(8, "entries"),
    known=Figure(7, f"{LINUX}: from mov b= to its branch"),
    counter=BRU,
    starved=FE,
)

FIRST_STACKED = GR + 32
_KIB = 1024
_LINE = Figure(128, KNB)
_L1D = Cache(Figure(16 * _KIB, KNB), Figure(64, KNB), Figure(4, KNB), Figure(1, KNB))
_L2 = Cache(Figure(256 * _KIB, KNB), _LINE, Figure(8, KNB), Figure(5, f"{KNB}; 9 is typical"))
_L3 = Cache(
    Figure(3 * _KIB * _KIB, KNB), _LINE, Figure(12, KNB), Figure(12, f"{KNB}; 16 is typical")
)

MEMORIES = Hierarchy(
    levels=(_L1D, _L2, _L3),
    memory=guess(200, "cycles to memory; it depends on the machine"),
    loads=frozenset({"LD", "CLD", "FLD", "FLDP", "FCLD", "SEM"}),
    stores=frozenset({"ST", "STF", "SEM"}),
    prefetches=frozenset({"LFETCH"}),
    around=frozenset({"FLD", "FLDP", "FCLD", "STF", "SEM"}),
    banks=Figure(16, INTEL),
    bank_bytes=Figure(16, INTEL),
    conflict=Figure(6, f"{INTEL}: a load of 6 cycles takes 12"),
    after_store=Figure(17, GCC_COST),
    forwarding="BE_L1D_FPU_BUBBLE.L1D_STBUFRECIR",
    misses=Figure(16, f"{INTEL}; {LINUX_COPY}"),
    queue="BE_L1D_FPU_BUBBLE.L1D_L2BPRESS",
)

ISSUE = Bundled(
    classes=CLASSES,
    passes=PASSES,
    pairs=PAIRS,
    echoes=ECHOES,
    dispersal=DISPERSAL,
    waits=WAITS,
    front=FRONT,
    memory=MEMORIES,
    rotating=(Rotating(FIRST_STACKED, 0), Rotating(FR + 32, 96), Rotating(PR + 16, 48)),
    priority=(
        "BE_FLUSH_BUBBLE",
        "BE_L1D_FPU_BUBBLE",
        "BE_EXE_BUBBLE",
        "BE_RSE_BUBBLE",
        "BACK_END_BUBBLE",
    ),
    traits=traits,
)

_FETCH = FRONT.fetch_bytes
CPU = described("itanium2", "Itanium 2 (McKinley)", frozenset(), _FETCH, ISSUE)


def _with_l3(megabytes: int, ways: Figure) -> Bundled:
    size = guess(megabytes * _KIB * _KIB, "bytes; 1.5 to 9 MB by model")
    levels = (_L1D, _L2, replace(_L3, size=size, ways=ways))
    return replace(ISSUE, memory=replace(MEMORIES, levels=levels))


MADISON = described(
    "madison",
    "Itanium 2 (Madison): a larger third-level cache",
    frozenset(),
    _FETCH,
    _with_l3(6, guess(24, "ways")),
)
