"""Code that computed jumps lead to without saying how many: it stays, and all around it moves."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import targets
from fixtures import inputs
from passes.lib import move
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function
from rewriter.elf.image import load
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from targets.alpha.cpus import CPUS

SOURCE = """
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) long step(const unsigned char *p, const unsigned char *kinds, long sum)
{
    static const int steps[] = {&&end - &&odd, &&add - &&odd, &&twice - &&odd, &&skip - &&odd,
                                &&odd - &&odd, &&store - &&odd};
    long kept[4] = {0};
#define GO goto *(*p - ' ' > 90u ? &&odd : &&odd + steps[kinds[*p - ' ']])
    GO;
odd:   sum ^= *p++; if (sum & 1) sum += 3; GO;
add:   sum += *p++; while (sum & 64) sum -= 24; GO;
twice: sum = 2 * sum + *p++; GO;
store: kept[sum & 3] = *p++; sum += kept[(sum + 1) & 3]; GO;
skip:  do p++; while (*p == ' '); GO;
end:   return sum + kept[0] + kept[1];
}

int main(int count, char **texts)
{
    unsigned char kinds[91];
    for (int i = 0; i < 91; i++)
        kinds[i] = i ? 1 + i % 5 : 3;
    kinds['#' - ' '] = 0;
    for (int i = 1; i < count; i++)
        printf("%ld\\n", step((unsigned char *) texts[i], kinds, i));
}
"""
TEXTS = ("#", "abc#", "a  b  \x7f c#", "The quick brown fox, 0123456789#", "\x01\x02zzz!\xff ~#")
EV67 = CPUS["ev67"]
ROOT = "/usr/alpha-linux-gnu"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Built with room before labels, as compilers for the oldest chip leave it."""
    gcc = inputs.require_tool("alpha-linux-gnu-gcc")
    folder = tmp_path_factory.mktemp("held")
    (folder / "step.c").write_text(SOURCE)
    options = ("-O2", "-w", "-fno-crossjumping", "-falign-labels=32", "-falign-loops=32")
    command = (gcc, *options, "-fno-gcse", "step.c", "-o", "step")
    subprocess.run(command, check=True, cwd=folder)
    image = load(str(folder / "step"))
    target = targets.of(image).sequential
    assert target is not None
    return analyse(image, target)


def tuned(program: Program, *passes: str) -> Tuned:
    """The function with some passes."""
    options = Options(passes=passes, funcs=("step",))
    return tune(program.image, program.target, EV67, options, lambda *_: None, program=program)


def step(program: Program) -> Function:
    return next(f for f in program.functions if f.name == "step")


def test_what_is_led_to_stays(program: Program) -> None:
    """What stands there, and that nothing else need stay."""
    function, done = step(program), tuned(program, "align")
    assert [edit.technique for edit in done.edits] == ["align"], done.skips
    held = move.held_by_jumps(program, function)
    assert len(held) > 4
    new = program.target.listing(replace(program.image, data=done.data))
    moved = 0
    for number in range(*program.listing.span(function.start, function.end)):
        address = int(program.listing.addresses[number])
        old, now = program.listing.insn(number), new.insn(number)
        assert old is not None and now is not None
        same = (old.op, old.placeless) == (now.op, now.placeless)
        assert same or address not in held, hex(address)
        moved += not same
    assert moved > 10


def test_the_program_does_what_it_did(program: Program, tmp_path: Path) -> None:
    done = tuned(program, "bytes", "cmov", "combine", "schedule", "align")
    assert {edit.technique for edit in done.edits} >= {"bytes", "align"}
    said = []
    for name, data in (("old", program.image.data), ("new", done.data)):
        file = tmp_path / name
        file.write_bytes(data)
        file.chmod(0o755)
        command = (inputs.require_tool("qemu-alpha"), "-cpu", "ev67", "-L", ROOT, file, *TEXTS)
        said.append(subprocess.run(command, check=True, capture_output=True).stdout)
    assert said[0] == said[1] and said[0].count(b"\n") == len(TEXTS)


def test_the_final_check_refuses_what_does_not_stay(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layout made as if nothing were held."""
    real = move._code

    def nothing_held(program: Program, function: Function, *others: Any) -> Any:
        (entries, held), *rest = others
        assert held
        return real(program, function, (entries, ()), *rest)

    monkeypatch.setattr(move, "_code", nothing_held)
    done = tuned(program, "align")
    assert done.edits == ()
    assert any("not verified" in skip.reason for skip in done.skips)
