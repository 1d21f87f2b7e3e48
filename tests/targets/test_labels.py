"""Addresses that a function makes: only those whose two halves can meet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.elf import image
from targets.alpha.image import sums


@pytest.fixture(scope="module")
def program() -> Program:
    loaded = image.load(str(inputs.require("alpha-libc")))
    return analyse(loaded, targets.of(loaded))


def _possible(program: Program) -> Iterator[int]:
    """Every sum of halves that lies in the middle of a function."""
    shared = program.references.shared
    made = sums.sums(program.listing, program.functions, shared).every.tolist()
    yield from (a for a in made if _inside(program, a))


def _inside(program: Program, address: int) -> bool:
    function = program.function_at(address)
    return function is not None and address != function.start and program.listing.has(address)


def test_most_sums_of_halves_are_never_made(program: Program) -> None:
    """Unrelated pairs add up to places in a function by chance; vfprintf's labels are real."""
    possible = set(_possible(program))
    made = possible & program.references.labels
    assert 0 < len(made) < 0.5 * len(possible)


def test_a_label_that_is_made_is_kept(program: Program) -> None:
    """Where LDA follows the LDAH that wrote its base, in straight code, the sum is a label."""
    listing, shared = program.listing, program.references.shared
    seen = 0
    for function in program.functions:
        first, last = listing.span(function.start, function.end)
        for at in range(first, last - 1):
            high, low = listing.insn(at), listing.insn(at + 1)
            if high is None or low is None or (high.name, low.name) != ("ldah", "lda"):
                continue
            if high.operand("rb") != 29 or high.operand("ra") in (29, 31):
                continue
            if low.operand("rb") == high.operand("ra"):
                label = shared[function.start] + (high.operand("disp") << 16) + low.operand("disp")
                if _inside(program, label):
                    assert label in program.references.labels, hex(label)
                    seen += 1
    assert seen
