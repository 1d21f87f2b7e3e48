"""500 wrong changes of the tuned libc, each of which `retune verify` must find.

A mutant counts as wrong when an oracle without a prover (`mutants`) has seen it go wrong: a
change that does the same as before is no mutant at all.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from mutants import Bench, Maker, Mutant, Oracle, batches, is_wrong

from rewriter.core.errors import RetuneError
from rewriter.core.program import Function
from rewriter.elf import image, manifest
from rewriter.identify.program import analyse
from rewriter.verify.check import verify
from targets import for_machine

WANTED = 500
KINDS = {  # shares of what is tried
    "register": 5, "displacement": 4, "dropped": 4, "swapped": 3, "opcode": 4,
    "literal": 2, "branch": 3, "gp": 1, "table": 1, "unwind": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(libc: Path, libc_ev67: Path) -> Bench:
    loaded = image.load(str(libc))
    right, _ = manifest.detach(libc_ev67.read_bytes())
    return Bench(analyse(loaded, for_machine(loaded.machine, loaded.name)), right)


@pytest.fixture(scope="module")
def wrong(bench: Bench) -> list[Mutant]:
    """As many mutants as wanted that the oracle knows to be wrong."""
    draw, oracle = random.Random(500), Oracle(bench.program)
    maker, functions = Maker(bench, draw), bench.changed_functions()
    with_tables = [function for function in functions if bench.tables(function)]
    found: list[Mutant] = []
    while len(found) < WANTED:
        kind = draw.choices(list(KINDS), list(KINDS.values()))[0]
        mutant = maker.make(kind, draw.choice(with_tables if kind == "table" else functions))
        if mutant is not None and is_wrong(bench, oracle, mutant):
            found.append(mutant)
    assert not oracle.disagreed, "the tuned code itself goes wrong: " + oracle.disagreed[0]
    return found


def test_every_mutant_is_caught(bench: Bench, wrong: list[Mutant]) -> None:
    kinds = Counter(mutant.kind for mutant in wrong)
    assert set(kinds) == set(KINDS), "a kind of mutant is missing"
    survivors = [
        m for batch in batches(wrong) for m in batch if m.function in _passed(bench, batch)
    ]
    shown = "\n".join(f"{m.kind} in {m.function.name}: {m.what}" for m in survivors)
    assert not survivors, f"{len(survivors)} of {len(wrong)} survive:\n{shown}"


def _passed(bench: Bench, batch: list[Mutant]) -> set[Function]:
    """The functions of a batch, each with one mutant, in which the verifier finds nothing."""
    failed = _failed(bench, batch)
    # What is found outside functions (rows, tables, a file that cannot be read) names none.
    alone = [m for m in batch if failed is None or m.function not in failed]
    return {m.function for m in alone if _failed(bench, [m], alone=True) == frozenset()}


def _failed(
    bench: Bench, batch: list[Mutant], *, alone: bool = False
) -> frozenset[Function] | None:
    """The functions with a finding; None for one that is not a function's."""
    data = bench.only(mutant.function for mutant in batch)
    for mutant in batch:
        mutant.apply(data)
    changed = replace(bench.program.image, data=bytes(data))
    try:
        verdict = verify(bench.program, changed, lambda stage, done, total: None)
    except RetuneError:
        return None
    return None if alone and not verdict.ok else frozenset(verdict.failed)
