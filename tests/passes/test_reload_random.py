"""Random programs of calls: where gp is not made anew, every run comes there with it.

A program is some functions that make gp or do not, spoil it, call, skip a step, and go on to one
another.  Runs draw which way branches go, on a machine of three values; the text is assembled and
asked what `reload` would leave out, and what `verify` says when it is left out elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from rewriter.analysis.program import Program, analyse
from rewriter.core.code.listing import FLOWS
from rewriter.elf.debug_identity import with_old_identity
from rewriter.verify.check import verify
from targets.alpha import Alpha
from targets.alpha.image.pointers import UNOP
from tests.support.depth import depth
from tests.support.small_kernel import linked

ALPHA = Alpha()
FUNCTIONS, RUNS, STEPS = 14, 300, 150

MADE, ENTERED, OTHER = "made", "entered", "other"
"""What gp is: as this file makes it; as it was when the run began; anything else."""


@dataclass(frozen=True)
class Step:
    """`call` or `spoil`, perhaps skipped; behind a call gp may be made again."""

    what: str
    callee: int = 0
    skipped: bool = False
    again: bool = True


@dataclass(frozen=True)
class Code:
    """A function: whether it makes gp first, its steps, and what it goes on to instead of back."""

    makes: bool
    steps: Sequence[Step]
    onward: int | None


def drawn(random: Random) -> list[Code]:
    """A program."""
    return [_function(random) for _ in range(FUNCTIONS)]


def _function(random: Random) -> Code:
    steps = []
    for _ in range(random.randrange(4)):
        what = "spoil" if random.random() < 0.1 else "call"
        callee, skipped = random.randrange(FUNCTIONS), random.random() < 0.75
        steps.append(Step(what, callee, skipped, random.random() < 0.8))
    onward = random.randrange(FUNCTIONS) if random.random() < 0.2 else None
    return Code(random.random() < 0.8, steps, onward)


def text(program: Sequence[Code]) -> str:
    """It as source for the assembler; `_start` calls all."""
    lines = ["enter _start", *(f"call f{n}" for n in range(len(program))), "leave _start"]
    for number, code in enumerate(program):
        lines += [f"func f{number}", *(["ldgp $29,0($27)"] if code.makes else [])]
        lines += ["lda $30,-16($30)", ".cfi_adjust_cfa_offset 16"]
        lines += ["stq $26,0($30)", ".cfi_offset 26,-16"]
        for at, step in enumerate(code.steps):
            lines += _step(step, f"f{number}_{at}")
        lines += ["ldq $26,0($30)", "lda $30,16($30)", ".cfi_adjust_cfa_offset -16"]
        end = "ret $31,($26),1" if code.onward is None else f"lda $27,f{code.onward}\njmp $31,($27)"
        lines += [end, f"end f{number}"]
    return "\n".join((*lines, ".data", ".globl word", "word: .quad 1", ""))


def _step(step: Step, label: str) -> Iterator[str]:
    if step.skipped:
        yield f"beq $16,.L{label}"
    if step.what == "spoil":
        yield "lda $29,64($29)"
    else:
        yield f"jsr $26,f{step.callee}"
        if step.again:
            yield from ("ldgp $29,0($26)", "ldq $0,word")
    yield f".L{label}:"


@dataclass
class Run:
    """One run from a function on; `seen` collects what gp was behind calls, by label."""

    program: Sequence[Code]
    random: Random
    seen: dict[str, set[str]]
    left: int = STEPS
    gp: str = field(default=ENTERED)

    def function(self, number: int) -> None:
        """It and what it calls; a run that is too long ends where it is."""
        code, self.left = self.program[number], self.left - 1
        if code.makes:
            self.gp = MADE
        for at, step in enumerate(code.steps):
            if self.left > 0 and not (step.skipped and self.random.random() < 0.5):
                self._step(step, f"f{number}_{at}")
        if code.onward is not None and self.left > 0:
            self._enter(code.onward)

    def _step(self, step: Step, label: str) -> None:
        if step.what == "spoil":
            self.gp = OTHER
            return
        self._enter(step.callee)
        if self.left > 0:
            self.seen.setdefault(label, set()).add(self.gp)
            self.gp = MADE if step.again else self.gp

    def _enter(self, callee: int) -> None:
        """By the table that gp points into: with another gp anything may be called."""
        if self.gp == MADE:
            self.function(callee)
        else:
            self.gp, self.left = OTHER, self.left - 1


def runs(program: Sequence[Code], random: Random) -> dict[str, set[str]]:
    """What gp was behind calls in many runs, by label."""
    seen: dict[str, set[str]] = {}
    for number in range(len(program)):
        for _ in range(RUNS):
            Run(program, random, seen).function(number)
    return seen


def test_what_is_left_out_is_there_in_every_run(tmp_path: Path) -> None:
    """And where a run comes with another, the verifier wants it made."""
    counts = Counter[str]()
    for seed in range(depth(4, 80)):
        program, random = drawn(Random(seed)), Random(seed)
        read = analyse(linked(tmp_path, text(program)), ALPHA)
        seen = runs(program, random)
        places = dict(_behind_calls(read, program))
        left_out = {label for label in seen if places[label] in read.made_again}
        needed = [label for label in _made(program) if seen.get(label, {MADE}) != {MADE}]
        assert not left_out.intersection(needed), seed
        tried = random.sample(needed, min(len(needed), depth(1, 8)))
        assert all(_findings(read, places[label]) for label in tried), seed
        counts.update(left_out=len(left_out), needed=len(needed), tried=len(tried))
    print(dict(counts))
    assert min(counts["left_out"], counts["needed"]) > 5


def _behind_calls(read: Program, program: Sequence[Code]) -> Iterator[tuple[str, int]]:
    """The labels of calls, each with the address behind it."""
    starts = {function.name: function for function in read.functions}
    for number, code in enumerate(program):
        function, listing = starts[f"f{number}"], read.listing
        first, last = listing.span(function.start, function.end)
        calls = [n for n in range(first, last) if FLOWS[listing.flows[n]].links]
        labels = [f"f{number}_{at}" for at, step in enumerate(code.steps) if step.what == "call"]
        for label, at in zip(labels, calls, strict=True):
            yield label, int(listing.addresses[at + 1])


def _made(program: Sequence[Code]) -> Iterator[str]:
    """The labels of calls behind which gp is made again."""
    for number, code in enumerate(program):
        for at, step in enumerate(code.steps):
            if step.what == "call" and step.again:
                yield f"f{number}_{at}"


def _findings(program: Program, behind: int) -> object:
    """What the verifier says where gp is not made again behind a call."""
    data, at = bytearray(program.image.data), program.image.offset_of(behind)
    data[at : at + 8] = ALPHA.encode(UNOP) * 2
    image = replace(program.image, data=bytes(with_old_identity(program.image, bytes(data))))
    return verify(program, image, lambda *_: None).findings
