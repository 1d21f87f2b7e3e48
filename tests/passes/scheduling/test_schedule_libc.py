"""The scheduler on real loops: they prove, run, and are faster in the engines too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

import targets
from fixtures import inputs, programs
from passes.schedule import NotReordered, Reordered, Scheduler
from rewriter.analysis.loops import innermost
from rewriter.analysis.program import Program, analyse
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.readings.interpret import Step
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.emit import difference
from rewriter.elf.image import Image, load
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.timing import simulate
from rewriter.verify.check import verify
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import UP1000

EV67 = CPUS["ev67"]
SAID = re.compile(r"(\S+) cycles a pass became (\S+) in the model of (\w+), (.*)")


def _analysed(path: Path) -> Program:
    loaded = load(str(path))
    return analyse(loaded, targets.of(loaded))


@pytest.fixture(scope="module")
def program(libc_program: Program) -> Program:
    return libc_program


@pytest.fixture(scope="module")
def sample() -> Program:
    return _analysed(inputs.require("alpha-sample"))


def _tuned(program: Program, **chosen: object) -> Tuned:
    options = replace(Options(passes=("schedule",)), **chosen)
    return tune(program.image, program.target, EV67, options, lambda *_: None, program=program)


@pytest.fixture(scope="module")
def tuned(program: Program) -> Tuned:
    """The whole libc in another order, and nothing else."""
    return _tuned(program)


def test_hundreds_of_loops_are_proved(tuned: Tuned) -> None:
    """All that was done is proved, was verified at once, and says what it gains in which model."""
    assert len(tuned.edits) >= 150
    assert {edit.evidence.grade.value for edit in tuned.edits} == {"PROVED"}
    assert not [skip for skip in tuned.skips if skip.reason.startswith("not verified")]
    said = [SAID.fullmatch(edit.evidence.detail) for edit in tuned.edits]
    assert all(found is not None and found[3] == "ev67" for found in said)
    assert all(Fraction(found[1]) > Fraction(found[2]) for found in said if found is not None)
    assert any(found[4] == "proved optimal" for found in said if found is not None)


def test_a_loop_keeps_its_instructions(tuned: Tuned) -> None:
    for edit in tuned.edits:
        assert edit.old != edit.new
        assert sorted(edit.old.split("; ")) == sorted(edit.new.split("; "))


def test_only_loops_changed(program: Program, tuned: Tuned) -> None:
    spans = [loop for found in innermost(program).values() for loop in found]
    addresses = {at for s in spans for at in range(s.head, s.latch + 4)}
    new = with_old_identity(program.image, tuned.data)
    for patch in difference(program.image.data, new):
        pairs = zip(
            range(patch.offset, patch.end), zip(patch.old, patch.new, strict=True), strict=True
        )
        changed = [offset for offset, (old, new) in pairs if old != new]
        assert all(program.image.address_of(offset) in addresses for offset in changed)


@pytest.mark.parametrize("program_name", programs.PROGRAMS)
def test_programs_run_the_same(
    program_name: str, libc: Path, tuned: Tuned, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "scheduled-libc.so.6.1"
    if not path.is_file() or path.read_bytes() != tuned.data:
        path.write_bytes(tuned.data)
    try:
        assert programs.run(program_name, path, "ev67") == programs.run(program_name, libc, "ev67")
    except inputs.Missing as missing:
        pytest.skip(str(missing))


# What is chosen, and what is found again ---------------------------------------------------


def test_a_second_run_finds_nothing(sample: Program) -> None:
    once = _tuned(sample)
    assert once.edits
    second = analyse(replace(sample.image, data=once.data), sample.target)
    again = _tuned(second)
    assert not again.edits


def test_the_same_again(sample: Program) -> None:
    assert _tuned(sample).data == _tuned(sample).data


def test_edits_are_chosen_by_name(sample: Program) -> None:
    names = [edit.id for edit in _tuned(sample).edits]
    assert len(names) >= 3
    assert all(name.startswith("schedule:") for name in names)
    first, *rest = names
    assert [e.id for e in _tuned(sample, only=frozenset({first})).edits] == [first]
    assert [e.id for e in _tuned(sample, skip=frozenset({first})).edits] == rest
    assert [e.id for e in _tuned(sample, max_edits=2).edits] == names[:2]


def test_with_a_layout(sample: Program) -> None:
    """In a function that moved, the loop is ordered for where it stands then."""
    both = _tuned(sample, passes=("bytes", "bitscan", "align", "schedule"))
    assert {"align", "schedule"} <= {edit.technique for edit in both.edits}
    image = replace(sample.image, data=both.data)
    assert verify(sample, image, lambda *_: None, cpu=EV67).ok


# A wrong order is seen ---------------------------------------------------------------------


def _dependent(image: Image, start: int, end: int) -> list[int]:
    """Addresses of instructions that read what the one before them writes, and do not branch."""
    insns = {
        at: insn
        for at in range(start, end, 4)
        if (insn := TABLE.decode(int.from_bytes(image.read(at, 4), "little"))) is not None
    }
    return [
        b
        for a, b in pairwise(sorted(insns))
        if insns[a].op.flow is insns[b].op.flow is Flow.NEXT
        and TABLE.defs(insns[a]) & TABLE.uses(insns[b])
        and insns[a] != insns[b]
    ]


def test_the_verifier_finds_a_wrong_order(program: Program, tuned: Tuned) -> None:
    """Two dependent instructions of a reordered loop change places: a finding, or a dead value."""
    caught = total = 0
    loops = {loop.head: loop for found in innermost(program).values() for loop in found}
    for edit in tuned.edits[::25]:
        new, loop = replace(program.image, data=tuned.data), loops[edit.address]
        for at in _dependent(new, loop.head, loop.latch)[:2]:
            data = bytearray(with_old_identity(program.image, tuned.data))
            place = new.offset_of(at)
            data[place - 4 : place + 4] = data[place : place + 4] + data[place - 4 : place]
            function = program.function_at(edit.address)
            assert function is not None
            verdict = verify(program, replace(new, data=bytes(data)), lambda *_: None, {function})
            caught, total = caught + (not verdict.ok), total + 1
    assert total >= 8
    assert caught >= 0.9 * total


# The engines agree -------------------------------------------------------------------------


def _loops(program: Program, cpu: str, every: int) -> list[Reordered]:
    """Every so many functions' reordered loops."""
    from rewriter.verify.terms.prover import Prover

    target, listing = program.target, program.listing
    scheduler = Scheduler(program, CPUS[cpu], Prover(64, 8))
    found = []
    loops = innermost(program)
    for function in [f for f in program.functions if f.start in loops][::every]:
        if program.not_understood(function):
            continue
        first, last = listing.span(function.start, function.end)
        decoded = [(int(listing.addresses[at]), listing.insn(at)) for at in range(first, last)]
        items = [(a, a, i) for a, i in decoded if i is not None and not target.is_nop(i)]
        for loop in loops[function.start]:
            try:
                one = scheduler.reordered(function, loop, items)
            except NotReordered:
                continue
            found += [one] if one is not None else []
    return found


def _engine(loop: Reordered, insns: Sequence[Insn], cpu: str, passes: int = 24) -> Fraction:
    """Cycles a pass by the engine that runs traces; every access hits and meets no other."""
    steps = []
    for _ in range(passes):
        for n, insn in enumerate(insns):
            effects, last = TABLE.effects(insn.op), n == len(insns) - 1
            access = 0x100000 + 40 * n if effects.loads or effects.stores else None
            target = loop.start if last else None
            address = loop.start + 4 * n
            steps.append(
                Step(address, insn, access, 8 * (access is not None), effects.stores, target)
            )
    timeline = simulate(steps, CPUS[cpu], UP1000, warm=True).timeline
    ends = [timeline[len(insns) * (n + 1) - 1] for n in (passes - 10, passes - 2)]
    return Fraction(ends[1].retire - ends[0].retire, 8)


@pytest.mark.parametrize(("cpu", "every"), [("ev67", 8), ("ev56", 12), ("ev4", 16)])
def test_engines_find_them_faster_too(program: Program, cpu: str, every: int) -> None:
    """Most are, few slower: the model of the scheduler leaves little out."""
    found = _loops(program, cpu, every)
    pairs = [(_engine(loop, loop.old, cpu), _engine(loop, loop.new, cpu)) for loop in found]
    faster = sum(new < old for old, new in pairs)
    slower = sum(new > old for old, new in pairs)
    assert len(found) >= 15
    assert sum(new for _, new in pairs) < sum(old for old, _ in pairs)
    assert faster >= 0.75 * len(found), (faster, slower, len(found))
    assert slower <= 0.1 * len(found), (faster, slower, len(found))
