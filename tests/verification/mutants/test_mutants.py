"""Hundreds of wrong changes of the tuned libc, each of which `retune verify` must find.

A mutant counts as wrong when an oracle without a prover (`mutants`) has seen it go wrong: a
change that does the same as before is no mutant at all.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rewriter.analysis.program import Program
from rewriter.core.errors import RetuneError
from rewriter.elf import manifest
from rewriter.elf.debug_identity import with_old_identity
from rewriter.verify.check import Verdict, verify
from targets.alpha.cpus import CPUS
from tests.support.depth import depth
from tests.verification.mutants.mutants import Bench, Maker, Mutant, batches, is_wrong
from tests.verification.mutants.run_oracle import Oracle

EV67 = CPUS["ev67"]
WANTED = depth(250, 500)
KINDS = {  # shares of what is tried
    "register": 5, "displacement": 4, "dropped": 4, "swapped": 3, "opcode": 4,
    "literal": 2, "branch": 3, "gp": 2, "table": 1, "unwind": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(libc_program: Program, libc_proved: Path) -> Bench:
    right = manifest.detach(libc_proved.read_bytes())[0]
    return Bench(libc_program, with_old_identity(libc_program.image, right))


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
    survivors = [m for batch in batches(wrong) for m in _survivors(bench, batch)]
    shown = "\n".join(f"{m.kind} in {m.function.name}: {m.what}" for m in survivors)
    assert not survivors, f"{len(survivors)} of {len(wrong)} survive:\n{shown}"


def _survivors(bench: Bench, batch: Sequence[Mutant]) -> list[Mutant]:
    """The mutants of a batch, each in a function of its own, in which nothing is found."""
    verdict = _verified(bench, batch)
    if verdict is None and len(batch) > 1:  # one of them spoils the whole file
        half = len(batch) // 2
        return [*_survivors(bench, batch[:half]), *_survivors(bench, batch[half:])]
    if verdict is None:
        return []
    # What is found outside functions, in unwind rows and tables, names none.
    open_ = [mutant for mutant in batch if mutant.function not in verdict.failed]
    if len(batch) == 1:
        return [] if not verdict.ok else open_
    return [mutant for mutant in open_ if _survivors(bench, [mutant])]


def _verified(bench: Bench, batch: Sequence[Mutant]) -> Verdict | None:
    """What the verifier says of a file with these mutants; None if it cannot be read."""
    data = bench.only(mutant.function for mutant in batch)
    for mutant in batch:
        mutant.apply(data)
    changed = replace(bench.program.image, data=bytes(data))
    try:
        return verify(bench.program, changed, lambda stage, done, total: None, cpu=EV67)
    except RetuneError:
        return None
