"""Loops whose passes are no longer run once the pipeline is in a state that it was in before."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import ppc_timing
from benchmarks.ppc_timing import COMPILERS
from fixtures.inputs import require_tool
from rewriter.core.compiled import PURE
from rewriter.core.isa.instruction import Insn
from rewriter.timing.dispatch import steady as dispatch
from rewriter.timing.engines import engine_of
from rewriter.timing.outoforder import steady as outoforder
from rewriter.timing.steady import State, Steady, ends
from rewriter.timing.steady_node import Placed
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS as ALPHAS
from targets.alpha.isa.rows import TABLE
from targets.ppc.cpus import CPUS as PPCS
from tests.support.depth import depth

CODE = 0x10000

INTERPRETED = str(dispatch.__file__).endswith(".py")
replacing = pytest.mark.skipif(
    not INTERPRETED,
    reason="what is replaced here is compiled: test_all_of_it_interpreted runs them",
)

# Short chains and long ones, what keeps a unit, two issues of one instruction, stores before loads
# of the same place, and calls and branches, of which few are dispatched or mapped in one cycle.
PPC = (
    *("addi 3,3,1", "add 4,3,5", "mullw 5,3,4", "divw 7,6,5", "cmpwi 0,6,3", "mtctr 5", "mflr 6"),
    *("lwz 6,0(3)", "lwzu 6,4(3)", "lha 7,0(3)", "stw 6,8(4)", "stwu 6,4(4)", "lfd 2,0(3)"),
    *("stfd 1,0(4)", "fadd 1,2,3", "fmul 3,1,2", "fdiv 3,1,2", "rlwinm. 3,4,5,6,7", "crand 0,1,2"),
    *("mfcr 8", "beq 0,.", "sync"),
)
ALPHA = (
    *("addq t0,t1,t2", "s8addq t2,1,t0", "sll t2,t3,t4", "mulq t4,t0,t1", "cmoveq t0,t1,t4"),
    *("ldq t3,0(a0)", "ldq a0,8(a0)", "stq t3,0(a1)", "lda a1,8(a1)", "beq t0,."),
    *("addt $f1,$f2,$f3", "mult $f3,$f1,$f2", "divt $f3,$f2,$f1", "ldt $f2,0(a0)"),
    *("stt $f1,0(a1)", "cvttq $f1,$f4", "cpys $f1,$f2,$f5", "extbl t3,a0,t4"),
)


def _without(run: Callable[[], int], state: Callable[[], State]) -> Iterator[int]:
    """Each pass is run."""
    while True:
        yield run()


def _told(
    module: ModuleType,
    way: Callable[[Callable[[], int], Callable[[], State]], Iterator[int]],
    model: Steady,
    code: Sequence[Placed],
) -> tuple[list[int], int]:
    """When each pass of a loop that a model asks for ends, and how many were run."""
    told, ran = list[int](), 0

    def following(run: Callable[[], int], state: Callable[[], State]) -> Iterator[int]:
        def counted() -> int:
            nonlocal ran
            ran += 1
            return run()

        for end in way(counted, state):
            told.append(end)
            yield end

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ends", following)
        model.cycles(code, {address: insn for address, insn, _ in code})
    return told, ran


def _code(insns: Sequence[Insn], reached: Sequence[int]) -> list[Placed]:
    pairs = zip(insns, reached, strict=False)
    return [(CODE + 4 * n, insn, ("base", at)) for n, (insn, at) in enumerate(pairs)]


def _placed(texts: Sequence[str], last: str) -> st.SearchStrategy[tuple[list[str], list[int]]]:
    chosen = st.lists(st.sampled_from(texts), min_size=1, max_size=24).map(
        lambda body: [*body, last]
    )
    return st.tuples(chosen, st.lists(st.integers(0, 2), min_size=25, max_size=25))


def _assembled(texts: Sequence[str], reached: Sequence[int]) -> list[Placed]:
    words = assemble("\n".join(texts), CODE).code
    each = (int.from_bytes(words[at : at + 4], "little") for at in range(0, len(words), 4))
    return _code([insn for word in each if (insn := TABLE.decode(word)) is not None], reached)


def _alpha(name: str) -> Steady:
    return engine_of(ALPHAS[name]).steady(TABLE)


@replacing
@pytest.mark.parametrize("name", PPCS)
@given(made=_placed(PPC, "bdnz ."))
@settings(max_examples=depth(15, 40))
def test_dispatched_passes_end_as_if_each_were_run(
    name: str, made: tuple[list[str], list[int]]
) -> None:
    require_tool("powerpc64-linux-gnu-as")
    code = _code([ppc_timing.assembled(t, COMPILERS["970"])[0] for t in made[0]], made[1])
    told, _ = _told(dispatch, ends, ppc_timing.steady(name), code)
    assert told == _told(dispatch, _without, ppc_timing.steady(name), code)[0]


@replacing
@pytest.mark.parametrize("name", ["ev6", "ev67"])
@given(made=_placed(ALPHA, "bne t0,."))
@settings(max_examples=depth(60, 200))
def test_passes_out_of_order_end_as_if_each_were_run(
    name: str, made: tuple[list[str], list[int]]
) -> None:
    code = _assembled(*made)
    told, _ = _told(outoforder, ends, _alpha(name), code)
    assert told == _told(outoforder, _without, _alpha(name), code)[0]


@replacing
@pytest.mark.parametrize("name", ["603e", "power9"])
def test_few_passes_are_run(name: str) -> None:
    """A short loop repeats itself soon."""
    require_tool("powerpc64-linux-gnu-as")
    texts = ("lwzu 6,4(3)", "add 4,4,6", "bdnz .")
    code = _code([ppc_timing.assembled(t, COMPILERS["970"])[0] for t in texts], (0, 0, 0))
    told, ran = _told(dispatch, ends, ppc_timing.steady(name), code)
    assert ran < len(told) / 2


def _never(run: Callable[[], int], state: Callable[[], State]) -> Iterator[int]:
    """What two passes take, as if a pipeline were always in one state."""
    return ends(run, lambda: ())


@replacing
def test_a_state_that_leaves_out_all_is_found_out() -> None:
    """The comparison above can fail."""
    different = 0
    for start in range(len(ALPHA)):
        code = _assembled([*ALPHA[start : start + 5], "bne t0,."], (0,) * 6)
        told, _ = _told(outoforder, _never, _alpha("ev6"), code)
        different += told != _told(outoforder, _without, _alpha("ev6"), code)[0]
    assert different


@pytest.mark.skipif(INTERPRETED, reason="they are interpreted already")
def test_all_of_it_interpreted() -> None:
    """In a process of its own, without compiled modules."""
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__)
    done = subprocess.run(
        command, env={**os.environ, PURE: "1"}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b[1-9]\d* passed", done.stdout)
