"""The Itanium 2 (McKinley, Madison): two bundles a cycle, in order.

What several sources say alike names both; where they disagree the figure is a parameter.
"""

from __future__ import annotations

from dataclasses import replace

from rewriter.core.target.bundled_cpu import (
    Bundled,
    Dispersal,
    Front,
    Hierarchy,
    Rotating,
    Waits,
)
from rewriter.core.target.cpu import Cache, Figure
from targets.ia64.cpus.classes import CLASSES, PASSES
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
    GCC_COST,
    INTEL,
    KNB,
    LINUX,
    LINUX_COPY,
    SDM,
    described,
    guess,
)
from targets.ia64.cpus.traits import traits
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.registers import AR, BR, CR, FR, GR, NUMBERS, PR

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

FEATURES = frozenset({"LFETCH"})
_FETCH = FRONT.fetch_bytes
CPU = described("itanium2", "Itanium 2 (McKinley)", FEATURES, _FETCH, ISSUE, "McKinley")


def _with_l3(megabytes: int, ways: Figure) -> Bundled:
    size = guess(megabytes * _KIB * _KIB, "bytes; 1.5 to 9 MB by model")
    levels = (_L1D, _L2, replace(_L3, size=size, ways=ways))
    return replace(ISSUE, memory=replace(MEMORIES, levels=levels))


MADISON = described(
    "madison",
    "Itanium 2 (Madison): a larger third-level cache",
    FEATURES,
    _FETCH,
    _with_l3(6, guess(24, "ways")),
    "Madison",
    "Madison up to 9M cache",
)
