"""Mutants: an access moved over each kind of system instruction that decides how accesses are made.

Each kind comes with what the architecture says of it (SDM: vol. 2, chapters 3 to 6; vol. 3, the
instruction's page and the dependences of chapter 5).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.regions.region_cases import Pair, in_lines
from tests.verification.regions.test_regions import compared

ORDERING = {
    "rsm 0x4000": "PSR.i: what follows is not interrupted",
    "ssm 0x4000": "PSR.i: what follows may be interrupted",
    "rsm 0x20000": "PSR.dt: data addresses are physical",
    "ssm 0x20000": "PSR.dt: data addresses are translated",
    "rum 8": "PSR.ac: misaligned accesses need not fault",
    "sum 8": "PSR.ac: misaligned accesses fault",
    "mov psr.l=r14": "the lower half of the PSR",
    "mov psr.um=r14": "the user mask",
    "mov rr[r14]=r15": "a region's identifier: which translations are found",
    "mov pkr[r14]=r15": "a protection key",
    "mov cr.pta=r14": "where the table of translations is",
    "mov cr.dcr=r14": "which speculative loads are deferred",
    "srlz.d": "what was changed in front of it holds for accesses behind it",
    "srlz.i": "as srlz.d, and for the fetch of instructions",
    "sync.i": "flushes of the instruction cache are complete",
    "epc": "the privilege with which accesses are made",
    "flushrs": "the register stack is in memory behind it",
    "loadrs": "the register stack comes from memory as it is then",
    "mf": "accesses in front of it are seen before those behind it",
    "mf.a": "accesses to devices in front of it are accepted",
    "fwb": "buffers of writes are emptied",
    "fc r14": "a line goes out of the caches",
    "itc.d r14": "a data translation is entered",
    "ptc.l r14,r15": "local translations are purged",
    "ptc.e r14": "all of them",
    "invala": "advanced loads are forgotten",
    "bsw.1": "the bank of r16 to r31",
    "cover": "the frame, and cr.ifs",
    "mov r14=ar.itc": "the time at which accesses are made",
}
"""Each kind, and what it says."""

PASSED = {
    "mov ar.k6=r14": "a kernel register: read by name only",
    "mov r15=ar.k6": "the same",
    "mov ar.rsc=0": "the register stack engine, whose accesses have no order among a program's",
    "mov ar.bspstore=r14": "the same",
    "mov ar.rnat=r14": "the same",
    "mov r15=ar.bsp": "the same",
    "mov r15=ar.bspstore": "the same",
    "mov ar.pfs=r14": "read by returns and new frames",
    "mov ar.ccv=r14": "read by cmpxchg, by name",
    "mov b6=r14": "read by branches",
}
"""What accesses may pass, since nothing that they do depends on it."""

ACCESSES = ("ld8 r8=[r9]", "st8 [r10]=r11", "ld8.s r8=[r9]")


def mutant(kind: str, access: str, is_behind: bool) -> Pair:
    """The access in front of the instruction and behind it: as it was, and as it would be."""
    texts = f"{access} | {kind} |", f"{kind} | {access} |"
    old, new = texts[::-1] if is_behind else texts
    return Pair(kind, in_lines(old), in_lines(new))


@pytest.mark.parametrize("kind", ORDERING)
def test_no_access_passes_a_system_instruction(kind: str, tmp_path: Path) -> None:
    for access in ACCESSES:
        for is_behind in (False, True):
            pair = mutant(kind, access, is_behind)
            assert not compared(pair, tmp_path).is_equal, (pair.old, pair.new)


@pytest.mark.parametrize("kind", ORDERING)
def test_where_nothing_moved_all_is_well(kind: str, tmp_path: Path) -> None:
    old = mutant(kind, ACCESSES[0], False).old
    assert compared(Pair(kind, old, old), tmp_path).is_equal


@pytest.mark.parametrize("kind", PASSED)
def test_what_no_access_depends_on_may_be_passed(kind: str, tmp_path: Path) -> None:
    for is_behind in (False, True):
        pair = mutant(kind, "st8 [r10]=r11", is_behind)
        assert compared(pair, tmp_path).is_equal, (pair.old, pair.new)


@pytest.mark.parametrize("kind", ORDERING)
def test_no_read_of_a_kernel_register_passes_one(kind: str, tmp_path: Path) -> None:
    """What interrupts the code may change it, and whether anything may is decided there."""
    for is_behind in (False, True):
        pair = mutant(kind, "mov r8=ar.k6", is_behind)
        assert not compared(pair, tmp_path).is_equal, (pair.old, pair.new)


EXIT = "(p6) br.cond.sptk.few out |"


def exchanged(read: str, dead: tuple[str, ...] = ()) -> Pair:
    """A read in front of an exit that it stood behind."""
    return Pair(read, in_lines(f"{EXIT} {read} |"), in_lines(f"{read} | {EXIT}"), dead)


def test_a_read_of_a_kernel_register_passes_an_exit(tmp_path: Path) -> None:
    """It never faults; where its result is read behind the exit it must stay."""
    assert compared(exchanged("mov r8=ar.k6", ("r8",)), tmp_path).is_equal
    assert not compared(exchanged("mov r8=ar.k6"), tmp_path).is_equal


@pytest.mark.parametrize("read", ["mov r8=ar.rsc", "mov r8=cr.iip", "mov r8=ar.itc"])
def test_other_reads_stay_among_exits(read: str, tmp_path: Path) -> None:
    assert not compared(exchanged(read, ("r8",)), tmp_path).is_equal


def test_a_write_of_a_kernel_register_stays_among_exits_and_its_reads(tmp_path: Path) -> None:
    assert not compared(exchanged("mov ar.k6=r8"), tmp_path).is_equal
    old, new = "mov ar.k6=r8 | mov r9=ar.k6 |", "mov r9=ar.k6 | mov ar.k6=r8 |"
    assert not compared(Pair("write", in_lines(old), in_lines(new)), tmp_path).is_equal
