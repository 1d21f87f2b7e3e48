"""A path with side exits, a join and system instructions, as `retune patch` writes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ia64_paths import TARGET, Tuned, one_a_group, through, timed, tuned
from fixtures import ia64
from rewriter.analysis.functions import find_functions
from rewriter.core.edit import Grade
from rewriter.core.isa.registers import Reg
from rewriter.elf.image import Image, parse
from rewriter.verify.regions.check import Verdict, verify
from rewriter.verify.routines.bundled_known import KnownBundled
from tests.support.depth import DEEP
from tests.timing.itanium.ia64_bundles import checked, spelled_out


@pytest.fixture(scope="module", params=["sendpath", "replypath"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    made = {"sendpath": ia64.sendpath, "replypath": ia64.replypath}[request.param]
    return tuned(made(tmp_path_factory.mktemp(request.param)))


def cycles(image: Image, name: str) -> int:
    """Of the way through on which no branch is taken."""
    return timed(through(image, name)).cycles


MOST = {"sendpath": 0.425, "replypath": 0.85}


def test_its_part_of_the_cycles_and_no_fewer_than_can_be(path: Tuned) -> None:
    old, new = (cycles(image, path.name) for image in (path.old, path.new))
    assert path.least <= new <= MOST[path.name] * old


def test_the_answer_is_ordered_by_hand_two_to_one(path: Tuned) -> None:
    old = through(path.old, path.name)
    alone = timed(tuple(one_a_group(old))).cycles
    is_ordered = 2 * timed(old).cycles <= alone
    assert is_ordered == (path.name == "replypath")


@pytest.mark.skipif(not DEEP, reason="long: `make test-deep` runs it")
def test_the_exact_order_is_near_the_bound(path: Tuned, tmp_path: Path) -> None:
    file = {"sendpath": ia64.sendpath, "replypath": ia64.replypath}[path.name](tmp_path)
    best = tuned(file, (path.name,))
    old, new = (cycles(image, path.name) for image in (best.old, best.new))
    assert best.least <= new <= {"sendpath": 0.4, "replypath": 0.8}[path.name] * old
    assert new - best.least <= 8
    assert not _violated(best, tmp_path)
    assert not _verified(best.old, best.new).findings


def test_it_keeps_its_instructions(path: Tuned) -> None:
    old, new = (
        sorted(s.insn.name for s in through(image, path.name) if not TARGET.is_nop(s.insn))
        for image in (path.old, path.new)
    )
    assert old == new
    assert 150 <= len(new) <= 180


def _verified(old: Image, new: Image) -> Verdict:
    functions = find_functions(old, TARGET.described(old))
    known = KnownBundled(old, TARGET, TARGET.code(old, functions))
    return verify(known, new, lambda stage, done, total: None)


def test_the_verifier_proves_it(path: Tuned) -> None:
    found = _verified(path.old, path.new)
    assert not found.findings
    assert found.grades.keys() == {Grade.PROVED.value}


def test_a_branch_by_another_predicate_is_found(path: Tuned) -> None:
    """Regions are found by their transfers of control, whatever these say; each is compared."""
    function = next(s for s in path.new.symbols if s.name == path.name)
    slots = through(path.new, path.name)
    at = next(n for n, slot in enumerate(slots) if slot.insn.name == "br.cond")
    slot = slots[at]
    other = slot.insn.replace(qp=Reg(slot.insn.operand("qp") ^ 1))
    changed = (*slots[:at], replace(slot, insn=other), *slots[at + 1 :])
    data, code = bytearray(path.new.data), TARGET.assembled(changed)
    start = path.new.offset_of(function.st_value)
    data[start : start + len(code)] = code
    found = _verified(path.old, parse(bytes(data), "changed"))
    assert [finding.region for finding in found.wrong] == [function.st_value]


def _violated(path: Tuned, folder: Path) -> str:
    """What GNU as says of the dependencies in the path, slot for slot as it is written."""
    text = spelled_out(through(path.new, path.name)).replace(
        "ar.pfs,0,0,0", "ar.pfs,0,0,0,0"
    )  # as `as` has it
    slots, said = checked(text, folder)
    assert len(slots) == len(through(path.new, path.name))
    return said


def test_gnu_as_finds_no_dependency_that_is_violated(path: Tuned, tmp_path: Path) -> None:
    assert not _violated(path, tmp_path)
