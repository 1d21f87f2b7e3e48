"""Random programs of branches, and what they print before and after their blocks change places.

A program is some functions of two numbers: tests inside tests, loops with ways out of them, tables
of ways, jumps forward, early ends.  `main` calls each with the same numbers and prints what comes
out, a line for each function.  What is drawn follows from the seed and the program's number, and so
does the profile, in which branches go either way, however often.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import targets
from fixtures import programs
from fixtures.fuzz.counts import random_counts
from fixtures.fuzz.road import retune
from fixtures.guests import GUESTS
from fixtures.inputs import find, tool
from rewriter.analysis.program import analyse
from rewriter.elf.image import load

SETTINGS = {"alpha": "ev67", "ppc": "7450", "ppc64": "970", "ppc64el": "power9"}
"""The CPU that programs of a machine are retuned for."""

LEVELS = ("-O1", "-O2", "-O3", "-Os")
_NOTHING = 4
"""The exit status of `patch` where nothing changes."""

_NAMES = ("a", "b", "c", "d")
_STEPS = ("+=", "-=", "^=", "|=")
_TESTS = ("<", "<=", "==", "!=", ">", ">=")
_KINDS = ("uint32_t", "int32_t", "uint8_t", "int64_t")

_HEAD = """#include <stdint.h>
#include <stdio.h>
typedef uint64_t word;
static word seen;
__attribute__((noipa)) static word other(word a) { seen += a; return a * 5 ^ seen >> 3; }
"""
_MAIN = """
int main(void)
{
    for (unsigned f = 0; f < sizeof all / sizeof *all; f++) {
        word x = 88172645463325252ull, sum = 0;
        seen = f;
        for (int i = 0; i < 200; i++) {
            x ^= x << 13; x ^= x >> 7; x ^= x << 17;
            sum = sum * 31 + all[f](i < 100 ? i % 10 : x >> (i & 63), i < 100 ? i / 10 : x & 255);
        }
        printf("%u %llx\\n", f, (unsigned long long)(sum ^ seen));
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Compared:
    """What a program printed before and after, and what `verify` said: how many functions have
    another order, and whether the file is the same program."""

    before: list[str]
    after: list[str]
    ordered: int
    verified: bool

    @property
    def different(self) -> list[int]:
        """The functions that print something else; all where a line is missing."""
        both = zip(self.before, self.after, strict=False)
        wrong = [number for number, (old, new) in enumerate(both) if old != new]
        return wrong if len(self.before) == len(self.after) else [*range(len(self.before))]


def compared(machine: str, seed: str, number: int, functions: int, folder: Path) -> Compared:
    """One program, built, retuned by a profile that is drawn, verified, and run twice."""
    draw = Random(f"{seed} {number}")
    old, new, profile = folder / "old", folder / "new", folder / "profile.txt"
    old.with_suffix(".c").write_text(text(draw, functions), encoding="ascii")
    compiler = tool(f"{GUESTS[machine].triplet}-gcc")
    command = (compiler, draw.choice(LEVELS), "-w", str(old.with_suffix(".c")), "-o", str(old))
    subprocess.run(command, check=True)
    image, cpu = load(old), SETTINGS[machine]
    target = targets.of(image).sequential
    assert target is not None
    counts = random_counts(analyse(image, target), f"{seed} {number}")
    profile.write_text(counts.written(), encoding="ascii")
    options = ("--cpu", cpu, "--jobs", "1", "--json", "--profile", profile)
    done = retune("patch", old, "-o", new, *options)
    if done.status == _NOTHING:
        return Compared(printed(machine, old), printed(machine, old), 0, True)
    assert not done.died and done.status == 0, f"patch: {done.died or done.stderr}"
    ids = [edit["id"] for edit in json.loads(done.stdout)["edits"]]
    verified = retune("verify", old, new, "--jobs", "1").status == 0
    ordered = sum(one.startswith("layout:") for one in ids)
    return Compared(printed(machine, old), printed(machine, new), ordered, verified)


def printed(machine: str, program: Path) -> list[str]:
    """What a program prints, a line for each function; what came until a signal ended it."""
    cpu = SETTINGS[machine]
    root = programs.sysroot(find(f"{machine}-libc"), cpu=cpu)
    command = (tool(GUESTS[machine].emulator), "-cpu", cpu, "-L", str(root), str(program))
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=60)
    return done.stdout.splitlines()


def text(draw: Random, functions: int) -> str:
    """The program's source."""
    made = ["\n".join(_function(draw, number)) for number in range(functions)]
    table = ", ".join(f"f{number}" for number in range(functions))
    return "\n".join(
        (_HEAD, *made, f"static word (*const all[])(word, word) = {{{table}}};", _MAIN)
    )


def _function(draw: Random, number: int) -> Iterator[str]:
    yield f"__attribute__((noipa)) static word f{number}(word a, word b) {{"
    yield "    word c = a ^ b, d = a + 3 * b;"
    yield from _statements(draw, 0, draw.randint(2, 4))
    yield "out:"
    yield "    return a ^ b * 3 ^ c * 5 ^ d * 7;"
    yield "}"


def _statements(draw: Random, depth: int, many: int) -> Iterator[str]:
    for _ in range(many):
        shape = draw.choice(_SHAPES) if depth < 3 else _step
        yield from ("    " + line for line in shape(draw, depth))


def _inner(draw: Random, depth: int) -> Iterator[str]:
    return _statements(draw, depth + 1, draw.randint(1, 2))


def _test(draw: Random) -> str:
    kind, one, other = draw.choice(_KINDS), draw.choice(_NAMES), draw.choice((*_NAMES, "7", "200"))
    return f"({kind}){one} {draw.choice(_TESTS)} ({kind}){other}"


def _step(draw: Random, depth: int) -> Iterator[str]:
    one, other, step = draw.choice(_NAMES), draw.choice(_NAMES), draw.choice(_STEPS)
    call = draw.random() < 0.2
    yield f"{one} {step} {f'other({other})' if call else f'{other} * {draw.randint(2, 9)} + 1'};"


def _if(draw: Random, depth: int) -> Iterator[str]:
    yield f"if ({_test(draw)}) {{"
    yield from _inner(draw, depth)
    if draw.random() < 0.5:
        yield "} else {"
        yield from _inner(draw, depth)
    yield "}"


def _loop(draw: Random, depth: int) -> Iterator[str]:
    yield f"for (int i{depth} = {draw.randint(2, 9)}; i{depth} > 0; i{depth}--) {{"
    yield from _inner(draw, depth)
    if draw.random() < 0.5:
        yield f"    if ({_test(draw)}) {draw.choice(('break', 'continue'))};"
        yield from _inner(draw, depth)
    yield "}"


def _switch(draw: Random, depth: int) -> Iterator[str]:
    yield f"switch ({draw.choice(_NAMES)} & 7) {{"
    for number in range(draw.randint(3, 7)):
        yield f"case {number}:"
        yield from _inner(draw, depth)
        if draw.random() < 0.7:
            yield "    break;"
    yield "}"


def _leave(draw: Random, depth: int) -> Iterator[str]:
    yield f"if ({_test(draw)}) {draw.choice(('goto out', 'return a - d', 'return c'))};"


_SHAPES = (_step, _step, _if, _if, _if, _loop, _switch, _leave)
