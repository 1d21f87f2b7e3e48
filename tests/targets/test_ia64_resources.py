"""What IA-64 instructions touch besides their operands, and where they may stand: by libopcodes.

binutils has the dependency tables of SDM volume 3, chapter 5, by resource; ours has registers.
"""

from __future__ import annotations

import re

import pytest
from ia64_libopcodes import FIRST, LAST, PRIVILEGED, SLOT2, UNPREDICATED, Opinion, opinion

from rewriter.core.isa import Kind
from targets.ia64 import formats
from targets.ia64.fields import QP, SLOT_BITS
from targets.ia64.formats import SlotOp
from targets.ia64.isa import TABLE
from targets.ia64.registers import AR, CR, NAMES, REST

ROWS = [op for op in TABLE if isinstance(op, SlotOp)]
RULES = {
    formats.FIRST: FIRST,
    formats.LAST: LAST,
    formats.PRIVILEGED: PRIVILEGED,
    formats.SLOT2: SLOT2,
}

# Resource of the manual -> our register.  What every instruction reads (IP, CFM for the names of
# registers, the bits of PSR and the translation that any instruction or access obeys) is in the
# manual's lists of readers, not in ours; neither are the parts of memory and TLB.
NAMES_OF_WRITES = {
    r"AR\[FPSR\]\.sf\d\.flags": "fpsr.flags",
    r"AR\[FPSR\]\.sf\d\.controls": "fpsr.controls",
    r"AR\[(\w+)\].*": "ar.{}",
    r"CR\[(\w+)\]": "cr.{}",
    r"CR\[IRR%\]": "cr.irr0",
    r"PSR\.(ac|be|up)": "psr.um",
    r"PSR\.(mfl|mfh)": "psr.mf",
    r"PSR\.\w+": "psr",
    r"(CFM|ALAT|RSE)": "{}",
    r"(RR|DBR|IBR|PKR|PMC|PMD|MSR|CPUID)#": "{}",
    r"DAHR%.*": "dahr",
    r"[DI]T[CR]": "tlb",
}
NAMES_OF_READS = {
    r"AR\[FPSR\]\.sf\d\.flags": "fpsr.flags",
    r"AR\[FPSR\]\..*": "fpsr.controls",
    r"AR\[(\w+)\].*": "ar.{}",
    r"CR\[(DCR|IFA|IFS|IIP|IPSR|ITIR|TPR)\]": "cr.{}",
    r"(ALAT|RSE)": "{}",
    r"(IBR|PMC|PMD|MSR|CPUID)#": "{}",
}

# Where binutils' lists lack what the manual's chapter 2 says for the instruction.
GNU_LACKS_WRITES = {
    **dict.fromkeys(("fma.s", "fms.s", "fnma.s"), {"fpsr.flags"}),
    **{name: {"psr.mf"} for name in TABLE._by_name if name.startswith("fpcmp")},
    "rfi": {"dahr"},
}
GNU_LACKS_READS = {
    **dict.fromkeys(("fma.s", "fms.s", "fnma.s"), set[str]()),
}


def ours(op: SlotOp, registers: frozenset[int]) -> set[str]:
    """Names of the fixed registers of a row that are no GR, FR, PR or BR."""
    return {NAMES[register] for register in registers if register >= AR}


def theirs(names: frozenset[str], mapping: dict[str, str]) -> set[str]:
    """libopcodes' resources as our registers."""
    found = set()
    for name in names:
        for pattern, register in mapping.items():
            if match := re.fullmatch(pattern, name):
                found.add(register.format(*(group.lower() for group in match.groups())))
                break
    return found


def moved_by_number(op: SlotOp) -> bool:
    """Whether the row moves an AR or a CR, for which binutils lists each number."""
    return any(o.name in ("ar3", "cr3") for o in op.format.operands)


def asked(op: SlotOp) -> Opinion:
    found = opinion(sample(op), op.unit)
    assert found is not None, op
    return found


def sample(op: SlotOp) -> int:
    """A word of the row: fixed bits, and in each operand the first code that is not reserved."""
    word = op.match
    for operand in op.format.operands:
        word |= operand.insert(operand.extract(0)) if not _reserves(operand) else _first(operand)
    return word & (1 << SLOT_BITS) - 1
