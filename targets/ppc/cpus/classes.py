"""Scheduling classes, as rows of the table name them and timing tells them apart.

The table's are the types of gcc's rs6000 descriptions (`targets/ppc/isa`).  Timing refines some:
`insert64` is rldimi, `mul-small` a multiplication by a constant, `cr_logical3` an operation whose
result is not the bit of its last operand; what ends in `-p` has a prefix; a `branch-always` has no
condition, and one that `-sets` writes LR or CTR; what is for a cache is told by what it does.
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Sched
from targets.ppc.isa.formats import WORD

SIMPLE = "integer add logical shift shift-var exts insert insert64 isel trap"
RECORDS = "integer. add. logical. shift. shift-var. exts. insert. insert64."
LOADS = "load load-x load_l"
LOADS_UPDATE = "load-u load-ux"
LOADS_EXTEND = "load-ext load-ext-x load-ext-u load-ext-ux"
STORES = "store store-x store_c"
STORES_UPDATE = "store-u store-ux"
FLOATING = "fpload fpload-u fpload-ux fpstore fpstore-u fpstore-ux"
MANY = "load-many store-many"
CACHE = "dcbt dcbz dcbf icbi"
BRANCHES = "branch branch-always branch-sets jmpreg jmpreg-always jmpreg-sets"
CONDITIONS = "cmp cr_logical cr_logical3 mfcr mfcrf mtcr"
SPECIAL = "mtjmpr mfjmpr mtspr mfspr sync isync"
MULTIPLY = "mul mul. mul64 mul64. mul-small"
DIVIDE = "div div. div64 div64."
COUNT = "cntlz cntlz. popcnt"
FP = "fp fpsimple fpcompare dmul sdiv ddiv ssqrt dsqrt"
ALTIVEC = "vecload vecstore vecsimple veclogical veccomplex veccmp vecperm vecfloat"
VSX = "vecdouble vecfdiv vecdiv mtvsr mfvsr dfp crypto htm"
QUAD = "vecquad qmul"
MMA = "mma"

_ALL = (SIMPLE, RECORDS, LOADS, LOADS_UPDATE, LOADS_EXTEND, STORES, STORES_UPDATE, FLOATING, MANY)
_MORE = (CACHE, BRANCHES, CONDITIONS, SPECIAL, MULTIPLY, DIVIDE, COUNT, FP)
NAMES = tuple(" ".join((*_ALL, *_MORE, ALTIVEC, VSX, QUAD, MMA)).split())
"""Every class that all chips have."""

PREFIXED = (
    "integer-p load-p load-ext-p store-p load-many-p store-many-p fpload-p fpstore-p vecload-p "
    "vecstore-p vecperm-p mma-p"
)
"""Those of instructions with a prefix, which later chips have."""

_CACHE_OPERATIONS = {"dcbt": "dcbt", "dcbtst": "dcbt", "icbi": "icbi", "dcba": "dcbz"}
_NAMED = {"rldimi": "insert64", "rldimi.": "insert64.", "mulli": "mul-small", "dcbz": "dcbz"}
_NAMED["dcbzl"] = "dcbz"


def refined(insn: Insn, sets: bool) -> str:
    """The class of an instruction; `sets`: it writes LR or CTR."""
    name = insn.op.sched
    if insn.size > WORD:
        return f"{name}-p"
    if name in ("branch", "jmpreg"):
        always = "" if insn.op.flow.conditional else "-always"
        return f"{name}-sets" if sets else f"{name}{always}"
    if name == "cache":
        return _CACHE_OPERATIONS.get(insn.name, "dcbf")
    if name == "cr_logical" and insn.has("bt") and _bit(insn, "bt") != _bit(insn, "bb"):
        return "cr_logical3"
    return _NAMED.get(insn.name, name)


def _bit(insn: Insn, operand: str) -> tuple[int, int]:
    """A bit of the condition register: its field and its number there."""
    return insn.operand(operand), insn.operand(f"{operand}_bit")


def table(*rows: tuple[str, Sched], without: str = "") -> dict[str, Sched]:
    """The classes of a chip from rows of their names; of several with a name the last counts.

    Those in `without` are what the chip does not have; all others must be there.
    """
    found = {name: sched for names, sched in rows for name in names.split()}
    absent, wanted = {*without.split()}, {*NAMES}
    known = {*found} - {*PREFIXED.split()}
    assert known | absent == wanted and not {*found} & absent, known ^ (wanted - absent)
    return found
