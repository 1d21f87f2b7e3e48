"""Copies are proved for every content, shape by shape."""

from __future__ import annotations

import pytest

from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import Contract, Plan
from rewriter.core.edit import Evidence, Grade
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.image import code_at
from rewriter.verify.trials.trial import Counterexample
from targets.alpha import routines
from targets.alpha.assembler import assemble
from targets.alpha.trial_program import AlphaTrials
from tests.support.depth import depth
from tests.support.trial_shapes import prove_shapes

BASE = 0x180000000
COPIES = ("memcpy", "mempcpy", "memmove", "bcopy", "bzero", "__copy_user", "__clear_user")


def _short(contract: Contract) -> list[tuple[Plan, dict[str, int]]]:
    """Every alignment and overlap with up to 24 bytes, and some of the longer ones."""
    long = [(plan, point) for plan, point in contract.points() if 24 < point["count"] < 800]
    return [(plan, p) for plan, p in contract.points() if p["count"] <= 24] + long[::157]


@pytest.mark.parametrize("name", COPIES)
def test_every_content_of_a_shape(name: str) -> None:
    contract = CONTRACTS[name]
    # mempcpy and bcopy are other ways into the bodies of memcpy and memmove.
    points = _short(contract)[:: 9 if name in ("mempcpy", "bcopy") else depth(3, 1)]
    for routine in routines.variants(name):
        found = prove_shapes(code_at(routine, BASE), contract, AlphaTrials(), points)
        assert isinstance(found, Evidence), str(found)
        assert (found.grade, found.cases) == (Grade.BOUNDED, len(points))


@pytest.mark.parametrize("name", ["clear_page", "copy_page"])
def test_pages(name: str) -> None:
    contract = CONTRACTS[name]
    (routine,) = routines.variants(name)
    found = prove_shapes(code_at(routine, BASE), contract, AlphaTrials(), contract.points())
    assert isinstance(found, Evidence), str(found)


LOOP = """
        mov     a0,v0
        br      test
loop:   ldbu    t0,0(a1)
        {change}
        stb     t0,0(a0)
        lda     a0,1(a0)
        lda     a1,1(a1)
        lda     a2,-1(a2)
test:   bne     a2,loop
        ret
"""


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("", ""),
        ("sll t0,8,t0\n srl t0,8,t0", ""),
        ("bis t0,t0,t0", ""),
        ("beq t0,.+4", "comparison"),
        ("addq t0,1,t0", "arithmetic"),
        ("srl t0,1,t0", "shift by bits"),
        ("ldbu t0,0(t0)", "arithmetic|address"),
        ("xor t0,1,t0", "come from elsewhere"),
        ("ldbu t0,0(a0)", "come from elsewhere"),
        ("lda v0,1(v0)", "another result"),
        ("stb t0,9999(a0)", "KeyError"),
    ],
)
def test_what_ends_a_proof(change: str, problem: str) -> None:
    code = Code("loop", ((BASE, assemble(LOOP.format(change=change), BASE).code),), BASE)
    contract = CONTRACTS["memcpy"]
    points = [(plan, point) for plan, point in contract.points() if point["count"] <= 3]
    found = prove_shapes(code, contract, AlphaTrials(), points)
    if problem:
        assert isinstance(found, Counterexample)
        assert any(part in found.problem for part in problem.split("|")), found.problem
    else:
        assert isinstance(found, Evidence), str(found)
