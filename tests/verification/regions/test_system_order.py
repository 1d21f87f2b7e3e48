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
    "mf": "accesses in front of it are seen before those behind it",
    "mf.a": "accesses to devices in front of it are accepted",
    "fwb": "buffers of writes are emptied",
    "fc r14": "a line goes out of the caches",
    "itc.d r14": "a data translation is entered",
    "ptc.l r14,r15": "local translations are purged",
    "ptc.e r14": "all of them",
    "invala": "advanced loads are forgotten",
    "bsw.0": "the bank of r16 to r31, of which an interruption takes bank 0",
    "bsw.1": "the same",
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


def passes(kind: str, what: str, tmp_path: Path) -> set[bool]:
    """Whether it may pass such an instruction, upwards and downwards."""
    pairs = (mutant(kind, what, is_behind) for is_behind in (False, True))
    return {compared(pair, tmp_path).is_equal for pair in pairs}


def test_what_only_reads_memory_passes_loadrs(tmp_path: Path) -> None:
    """loadrs reads the backing store, which a register may point to, and writes no memory."""
    assert passes("loadrs", "ld8 r8=[r9]", tmp_path) == {True}
    assert passes("loadrs", "ld8.s r8=[r9]", tmp_path) == {True}
    assert passes("loadrs", "mov ar.lc=r9", tmp_path) == {True}
    for stays in ("st8 [r10]=r11", "ld8.a r8=[r9]", "ld8.acq r8=[r9]", "adds r12=16,r12"):
        assert passes("loadrs", stays, tmp_path) == {False}, stays


@pytest.mark.parametrize("named", ["rsc", "bspstore", "rnat"])
def test_a_register_of_the_register_stack_stays_among_loadrs(named: str, tmp_path: Path) -> None:
    assert passes("loadrs", f"mov ar.{named}=r9", tmp_path) == {False}


@pytest.mark.parametrize("read", ["mov r8=ar.bspstore", "mov r8=ar.rnat"])
def test_a_read_of_what_loadrs_changes_stays(read: str, tmp_path: Path) -> None:
    assert passes("loadrs", read, tmp_path) == {False}


SWITCHES = ("bsw.0", "bsw.1", "cover")
DECIDING = tuple(kind for kind in ORDERING if kind not in SWITCHES)


@pytest.mark.parametrize("kind", DECIDING)
def test_no_read_of_a_kernel_register_passes_one(kind: str, tmp_path: Path) -> None:
    """What interrupts the code may change it, and whether anything may is decided there."""
    assert passes(kind, "mov r8=ar.k6", tmp_path) == {False}


@pytest.mark.parametrize("kind", SWITCHES)
def test_a_read_of_a_kernel_register_passes_what_gives_names_to_other_registers(
    kind: str, tmp_path: Path
) -> None:
    """It cannot fault, and nothing is decided there but which register a name stands for."""
    assert passes(kind, "mov r8=ar.k6", tmp_path) == {True}
    named = "r32" if kind == "cover" else "r16"
    assert passes(kind, f"mov {named}=ar.k6", tmp_path) == {False}


@pytest.mark.parametrize("kind", SWITCHES)
@pytest.mark.parametrize("stays", ["mov r8=ar.pfs", "mov r8=psr", "srlz.d", "rsm 0x4000", "epc"])
def test_what_may_fault_or_changes_the_state_stays_on_its_side_of_a_switch(
    kind: str, stays: str, tmp_path: Path
) -> None:
    assert passes(kind, stays, tmp_path) == {False}


def test_a_read_of_a_kernel_register_stays_between_what_decides_around_a_switch(
    tmp_path: Path,
) -> None:
    """The switch that it passes is no way around what stands behind that."""
    pair = Pair(
        "around",
        in_lines("srlz.d | bsw.1 | mov r8=ar.k6 |"),
        in_lines("mov r8=ar.k6 | srlz.d | bsw.1 |"),
    )
    assert not compared(pair, tmp_path).is_equal


@pytest.mark.parametrize("kind", ["srlz.d", "rsm 0x4000", "ssm 0x4000"])
def test_a_read_of_a_kernel_register_does_not_come_into_the_group_of_what_decides(
    kind: str, tmp_path: Path
) -> None:
    """What such an instruction does holds for the groups behind its own."""
    old, new = f"{kind} | mov r8=ar.k6 |", f"{kind} / mov r8=ar.k6 |"
    pair = Pair(kind, in_lines(old), in_lines(new))
    assert compared(pair, tmp_path).reason == "a stop behind a system instruction is missing"


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
