"""Single changes where a pass has made an edit: all refused, or shown to change nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from rewriter.core.isa.instruction import Insn
from targets.alpha import Alpha
from targets.alpha.image.pointers import UNOP
from tests.conftest import Retune
from tests.passes.streams.test_memory_of_kernels import FILL, FRAMED
from tests.passes.test_reload import CODE as CALLS
from tests.support.depth import depth
from tests.support.mutants import mutants
from tests.support.mutants.changes import Change
from tests.support.mutants.plain_base import WORD, PlainBase
from tests.support.small_kernel import START, linked

Made = Callable[[str], mutants.Mutants]
ALPHA, SEED = Alpha(), 17
COUNT, QUADS = 2, 8  # the register that counts, and quadwords of a line
BEHIND = START + 9 * WORD  # the loop's count is a constant before
KERNELS = {"writehint": FILL.format(FRAMED), "reload": CALLS.format("calls")}
NUMBER = depth(30, 600)


@pytest.fixture(scope="module")
def made(retune: Retune, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The mutants of one of the kernels, retuned with its pass; made once."""

    @cache
    def of(name: str) -> mutants.Mutants:
        folder = tmp_path_factory.mktemp(name)
        linked(folder, KERNELS[name])
        original, tuned = folder / "vmlinux", folder / "tuned"
        passes = ("--cpu", "ev67", "--passes", f"{name},align")
        done = retune("patch", original, "-o", tuned, *passes)
        assert not done.returncode, done.stderr
        return mutants.at_edits("vmlinux", str(original), str(tuned), [name])

    return of


@pytest.mark.parametrize("name", KERNELS)
def test_changes_at_edits_are_refused_or_explained(name: str, made: Made) -> None:
    outcomes = [made(name).outcome(SEED, n) for n in range(NUMBER)]
    survivors = [str(outcome) for outcome in outcomes if outcome.what == "UNEXPLAINED"]
    assert not survivors, "\n".join(survivors)
    assert {outcome.base for outcome in outcomes} == {name}
    assert sum(outcome.what == "refused" for outcome in outcomes) > NUMBER * 0.6
    assert "both" in {outcome.change.kind for outcome in outcomes}


def test_runs_tell_a_wrong_fill(made: Made) -> None:
    """A store that is left out, another count, a line that is not stored whole are no choice."""
    base, _, decider = made("writehint").bases[0]
    assert isinstance(base, PlainBase)
    wrong, choice = list[str](), list[str]()
    for address in range(BEHIND, BEHIND + 30 * WORD, WORD):
        insn = base.insn(address)
        assert insn is not None
        if insn.name == "stq" or (insn.name == "lda" and insn.operands[0] == COUNT):
            wrong.append(decider.reason(_changed(address, UNOP)))
        elif insn.name == "cmpule" and insn.operands[1] == QUADS:
            wrong.append(decider.reason(_changed(address, insn.replace(rb=QUADS - 1))))
        elif address == BEHIND + WORD:
            choice.append(decider.reason(_changed(address, UNOP)))
    assert choice == ["the same in runs"]
    assert wrong == [""] * 12


def _changed(address: int, insn: Insn) -> Change:
    return Change("op", address, ALPHA.encode(insn), "", "")
