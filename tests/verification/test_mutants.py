"""500 wrong changes in the tuned Alpha libc: the verifier catches every one.

The mutants are made in the file without its note, so that no checksum helps.  Each is known to be
wrong by an oracle that does not prove (`mutants`): original and mutant run on numbers, or an
unwinder that loses the frame.  What the oracle cannot tell apart (commuted operands, dead
registers, a row among instructions that do not touch the frame) is not counted.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from mutants import Bench, Maker, Mutant, Oracle, batches, is_wrong

from rewriter.core.errors import BadInput
from rewriter.core.program import Function
from rewriter.elf import image, manifest
from rewriter.identify.program import analyse
from rewriter.verify.check import Verdict, compare, verify
from targets import for_machine

SEED = 2
FUNCTIONS = 300  # of those that tuning changed
QUOTAS = {
    "register": 80, "displacement": 70, "dropped": 60, "swapped": 45, "opcode": 70, "literal": 45,
    "branch": 50, "gp": 25, "table": 20, "unwind": 35,
}  # fmt: skip
TRIES = 60  # changes tried for each mutant wanted


@pytest.fixture(scope="module")
def bench(libc: Path, libc_ev67: Path) -> Bench:
    loaded = image.load(str(libc))
    right, _ = manifest.detach(libc_ev67.read_bytes())
    return Bench(analyse(loaded, for_machine(loaded.machine, loaded.name)), right)


@pytest.fixture(scope="module")
def made(bench: Bench) -> tuple[list[Mutant], Counter[str]]:
    """The mutants, and how many changes of each kind the oracle could not tell from the right."""
    draw = random.Random(SEED)
    functions = bench.changed_functions()
    some = draw.sample(functions, min(FUNCTIONS, len(functions)))
    with_tables = [function for function in functions if bench.tables(function)]
    maker, oracle = Maker(bench, draw), Oracle(bench.program)
    found: list[Mutant] = []
    discarded: Counter[str] = Counter()
    for kind, wanted in QUOTAS.items():
        pool, seen = with_tables if kind == "table" else some, set[tuple[int, bytes]]()
        for _ in range(TRIES * wanted):
            if len(seen) == wanted:
                break
            mutant = maker.make(kind, draw.choice(pool))
            if mutant is None or (mutant.offset, mutant.new) in seen:
                continue
            if is_wrong(bench, oracle, mutant):
                seen.add((mutant.offset, mutant.new))
                found.append(mutant)
            else:
                discarded[kind] += 1
    assert not oracle.disagreed, oracle.disagreed[:5]
    return found, discarded


def _quiet(stage: str, done: int, total: int) -> None:
    pass


def survivors(bench: Bench, mutants: list[Mutant]) -> list[Mutant]:
    """The mutants that the verifier takes for right."""
    found = []
    for group in batches(mutants):
        data = bench.only(mutant.function for mutant in group)
        for mutant in group:
            mutant.apply(data)
        # A finding outside functions names no mutant: such a one is verified alone.
        failed = _failed(bench, data)
        found += [m for m in group if m.function not in failed and _survives(bench, m)]
    return found


def _failed(bench: Bench, data: bytearray) -> tuple[Function, ...]:
    """The functions that the verifier names; none where it refuses the file as a whole."""
    try:
        return _verified(bench, data).failed
    except BadInput:
        return ()


def _survives(bench: Bench, mutant: Mutant) -> bool:
    data = bench.only([mutant.function])
    mutant.apply(data)
    try:
        return _verified(bench, data).ok
    except BadInput:
        return False


def _verified(bench: Bench, data: bytearray) -> Verdict:
    return verify(bench.program, replace(bench.program.image, data=bytes(data)), _quiet)


def test_unchanged_functions_verify(bench: Bench, made: tuple[list[Mutant], Counter[str]]) -> None:
    """So that what follows catches mutants and not the functions that they are in."""
    data = bench.only({mutant.function for mutant in made[0]})
    verdict = _verified(bench, data)
    assert verdict.ok, verdict.findings[:5]


def test_every_mutant_is_caught(bench: Bench, made: tuple[list[Mutant], Counter[str]]) -> None:
    mutants, discarded = made
    kinds = Counter(mutant.kind for mutant in mutants)
    alive = survivors(bench, mutants)
    print(f"{len(mutants)} wrong mutants, {len(mutants) - len(alive)} caught: {dict(kinds)}")
    print(f"{discarded.total()} not told from the right: {dict(discarded)}")
    shown = "\n".join(f"{m.kind} in {m.function.name}, {m.what}" for m in alive)
    assert not alive, f"{len(alive)} mutants survive:\n{shown}"
    assert len(mutants) >= 500
    assert kinds == Counter(QUOTAS)


@pytest.mark.parametrize("kind", ["opcode", "table", "unwind"])
def test_the_whole_comparison_catches_it(
    kind: str, bench: Bench, made: tuple[list[Mutant], Counter[str]]
) -> None:
    """From two files alone, as the command does it."""
    mutant = next(mutant for mutant in made[0] if mutant.kind == kind)
    old, target = bench.program.image, bench.program.target
    data = bench.only([mutant.function])
    assert compare(old, replace(old, data=bytes(data)), target, _quiet).ok
    mutant.apply(data)
    assert not compare(old, replace(old, data=bytes(data)), target, _quiet).ok
