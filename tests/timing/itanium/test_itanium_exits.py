"""A path with side exits, a join and system instructions, as `retune patch` writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.ia64_paths import TARGET, Tuned, through, timed, tuned
from fixtures import ia64
from rewriter.analysis.functions import find_functions
from rewriter.core.edit import Grade
from rewriter.verify.regions.check import verify
from rewriter.verify.routines.bundled_known import KnownBundled
from tests.timing.itanium.ia64_bundles import checked, spelled_out


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    return tuned(ia64.sendpath(tmp_path_factory.mktemp("sendpath")))


def test_half_of_the_cycles_and_no_fewer_than_can_be(path: Tuned) -> None:
    old, new = timed(path.old), timed(path.new)
    assert path.least <= new.cycles <= 0.5 * old.cycles


def test_it_keeps_its_instructions(path: Tuned) -> None:
    old, new = (
        sorted(s.insn.name for s in through(image) if not TARGET.is_nop(s.insn))
        for image in (path.old, path.new)
    )
    assert old == new
    assert 150 <= len(new) <= 180


def test_the_verifier_proves_it(path: Tuned) -> None:
    functions = find_functions(path.old, TARGET.described(path.old))
    known = KnownBundled(path.old, TARGET, TARGET.code(path.old, functions))
    found = verify(known, path.new, lambda stage, done, total: None)
    assert not found.findings
    assert found.grades.keys() == {Grade.PROVED.value}


def test_gnu_as_finds_no_dependency_that_is_violated(path: Tuned, tmp_path: Path) -> None:
    text = spelled_out(through(path.new)).replace(
        "ar.pfs,0,0,0", "ar.pfs,0,0,0,0"
    )  # as `as` has it
    slots, said = checked(text, tmp_path)
    assert not said
    assert len(slots) == len(through(path.new))
