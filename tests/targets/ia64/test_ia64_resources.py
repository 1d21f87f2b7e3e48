"""What IA-64 instructions touch besides their operands, and where they may stand: by libopcodes.

binutils has the dependency tables of SDM volume 3, chapter 5, by resource; ours has registers.
"""

from __future__ import annotations

import random
import re

import pytest

from targets.ia64.isa import formats
from targets.ia64.isa.fields import QP
from targets.ia64.isa.formats import SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import AR, BR, FR, GR, NAMES, NUMBERS, PR
from tests.targets.ia64.ia64_libopcodes import (
    FIRST,
    LAST,
    PRIVILEGED,
    SLOT2,
    UNPREDICATED,
    Opinion,
    opinion,
)
from tests.targets.ia64.ia64_objdump import SLOT
from tests.targets.ia64.ia64_sweep import random_insn

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
WRITES = {
    r"AR\[FPSR\]\.sf\d\.flags": "fpsr.flags",
    r"AR\[FPSR\]\.sf\d\.controls": "fpsr.controls",
    r"AR\[(\w+)\].*": "ar.{}",
    r"CR\[(\w+)\]": "cr.{}",
    r"CR\[IRR%\]": "cr.irr0",
    r"PSR\.(ac|be|up)": "psr.um",
    r"PSR\.(mfl|mfh)": "psr.mf",
    r"PSR\.cpl": "psr.cpl",
    r"PSR\.\w+": "psr",
    r"(CFM|ALAT|RSE)": "{}",
    r"(RR|DBR|IBR|PKR|PMC|PMD|MSR|CPUID)#": "{}",
    r"DAHR%.*": "dahr",
    r"[DI]T[CR]": "tlb",
}
READS = {
    r"AR\[FPSR\]\.sf\d\.flags": "fpsr.flags",
    r"AR\[FPSR\]\..*": "fpsr.controls",
    r"AR\[(\w+)\].*": "ar.{}",
    r"CR\[(DCR|IFA|IFS|IIP|IPSR|ITIR|TPR)\]": "cr.{}",
    r"(ALAT|RSE)": "{}",
    r"(IBR|PMC|PMD|MSR|CPUID)#": "{}",
}

IMPLIED = {
    "ip",
    "cfm",
    "psr",
    "psr.um",
    "psr.mf",
    "psr.cpl",
    "rr",
    "dahr",
    "pkr",
    "dbr",
    "cr.pta",
    "tlb",
}

# Writes that binutils' tables lack: a product rounded to single sets flags as the others do, a
# parallel compare writes a floating-point register, rfi restores the frame's access hints.
_COMPARES = ("eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord")
GNU_LACKS: dict[str, set[str]] = {
    **{name: {"fpsr.flags"} for name in ("fma.s", "fms.s", "fnma.s")},
    **{f"fpcmp.{relation}": {"psr.mf"} for relation in _COMPARES},
    "rfi": {"dahr"},
}


# Rows whose operands binutils' tables have otherwise than the manual's instruction pages.
OTHERWISE = {
    # Not among the readers and writers of floating-point and predicate registers.
    *(("fcmp.unord" + unc, "F4") for unc in ("", ".unc")),
    *((f"fpcmp.{relation}", "F8") for relation in _COMPARES),
    # Newer instructions, and forms, without their operands.
    *(("mpy4", "I2"), ("mpyshl4", "I2"), ("mov", "M50"), ("lfetch.count", "M13")),
    *(("lfetch" + kind, "M13") for kind in ("", ".excl", ".fault", ".fault.excl")),
    # Names a register for the sake of its ALAT entry: we take it as read.
    *((f"chk.a.{kind}", form) for kind in ("nc", "clr") for form in ("M22", "M23")),
    *(("invala.e", form) for form in ("M26", "M27")),
    # Among the readers of general registers by mnemonic, though an immediate is moved or an FR.
    *(("mov.i", "I27"), ("mov.m", "M30"), ("chk.s", "M21")),
    # No predicate in one of the two: a counted branch has none, rum and br.ia are forgotten.
    *((f"br.{kind}", "B2") for kind in ("cloop", "ctop", "cexit")),
    *(("br.ia", "B4"), ("rum", "M44")),
    # They exchange the banks of r16 to r31; binutils has PSR.bn for that.
    *(("bsw.0", "B8"), ("bsw.1", "B8"), ("rfi", "B8")),
}


def ours(registers: frozenset[int]) -> set[str]:
    """Names of those of the registers that are no GR, FR, PR or BR."""
    return {NAMES[register] for register in registers if register >= AR}


def files(registers: set[int]) -> set[str]:
    """The files of the registers, out of GR, FR, PR and BR."""
    starts = ((GR, "GR"), (FR, "FR"), (PR, "PR"), (BR, "BR"))
    return {[n for start, n in starts if start <= r][-1] for r in registers if r < AR}


def named(names: frozenset[str]) -> set[str]:
    """The files of libopcodes' resources."""
    return {name[:2] for name in names if re.match(r"(GR|FR|PR|BR)[%0-9]", name)}


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
    word = TABLE.encode(random_insn(op, random.Random(1)))
    found = opinion(word & SLOT, op.unit)
    assert found is not None, op
    return found


@pytest.mark.parametrize("unit", "AIMFBX")
def test_rules_are_the_manuals(unit: str) -> None:
    for op in (op for op in ROWS if op.unit == unit):
        flags = asked(op).flags
        assert {rule for rule, flag in RULES.items() if flags & flag} == op.rules, op
        predicated = QP.name in [o.name for o in op.format.operands]
        assert predicated == (not flags & UNPREDICATED) or op.name == "br.ia", op


@pytest.mark.parametrize("unit", "AIMFBX")
def test_writes_are_the_manuals(unit: str) -> None:
    for op in (op for op in ROWS if op.unit == unit and not moved_by_number(op)):
        effects = TABLE.effects(op)
        found = asked(op).writes
        expected = theirs(found, WRITES)
        assert ours(effects.fixed_writes) == expected | GNU_LACKS.get(op.name, set()), op
        assert effects.stores == ("memory" in found), op


@pytest.mark.parametrize("unit", "AIMFBX")
def test_reads_are_the_manuals(unit: str) -> None:
    for op in (op for op in ROWS if op.unit == unit and not moved_by_number(op)):
        effects = TABLE.effects(op)
        found = asked(op).reads
        if op.name != "br.ia":  # reads all that the other instruction set maps on
            assert ours(effects.fixed_reads) - IMPLIED == theirs(found, READS), op
        assert effects.loads == ("memory" in found), op


@pytest.mark.parametrize("unit", "AIMFBX")
def test_operands_are_read_and_written_as_the_manual_says(unit: str) -> None:
    for op in (op for op in ROWS if op.unit == unit):
        effects, found = TABLE.effects(op), asked(op)
        bases = [operand.base for operand in op.format.operands]
        written = files({*(bases[n] for n in effects.writes), *effects.fixed_writes})
        read = files({*(bases[n] for n in effects.reads), *effects.fixed_reads})
        same = (written, read) == (named(found.writes), named(found.reads))
        # (binutils lists nothing at all for the move from DAHR.)
        otherwise = (op.name, op.format.name) in OTHERWISE or "dahr[" in op.format.syntax
        assert same != otherwise, op


def test_a_missing_resource_is_seen() -> None:
    """The comparison can fail: a compare-and-exchange that forgets the value to compare with."""
    op = next(op for op in ROWS if op.name == "cmpxchg8.acq")
    forgetful = TABLE.effects(op).fixed_reads - {NUMBERS["ar.ccv"]}
    assert ours(forgetful) - IMPLIED != theirs(asked(op).reads, READS)
