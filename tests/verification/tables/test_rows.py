"""What an unwind row goes by stays before it: swaps with a neighbour are refused."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from rewriter.elf.image import Image, load
from rewriter.elf.unwind import rows
from rewriter.verify.check import verify
from tests.support.depth import depth

SOURCES = Path(__file__).parents[3] / "fixtures" / "corners"
Swap = tuple[int, int]
"""Addresses of two instructions, one behind the other."""


def analysed(path: Path) -> Program:
    loaded = load(str(path))
    return analyse(loaded, targets.of(loaded))


def quiet(stage: str, done: int, count: int) -> None:
    pass


def registers(insn: Insn) -> list[int]:
    """The registers that an instruction names."""
    operands = zip(insn.op.format.operands, insn.operands, strict=True)
    return [number for operand, number in operands if operand.kind is Kind.REGISTER]


def swaps(program: Program, function: Function) -> Iterator[Swap]:
    """Each instruction before a row with each neighbour that is another one.

    One of the two names a register whose rule is another one from the row on, or the frame's.
    """
    frame = program.frames.get(function.start)
    if frame is None or program.not_understood(function):
        return
    listing = program.listing
    for (_, before), (row, after) in pairwise(rows.rows(frame)):
        changed = {before.cfa[1], after.cfa[1]} if before.cfa != after.cfa else set()
        changed |= {register for register, _ in {*before.registers} ^ {*after.registers}}
        for first in (row - 8, row - 4):
            pair = first, first + 4
            if pair[0] < function.start or pair[1] >= function.end:
                continue
            insns = [listing.insn(listing.index(at)) for at in pair]
            known = [one for one in insns if one is not None and not program.target.is_nop(one)]
            if len(known) == 2 and known[0] != known[1]:
                named = {int(register) for one in known for register in registers(one)}
                if named & changed:
                    yield pair


def swapped(image: Image, pairs: list[Swap]) -> Image:
    data = bytearray(image.data)
    for first, second in pairs:
        one, other = image.offset_of(first), image.offset_of(second)
        data[one : one + 4], data[other : other + 4] = (
            image.data[other : other + 4],
            image.data[one : one + 4],
        )
    return replace(image, data=bytes(data))


def accepted(program: Program, pairs: dict[Function, Swap]) -> list[tuple[str, int]]:
    """The swaps, one a function, that the verifier accepts."""
    new = swapped(program.image, list(pairs.values()))
    verdict = verify(program, new, quiet)
    kept = set(pairs) - set(verdict.failed)
    return [(function.name, pairs[function][0]) for function in kept]


def rounds(program: Program, functions: Sequence[Function]) -> Iterator[dict[Function, Swap]]:
    """All swaps of a file, in files that have one in each function."""
    left = {f: found for f in functions if (found := list(swaps(program, f)))}
    while left:
        yield {function: found.pop() for function, found in left.items()}
        left = {function: found for function, found in left.items() if found}


@pytest.mark.parametrize(("name", "of"), (("alpha-libc", depth(40, 8)), ("alpha-libgcc_s", 1)))
def test_no_swap_at_a_row_is_accepted(name: str, of: int) -> None:
    """In every function, or in one `of` so many: all 25,202 of the C library take two minutes."""
    program, count = analysed(inputs.require(name)), 0
    for pairs in rounds(program, program.functions[::of]):
        assert accepted(program, pairs) == []
        count += len(pairs)
    assert count > 500


@pytest.mark.parametrize("flags", (("-O2",), ("-O1",), ("-Os",), ("-O0",), ("-O2", "-mieee")))
def test_a_frame_pointer(flags: tuple[str, ...], tmp_path: Path) -> None:
    """alloca: frames are found by $15 from where it is set on."""
    compiler, library = inputs.require_tool("alpha-linux-gnu-gcc"), tmp_path / "fr.so"
    command = (compiler, *flags, "-shared", "-fPIC", SOURCES / "fr.c", "-o", library)
    subprocess.run(command, check=True)
    program = analysed(library)
    function = next(one for one in program.functions if one.name == "al")
    found = list(swaps(program, function))
    assert len(found) >= 3
    for pair in found:
        assert accepted(program, {function: pair}) == []
