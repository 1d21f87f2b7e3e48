"""Searches for a bit in real PowerPC files: what becomes of them, and what is refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.core.edit import Grade
from rewriter.core.isa.instruction import Insn
from rewriter.elf import image
from rewriter.elf.debug_identity import with_old_identity
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from tests.support.depth import DEEP, depth
from tests.verification.tables.test_ppc_rows import assembled

FILES = {"ppc64el-ld.so": 20} | ({"ppc64el-libc": 210, "ppc64el-libstdc++": 100} if DEEP else {})
"""Names of files and how many searches of each become counts, at least."""
COUNTS = {"cnttzd", "cnttzw", "cntlzd", "cntlzw", "popcntd", "popcntw"}


@pytest.fixture(scope="module", params=FILES)
def program(request: pytest.FixtureRequest) -> Program:
    loaded = image.load(inputs.require(request.param))
    return analyse(loaded, targets.of(loaded))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tuned(program: Program) -> Tuned:
    return _tuned(program, "power9")


def _tuned(program: Program, cpu: str) -> Tuned:
    target = program.target
    return tune(
        program.image,
        target,
        target.cpus[cpu],
        Options(("bitscan",)),
        lambda *_: None,
        program=program,
    )


def _differences(program: Program, data: bytes) -> Iterator[tuple[int, Insn]]:
    """The instructions of changed bytes, with their addresses."""
    new = program.target.listing(replace(program.image, data=data), program.listing)
    for at, (word, other) in enumerate(zip(program.listing.words, new.words, strict=True)):
        if word != other:
            insn = new.insn(at)
            assert insn is not None
            yield int(new.addresses[at]), insn


def test_most_searches_become_counts(program: Program, tuned: Tuned) -> None:
    """Each is proved, and there is nothing new but counts, what follows them, and nops."""
    assert len(tuned.edits) >= FILES[_name(program)]
    assert {edit.evidence.grade for edit in tuned.edits} == {Grade.PROVED}
    assert all(edit.gain > 0 for edit in tuned.edits)
    made = Counter(insn.name for _, insn in _differences(program, tuned.data))
    assert made["cnttzd"] >= FILES[_name(program)] * 0.8
    assert set(made) <= {*COUNTS, "rldicl", "rlwinm", "addi", "ori"}


def _name(program: Program) -> str:
    """What the file is called among the inputs."""
    return next(name for name in FILES if str(inputs.find(name)) == program.image.name)


def test_no_count_that_the_cpu_lacks(program: Program) -> None:
    """POWER8 counts ones and leading zeros only: its own searches are as short as they get."""
    tuned = _tuned(program, "power8")
    new = {insn.name for _, insn in _differences(program, tuned.data)}
    assert not new & {"cnttzd", "cnttzw"}
    assert len(tuned.edits) < 0.1 * FILES[_name(program)]


def test_the_verifier_refuses_other_counts(program: Program, tuned: Tuned) -> None:
    """Of another width, from the other end, of another register, into another: all are findings."""
    image, cpu = program.image, program.target.cpus["power9"]
    right = replace(image, data=tuned.data)
    assert not verify(program, right, lambda *_: None, made_for=cpu).findings
    counts = [one for one in _differences(program, tuned.data) if one[1].name == "cnttzd"]
    draw = random.Random(20)
    refused = 0
    for at, insn in draw.sample(counts, depth(1, 25)):
        ra, rs = insn.operand("ra"), insn.operand("rs")
        others = [
            *(program.target.table.find(name) for name in COUNTS - {"cnttzd"}),
            *(program.target.table.find(name) for name in ("neg", "popcntb", "extsw")),
        ]
        words = [insn.replace(rs=(rs + 1) % 32), insn.replace(ra=(ra + 1) % 32)]
        for other in (*words, *(Insn(op, (ra, rs)) for op in others)):
            data = bytearray(with_old_identity(program.image, tuned.data))
            offset = program.image.offset_of(at)
            data[offset : offset + 4] = program.target.encode(other)
            owner = program.function_at(at)
            assert owner is not None
            mutant = replace(program.image, data=bytes(data))
            verdict = verify(program, mutant, lambda *_: None, only=[owner], made_for=cpu)
            assert verdict.findings, program.target.table.text(other)
            refused += 1
    assert refused == depth(1, 25) * 10


FROM_A_VECTOR = """
    .abiversion 2
    .globl whole
    .type whole,@function
whole:
    .cfi_startproc
    mtvsrd 0,3
    fmul 0,0,11
    xscvdpsxws 32,0
    mfvsrwz 9,32
    cntlzw 3,9
    blr
    .cfi_endproc
    .size whole, .-whole
"""


def test_what_is_searched_is_in_a_general_register(tmp_path: Path) -> None:
    """No count reads the vector register in which a number was converted, as musl does it."""
    program = assembled(FROM_A_VECTOR, tmp_path, "powerpc64le")
    tuned = _tuned(program, "power9")
    assert not [insn for _, insn in _differences(program, tuned.data) if insn.name in COUNTS]
    assert not tuned.refusals
