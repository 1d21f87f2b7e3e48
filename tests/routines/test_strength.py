"""The trial tells a routine from its one-bit mutants: a sample of those of the real libc and ours.

`benchmarks/trial_strength.py` prints the whole table.
"""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import pytest
from alpha_libc import LIBC_BASE, Libc

from benchmarks.trial_strength import ROUTINES
from rewriter.contracts import CONTRACTS
from rewriter.core.isa.instruction import Insn
from rewriter.verify.trials.engines.qemu import GuestHung
from rewriter.verify.trials.engines.sweep import Code, Sweep
from rewriter.verify.trials.image import code_at
from targets.alpha import routines
from targets.alpha.assembler import assemble
from targets.alpha.isa.rows import TABLE
from targets.alpha.trial_program import AlphaTrials
from tests.support.depth import depth
from tests.support.trial_mutants import Fate, Mutants, Strength, same_effect

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"strlen": 26 * 4, "strchr": 42 * 4, "ffsll": 30 * 4, "udiv_qrnnd": 100 * 4}
"""Bytes, of the libc's routines."""


def _strength(
    code: Code, at: int, size: int, name: str, alpha: AlphaTrials, count: int
) -> Strength:
    contract = CONTRACTS[name]
    with Sweep(alpha.program(contract.linkage)) as engine:
        return Mutants(code, (at, size), contract, alpha, engine).strength(count)


def _check(found: Strength) -> None:
    """Of the mutants that change what an instruction does, nine in ten are killed."""
    same = sum(found.fates[fate] for fate in (Fate.NOP, Fate.HINT, Fate.IGNORED))
    assert found.mutants == 60
    assert found.fates[Fate.KILLED] >= 0.9 * (found.mutants - same), found
    assert found.fates[Fate.NOT_FOUND] <= 0.1 * found.mutants, found


@pytest.mark.parametrize("name", list(SIZES)[:: depth(2, 1)])
def test_most_mutants_of_the_libc_are_killed(
    name: str, alpha: AlphaTrials, libc_routine: Libc
) -> None:
    code = libc_routine(name)
    assert code is not None and code.entry > LIBC_BASE
    found = _strength(code, code.entry, SIZES[name], name, alpha, 60)
    _check(found)


@pytest.mark.parametrize(
    "name", ["strlen", "ffsll", "csum_ipv6_magic", "udiv_qrnnd"][:: depth(2, 1)]
)
def test_most_mutants_of_ours_are_killed(name: str, alpha: AlphaTrials) -> None:
    routine = routines.variants(name)[0]
    code = code_at(routine, 0x180000000)
    found = _strength(code, code.entry, len(routine.code), name, alpha, 60)
    _check(found)


def test_each_fate_is_met(alpha: AlphaTrials) -> None:
    """A routine made so that each is at a known place."""
    text = """
        cttz    a0,v0
        lda     t0,7(zero)          # dead
        unop
        addq    v0,zero,v0          # the same as bis v0,zero,v0
        cmpult  zero,a0,t1
        subq    zero,t1,t1
        addq    v0,1,v0
        and     v0,t1,v0
        ret
        addq    v0,1,v0             # unreachable
    """
    code = Code("made", ((0x180000000, assemble(text).code),), 0x180000000)
    contract = CONTRACTS["ffsll"]
    with Sweep(alpha.program("standard")) as engine:
        mutants = Mutants(code, (code.entry, 40), contract, alpha, engine)
        fates = {
            (at, bit): mutants.fate(at, bit)
            for at, bit in ((0, 0), (4, 0), (8, 0), (12, 9), (12, 14), (24, 13), (32, 3), (36, 0))
        }
    assert fates == {
        (0, 0): Fate.KILLED,
        (4, 0): Fate.DEAD,
        (8, 0): Fate.NOP,
        (12, 9): Fate.KILLED,
        (12, 14): Fate.IGNORED,
        (24, 13): Fate.KILLED,
        (32, 3): Fate.HINT,
        (36, 0): Fate.UNREACHABLE,
    }


def test_a_guest_that_waits_is_given_up(alpha: AlphaTrials) -> None:
    """A system call that waits for a signal takes no processor time."""
    text = "lda v0,111(zero)\n callsys\n ret"  # sigsuspend
    code = Code("made", ((0x180000000, assemble(text).code),), 0x180000000)
    with Sweep(alpha.program("standard"), timeout=2) as engine:
        mutants = Mutants(code, (code.entry, 12), CONTRACTS["ffsll"], alpha, engine)
        with pytest.raises(GuestHung, match="nothing for 2 s"):
            engine.run(code, [mutants.quick[0].before], 1000)
        assert mutants.fate(8, 3) is Fate.KILLED


def test_equivalence_of_single_instructions() -> None:
    def insn(text: str) -> Insn:
        found = TABLE.decode(int.from_bytes(assemble(text).code, "little"))
        assert found is not None
        return found

    assert same_effect(TABLE, insn("bis zero,a0,v0"), insn("xor zero,a0,v0"))
    assert not same_effect(TABLE, insn("bis t0,a0,v0"), insn("xor t0,a0,v0"))
    assert not same_effect(TABLE, insn("rpcc v0"), insn("rpcc v0"))


def test_the_documented_fates_add_up() -> None:
    """Each row of the table in docs/routines.md has one count a fate, of all mutants drawn."""
    lines = (ROOT / "docs" / "routines.md").read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("| routine | killed |"))
    drawn = next(int(n) for line in lines for n in re.findall(r"--sample (\d+)", line))
    heads = [cell.strip() for cell in lines[start].split("|")[2:-1]]
    rows = list(takewhile(lambda line: line.startswith("|"), lines[start + 2 :]))
    assert heads == [fate.value for fate in Fate]
    assert [row.split("|")[1].strip() for row in rows] == list(ROUTINES)
    for row in rows:
        assert sum(int(cell) for cell in row.split("|")[2:-1]) == drawn, row
