"""Whether instructions may stand in one instruction group (SDM vol. 1, 3.4; vol. 3, chapter 5).

Within a group every read sees the value from before the group, so a register that one instruction
writes may not be read or written by a later one; the exceptions are `may_read` and `_may_write`.
Instructions whose effect needs a serialisation (writers of PSR but for the user mask and the
privilege level, of CRs, of translations) are told only from readers that name the same resource: a
scheduler does not move them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.registers import register_mask
from rewriter.core.masks import bits
from targets.ia64.isa.classes import clears
from targets.ia64.isa.fields import QP
from targets.ia64.isa.formats import PRIVILEGED, SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import AR, BR, FR, GR, NUMBERS, PR


class Hazard(Enum):
    """The kind of a dependency that a group must not have."""

    RAW = "read after write"
    WAW = "write after write"
    WAR = "write after read"


@dataclass(frozen=True, slots=True)
class Violation:
    """Instructions `first` and `second` (positions in the group) clash over a register.

    It is not `certain` when they have different qualifying predicates: never both true, perhaps.
    It is `exact` when the manual forbids the two for that register; else it may have parts, of
    which they touch different ones.
    """

    first: int
    second: int
    hazard: Hazard
    register: int
    certain: bool
    exact: bool


def _resources(*names: str) -> int:
    return register_mask(NUMBERS[name] for name in names)


_PREDICATES = register_mask(range(PR + 1, PR + 64))
_ROTATING = register_mask((*range(GR + 32, FR), *range(FR + 32, PR), *range(PR + 16, BR)))
_P63 = 1 << PR + 63
_BRANCH_REGISTERS = register_mask(range(BR, AR))
_FLOATING = register_mask(range(FR + 2, PR))
_PFS = _resources("ar.pfs")
_ALAT = _resources("alat")  # an access by one instruction at a time, in program order
_UNAT = _resources("ar.unat")
_FRAME = _resources("cfm")
_TRANSLATIONS = _resources("tlb")
_FLAGS = _resources("fpsr.flags")
_MODIFIED = _resources("psr.mf")
_STATUS = _resources("fpsr.controls", "fpsr.flags")
_LEVEL, _USER = _resources("psr.cpl"), _resources("psr.um")
_OBEYED = _LEVEL | _USER
_OF_ACCESSES = 0b1010  # psr.be and psr.ac, of the bits of the user mask
# Application registers that not every privilege level may write, and read.
_READ_BY_LEVEL = _resources("ar.itc", "ar.ruc")
_WRITTEN_BY_LEVEL = _READ_BY_LEVEL | _resources("ar.rsc", *(f"ar.k{n}" for n in range(8)))
# A branch that is taken ends the group.  These are taken if their predicate is true, and only then
# do they write anything.
_TAKEN = ("br.cond", "br.call", "br.ret", "br.ia", "brl.cond", "brl.call", "rfi")
_PURGES = ("ptc", "ptr")
# What reads its predicate as the group has set it, and what checks or sets a field of FPSR by
# status field 0.
_BRANCHES = ("BR", "BR_B2", "BRK_B", "NOP_B")
_BY_FIELD_0 = ("fsetc", "fchkf")
_INTEGER_TESTS = ("cmp", "cmp4", "tbit", "tnat", "tf")


def violations(group: Sequence[Insn]) -> Iterator[Violation]:
    """The clashes in a group, whose instructions are given in order."""
    written = [TABLE.defs(insn) for insn in group]
    reads = read if any(defs & _OBEYED for defs in written) else TABLE.uses
    touched = [reads(insn) | defs for insn, defs in zip(group, written, strict=True)]
    for second, later in enumerate(group):
        taken: set[int] = set()  # predicates under which control does not come from above
        for first in range(second - 1, -1, -1) if touched[second] else ():
            earlier = group[first]
            predicate = _qualifying(earlier)
            if earlier.name.startswith(_TAKEN):
                if predicate == PR:
                    break
                taken.add(predicate)
                continue
            if taken:  # a branch reads what is written before it in the group
                taken.difference_update(bits(written[first] & _PREDICATES))
            if written[first] & touched[second] or _rotates(later) or _rotates(earlier):
                certain = len({predicate, _qualifying(later)} - {PR}) < 2
                kept = _cleared(earlier) if predicate in taken else -1
                for hazard, mask in _clashes(earlier, later):
                    for register in bits(mask & kept):
                        exact = _is_exact(register, earlier, later)
                        yield Violation(first, second, hazard, register, certain, exact)


def _is_exact(register: int, earlier: Insn, later: Insn) -> bool:
    """Whether the manual forbids two instructions that clash over a register here.

    Of registers of the system it often tells more apart: bits of masks, numbers of region and debug
    registers, bits of UNAT.  A move to the predicates may leave the register out by its mask, and
    a check load may write nothing.
    """
    if register >= AR:
        return False
    if PR <= register < BR:
        return "TOPR" not in (earlier.op.sched, later.op.sched)
    return not any(".c." in insn.name for insn in (earlier, later))


def clash(earlier: Insn, later: Insn) -> bool:
    """Whether there is one between two instructions that are alone in a group."""
    return not earlier.name.startswith(_TAKEN) and any(True for _ in _clashes(earlier, later))


def read(insn: Insn) -> int:
    """Mask of what the instruction reads, with what it obeys: privilege level and user mask.

    It obeys more, but of that a stop alone makes nothing known: a serialization is needed.
    """
    return TABLE.uses(insn) | _obeyed(insn)


def _obeyed(insn: Insn) -> int:
    guarded = _guarded(insn.op)
    if guarded is not None:
        return _LEVEL if guarded >> insn.operand("ar3") & 1 else 0
    return _obeyed_by(insn.op)


@cache
def _guarded(op: Op) -> int | None:
    """Of a move from or to application registers: those of which only some levels may."""
    guarded = {"TOAR_M": _WRITTEN_BY_LEVEL, "FRAR_M": _READ_BY_LEVEL}
    return None if _accesses(op) else guarded.get(op.sched)


@cache
def _obeyed_by(op: Op) -> int:
    """What all instructions of another row obey."""
    if _accesses(op):
        return _OBEYED
    assert isinstance(op, SlotOp)
    is_probe = op.name.startswith("probe.") or NUMBERS["pmd"] in TABLE.effects(op).fixed_reads
    return _LEVEL if op.sched == "LFETCH" or is_probe or PRIVILEGED in op.rules else 0


def _qualifying(insn: Insn) -> int:
    return insn.operand(QP.name) if insn.has(QP.name) else PR


def _clashes(earlier: Insn, later: Insn) -> Iterator[tuple[Hazard, int]]:
    written = TABLE.defs(earlier)
    uses = read(later) if written & _OBEYED else TABLE.uses(later)
    if (both := written & uses) and (raw := both & ~may_read(earlier, later)):
        yield Hazard.RAW, raw
    if (both := written & TABLE.defs(later)) and (waw := both & ~_may_write(earlier, later)):
        yield Hazard.WAW, waw
    if _rotates(later) and (war := TABLE.uses(earlier) & TABLE.defs(later) & _P63):
        yield Hazard.WAR, war
    if _rotates(earlier) and _is_renamed(later):
        yield Hazard.RAW, _FRAME


def _is_renamed(insn: Insn) -> bool:
    """Whether it names a register that stands for another behind a branch that rotates."""
    effects = TABLE.effects(insn.op)
    named = (insn.operands[n] for n in (*effects.reads, *effects.writes))
    return bool(register_mask(named) & _ROTATING)


def _cleared(insn: Insn) -> int:
    """The predicates that it writes even if its qualifying predicate is false."""
    return TABLE.defs(insn) & _PREDICATES if clears(insn.op) else 0


def may_read(earlier: Insn, later: Insn) -> int:
    """Registers that `later` may read although `earlier` writes them."""
    mask = _ALAT | _other_status(earlier, later)
    if later.op.sched in _BRANCHES and (_test(earlier) or earlier.op.sched == "TOPR"):
        mask |= _PREDICATES
    if earlier.op.sched == "TOBR" and later.name.startswith("br"):
        mask |= _BRANCH_REGISTERS
    if later.op.flow is Flow.RETURN and earlier.op.sched == "TOAR_I":
        mask |= _PFS
    if earlier.name == "alloc":
        mask |= _FRAME
    if earlier.op.sched in ("CLD", "FCLD", "FLDP") and ".c." in earlier.name:
        mask |= _loaded(earlier)  # a check load that misses starts its readers again
    if earlier.has("imm24") and not earlier.operand("imm24") & _OF_ACCESSES and _accesses(later.op):
        mask |= _USER
    return mask


def _accesses(op: Op) -> bool:
    effects = TABLE.effects(op)
    return effects.loads or effects.stores


def _loaded(insn: Insn) -> int:
    """The targets of a load, without the address that it increments."""
    return register_mask(insn.operand(name) for name in ("r1", "f1", "f2") if insn.has(name))


def _may_write(earlier: Insn, later: Insn) -> int:
    """Registers that both may write."""
    mask = _ALAT | _other_status(earlier, later)
    if earlier.name.startswith(_PURGES) and later.name.startswith(_PURGES):
        mask |= _TRANSLATIONS
    if earlier.name == later.name == "st8.spill":  # each its own bit
        mask |= _UNAT
    if TABLE.defs(earlier) & _FLOATING and TABLE.defs(later) & _FLOATING:
        mask |= _MODIFIED
    if _computes(earlier) and _computes(later):
        mask |= _FLAGS
    return mask | _parallel(earlier, later)


def _computes(insn: Insn) -> bool:
    """Whether the instruction only ever sets flags of FPSR, as arithmetic does."""
    return insn.has("sf") and insn.name != "fclrf"


def _other_status(earlier: Insn, later: Insn) -> int:
    """The status of FPSR, if the two have different fields of it."""
    fields = [insn.operand("sf") for insn in (earlier, later) if insn.has("sf")]
    if later.name in _BY_FIELD_0 and not fields[0]:
        return 0
    return _STATUS if len(set(fields)) == 2 else 0


def _parallel(earlier: Insn, later: Insn) -> int:
    """Predicates that both only ever clear, or both only ever set."""
    mine, others = _gathers(earlier), _gathers(later)
    return sum(mine[kind] & others[kind] for kind in mine.keys() & others.keys())


def _gathers(insn: Insn) -> dict[str, int]:
    """The predicates that a parallel compare writes, by the type of the write."""
    if not _test(insn):
        return {}
    if insn.name.endswith(".or.andcm"):
        return {"or.": 1 << insn.operand("p1"), ".andcm": 1 << insn.operand("p2")}
    both = TABLE.defs(insn) & _PREDICATES
    return {kind: both for kind in ("and", "or") if insn.name.endswith("." + kind)}


def _test(insn: Insn) -> bool:
    return insn.name.partition(".")[0] in _INTEGER_TESTS


def _rotates(insn: Insn) -> bool:
    return bool(insn.op.flow is Flow.BRANCH and TABLE.defs(insn) & _FRAME)
