"""Single changes where a pass has made an edit: all refused, or shown to change nothing.

Where one only changes which loop is entered, the one that gives up lines or the plain one, it
changes nothing that is seen: the former looks itself whether a line is left.  That is run.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rewriter.core.isa.registers import Reg
from targets.alpha import Alpha
from targets.alpha.image.pointers import UNOP
from tests.conftest import Retune
from tests.passes.streams.test_memory_of_kernels import FILL, FRAMED
from tests.passes.test_reload import CODE as CALLS
from tests.support.depth import depth
from tests.support.mutants import mutants
from tests.support.mutants.changes import Change
from tests.support.mutants.mutants import Base
from tests.support.mutants.plain_base import WORD, PlainBase
from tests.support.small_kernel import START, linked
from tests.verification.mutants.random_runs import ARENA, Code, End, Start, World

ALPHA, SEED = Alpha(), 17
POINTER, COUNT = 1, 2
COUNTS = (1, 2, 8, 9, 16, 32, 33, 39, 40, 41, 50, 64, 70)  # on either side of lines of 8
BEHIND = START + 9 * WORD  # the loop's count is a constant before
KERNELS = {"writehint": FILL.format(FRAMED), "reload": CALLS.format("calls")}
NUMBER = depth(40, 600)


@pytest.mark.parametrize("name", KERNELS)
def test_changes_at_edits_are_refused_or_explained(
    name: str, retune: Retune, tmp_path: Path
) -> None:
    made = _made(name, retune, tmp_path)
    outcomes = [made.outcome(SEED, n) for n in range(NUMBER)]
    survivors = [outcome for outcome in outcomes if outcome.what == "UNEXPLAINED"]
    if name == "writehint":
        survivors = [one for one in survivors if not _fills_alike(made.bases[0][0], one.change)]
    assert not survivors, "\n".join(map(str, survivors))
    assert {outcome.base for outcome in outcomes} == {name}
    assert sum(outcome.what == "refused" for outcome in outcomes) > NUMBER * 0.6
    assert "both" in {outcome.change.kind for outcome in outcomes}


def _made(name: str, retune: Retune, folder: Path) -> mutants.Mutants:
    linked(folder, KERNELS[name])
    original, tuned = folder / "vmlinux", folder / "tuned"
    done = retune("patch", original, "-o", tuned, "--cpu", "ev67", "--passes", f"{name},align")
    assert not done.returncode, done.stderr
    return mutants.at_edits("vmlinux", str(original), str(tuned), [name])


def test_a_wrong_fill_is_seen(retune: Retune, tmp_path: Path) -> None:
    """The runs that explain a change tell a loop that leaves out a store or counts otherwise."""
    base = _made("writehint", retune, tmp_path).bases[0][0]
    assert isinstance(base, PlainBase)
    function = base.program.functions[0]
    seen = Counter[bool]()
    for address in range(BEHIND, function.end, WORD):
        insn = base.insn(address)
        if insn is not None and (insn.name, insn.operands[0]) in (("stq", 31), ("lda", COUNT)):
            seen[
                _fills_alike(base, Change("drop", address, bytes(ALPHA.encode(UNOP)), "", ""))
            ] += 1
    assert seen == {False: 11}


def _fills_alike(base: Base, change: Change) -> bool:
    """Whether the same is stored from behind the count's constant on, for some counts."""
    assert isinstance(base, PlainBase)
    program, function = base.program, base.program.functions[0]
    codes = [Code(program, function, data) for data in (base.data, base.changed(change))]
    for count in COUNTS:
        for first in range(8):
            start = {POINTER: ARENA + 8 * first, COUNT: count}
            one, other = (_run(code, start) for code in codes)
            if (one.kind, one.world.memory) != (other.kind, other.world.memory):
                return False
    return True


def _run(code: Code, start: dict[int, int]) -> End:
    world = World(Start(0, ()), dict(ALPHA.table.constants))
    world.registers.update({Reg(register): value for register, value in start.items()})
    return code.run(BEHIND, world)
