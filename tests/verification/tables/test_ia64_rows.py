"""Rows of the IA-64 table are told apart wherever instructions of two files are compared."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, islice
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from fixtures.ia64 import ROWS, linked
from rewriter.core.code.groups import Slot, groups
from rewriter.core.isa.instruction import Insn, Op
from rewriter.elf.image import load
from rewriter.verify.regions.check import compare
from rewriter.verify.regions.proof import Regions, Straight
from targets.ia64.image.layout import place_free
from targets.ia64.isa.bundles import SLOTS, TEMPLATES
from targets.ia64.isa.fields import Unit
from targets.ia64.isa.rows import TABLE
from targets.ia64.prove.proving import Proving, illegal
from targets.ia64.registers import NUMBERS
from tests.verification.regions.region_shuffle import NOPS, unit_of
from tests.verification.regions.region_text import assembled

ALL = (1 << len(NUMBERS)) - 1
PROVING = Proving()
DRAWN = 3  # sets of operands for each row
# What does nothing but pass a number to nobody, ask for a line or foresee a branch.
IDLE = ("nop.", "brp", "lfetch")
# A check of a general register may stand in an M or an I slot.
CHECKS = ("chk.s.i", "chk.s.m")

# Rows of one name and one format, which do different things.
ALIKE = [
    ("add r17=r14,r15", "add r17=r14,r15,1"),
    ("sub r17=r14,r15", "sub r17=r14,r15,1"),
    ("mov r16=ip", "mov r16=pr"),
    ("mov rr[r14]=r15", "mov dbr[r14]=r15"),
    ("mov ibr[r14]=r15", "mov pkr[r14]=r15"),
    ("mov pmc[r14]=r15", "mov pmd[r14]=r15"),
    ("mov r20=rr[r14]", "mov r20=pmc[r14]"),
    ("mov r20=psr.um", "mov r20=psr"),
    ("mov psr.um=r20", "mov psr.l=r20"),
]


def shape(op: Op) -> tuple[object, ...]:
    """What the operands of a row are."""
    return tuple((operand.name, operand.kind, operand.base) for operand in op.format.operands)


def some(op: Op, source: random.Random, tries: int = 40) -> Iterator[Insn]:
    """Instructions of a row that a processor takes, with operands at random."""
    for _ in range(tries):
        bits = source.getrandbits(85) & sum(operand.mask for operand in op.format.operands)
        insn = TABLE.decode(op.match | bits)
        if insn is not None and insn.op is op and not illegal(insn):
            yield insn.replace(qp=NUMBERS["p0"]) if insn.has("qp") else insn


def as_other(insn: Insn, op: Op) -> Insn | None:
    """The instruction of another row with the same operands, if it can have them."""
    other = Insn(op, insn.operands)
    try:
        TABLE.encode(other)
    except ValueError:
        return None
    return None if illegal(other) else other


def pairs() -> Iterator[tuple[Insn, Insn]]:
    """Instructions of every two rows that have the same operands."""
    source, families = random.Random(1), defaultdict[tuple[object, ...], list[Op]](list)
    for op in TABLE.rows:
        families[shape(op)].append(op)
    for rows in families.values():
        drawn = {op: list(some(op, source)) for op in rows}
        for one, other in combinations(rows, 2):
            made = ((insn, as_other(insn, other)) for insn in drawn[one])
            yield from islice(((a, b) for a, b in made if b is not None), 1)


@pytest.fixture(scope="module")
def paired() -> list[tuple[Insn, Insn]]:
    return list(pairs())


def region(insn: Insn) -> Straight:
    """A region of one instruction, in a bundle in which it may stand."""
    for template in TEMPLATES.values():
        units = [unit for unit in template.units if unit is not Unit.L]
        for at, unit in enumerate(units):
            letter = Unit.X if template.is_long and at else unit
            if unit_of(insn) not in ((letter.name, "A") if unit in (0, 1) else (letter.name,)):
                continue
            insns = [NOPS[Unit.X if template.is_long and n else u] for n, u in enumerate(units)]
            insns[at] = insn.replace(slot=int(unit)) if insn.has("slot") else insn
            slots = tuple(
                Slot(n, each, (SLOTS - 1 if n == len(insns) - 1 else n) in template.stops)
                for n, each in enumerate(insns)
            )
            if slots[-1].stop and not any(any(PROVING.misplaced(g)) for g in groups(slots)):
                return Straight(slots)
    raise AssertionError(insn)


def does_the_same(one: Insn, other: Insn) -> bool:
    """Whether two rows are one thing by what the manual says of them."""
    names = one.name, other.name
    return all(name.startswith(IDLE) for name in names) or names == CHECKS


def test_every_row_has_a_key_of_its_own() -> None:
    """Whatever the operands are: those of no two rows are compared."""
    source, keys = random.Random(2), defaultdict[object, set[Op]](set)
    for op in TABLE.rows:
        insns = [insn for insn, _ in zip(some(op, source), range(DRAWN), strict=False)]
        assert insns, op
        for insn in insns:
            keys[place_free(insn)].add(op)
            keys[place_free(Insn(op, (0,) * len(insn.operands)))].add(op)
    shared = [rows for rows in keys.values() if len(rows) > 1]
    assert not shared


def test_rows_with_the_same_operands_are_many(paired: list[tuple[Insn, Insn]]) -> None:
    assert len(paired) > 5_000
    assert {insn.op for pair in paired for insn in pair} > {TABLE.find("add"), TABLE.find("fma.s")}


def test_two_rows_are_two_instructions(paired: list[tuple[Insn, Insn]]) -> None:
    assert [pair for pair in paired if place_free(pair[0]) == place_free(pair[1])] == []


def test_the_proof_tells_rows_apart(paired: list[tuple[Insn, Insn]]) -> None:
    """With every register read behind the region, and the same operands."""
    prover, alike = Regions(PROVING), []
    for one, other in paired:
        assert prover.compare(region(one), region(one), ALL).is_equal, one
        if prover.compare(region(one), region(other), ALL).is_equal:
            alike.append((one.name, other.name, does_the_same(one, other)))
    assert [pair for pair in alike if not pair[2]] == []


@pytest.mark.parametrize(("old", "new"), ALIKE)
def test_rows_of_one_name_and_format(old: str, new: str, tmp_path: Path) -> None:
    gas = inputs.require_tool("ia64-linux-gnu-as")
    before, after = (assembled(gas, f"{text} ;;", tmp_path) for text in (old, new))
    assert [slot.address for slot in before] == [slot.address for slot in after]
    found = [(a.insn, b.insn) for a, b in zip(before, after, strict=True) if a.insn != b.insn]
    ((mine, its),) = found
    assert (mine.name, mine.op.format.name) == (its.name, its.op.format.name)
    assert place_free(mine) != place_free(its)
    verdict = Regions(PROVING).compare(Straight(before), Straight(after), ALL)
    assert not verdict.is_equal


@pytest.mark.parametrize(("old", "new"), [
    ("mov rr[r14]=r15", "mov dbr[r14]=r15"), ("mov rr[r14]=r15", "mov ibr[r14]=r15"),
    ("mov r16=ip", "mov r16=pr"), ("add r17=r14,r15", "add r17=r14,r15,1"),
    ("sub r18=r14,r15", "sub r18=r14,r15,1"), ("mov r20=psr.um", "mov r20=psr"),
    ("mov psr.um=r17", "mov psr.l=r17"),
])  # fmt: skip
def test_a_file_with_another_row_is_refused(old: str, new: str, tmp_path: Path) -> None:
    text = ROWS.read_text()
    assert text.count(old) == 1
    images = []
    for name, written in (("old", text), ("new", text.replace(old, new))):
        (tmp_path / name).mkdir()
        source = tmp_path / name / ROWS.name
        source.write_text(written)
        images.append(load(linked(source, source.parent, "-e", "_start")))
    before, after = images
    target = targets.of(before).bundling
    assert target is not None and before.data != after.data
    assert compare(before, after, target, lambda *progress: None).findings
