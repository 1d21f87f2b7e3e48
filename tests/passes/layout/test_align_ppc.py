"""PowerPC functions in new layouts: what is gained, what stays, what the verifier refuses."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.listing import Listing, decode_at
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import AWAY, BRANCHING, Insn
from rewriter.elf import image
from rewriter.elf.debug_identity import with_old_identity
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from rewriter.verify.walk.insn_classes import NOP, Kinds
from tests.support.depth import DEEP
from tests.verification.tables.test_ppc_rows import assembled

CPUS = {"ppc": "7450", "ppc64": "970", "ppc64el": "power9"}
NOP_WORD = bytes.fromhex("60000000")  # ori 0,0,0
FILES = [f"{abi}-{name}" for abi in CPUS for name in ("ld.so", *(("libc", "libm") if DEEP else ()))]


@pytest.fixture(scope="module", params=FILES)
def name(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


@pytest.fixture(scope="module")
def program(name: str) -> Program:
    loaded = image.load(inputs.require(name))
    return analyse(loaded, targets.of(loaded))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tuned(program: Program, name: str) -> Tuned:
    cpu = program.target.cpus[CPUS[name.partition("-")[0]]]
    return tune(
        program.image, program.target, cpu, Options(("align",)), lambda *_: None, program=program
    )


def test_functions_are_laid_out(program: Program, tuned: Tuned) -> None:
    """Control passes through fewer nops, and nothing that is data is in another place, nor is it
    other data but where jump tables have an entry."""
    assert len(tuned.edits) >= 5
    assert all(edit.gain > 0 or edit.evidence.detail.endswith("less") for edit in tuned.edits)
    new = program.target.listing(replace(program.image, data=tuned.data), program.listing)
    data = program.listing.rows < 0
    assert np.array_equal(data, new.rows < 0)
    tables = (t for t in program.references.tables if t.exact)
    entries = {at for t in tables for at in range(t.address, t.address + 4 * len(t.targets), 4)}
    kept = data & ~np.isin(program.listing.addresses, np.array([*entries], dtype=np.uint64))
    assert np.array_equal(program.listing.words[kept], new.words[kept])


def test_no_way_has_more_nops(program: Program, tuned: Tuned) -> None:
    """Before each nop that is new on a way another is gone, behind the last place to join it."""
    new = program.target.listing(replace(program.image, data=tuned.data), program.listing)
    moved = {edit.address for edit in tuned.edits}
    for function in (f for f in program.functions if f.start in moved):
        old_items, new_items = (
            _items(program, listing, function) for listing in (program.listing, new)
        )
        places = [address for address, _, _ in old_items]
        targets_of = (insn.target(at) for at, insn, _ in old_items if insn.op.flow in BRANCHING)
        tables = program.tables_of(function)
        targets = {*targets_of, *(at for table in tables for at in table.targets)}
        heads = {bisect_left(places, at) for at in targets if at is not None and at in function}
        fewer = 0
        for n, (one, now) in enumerate(zip(old_items, new_items, strict=True)):
            follows = n > 0 and old_items[n - 1][1].op.flow not in AWAY
            fewer = (fewer if follows else 0) + one[2] - now[2]
            assert fewer >= 0, function.name
            fewer = 0 if n in heads else fewer


_SAME = [(register, register, 0) for register in range(32)]


def _items(program: Program, listing: Listing, function: Function) -> list[tuple[int, Insn, int]]:
    """What does something: its address, and the nops before it that control passes through."""
    found, nops, falls = list[tuple[int, Insn, int]](), 0, True
    for at in range(*listing.span(function.start, function.end)):
        insn = listing.insn(at)
        if insn is not None and insn.name == "ori" and insn.operands in _SAME:
            nops += 1
        elif insn is not None:
            found.append((int(listing.addresses[at]), insn, nops if falls else 0))
            nops, falls = 0, insn.op.flow not in AWAY
    return found


def test_entries_stay(program: Program, tuned: Tuned) -> None:
    """The words of each function up to its last entry are the same: TOC set-up and local entry."""
    new = replace(program.image, data=tuned.data)
    for function in program.functions:
        last = max((function.start, *program.target.entries(program.listing, function)))
        size = last - function.start
        assert new.read(function.start, size) == program.image.read(function.start, size)


def test_a_moved_function_with_another_word_is_refused(program: Program, tuned: Tuned) -> None:
    """A branch one word further, a nop for an instruction: findings, all of them."""
    listing, target = program.listing, program.target
    new = target.listing(replace(program.image, data=tuned.data), listing)
    moved = {edit.routine for edit in tuned.edits}
    function = next(
        f for f in program.functions if f.name in moved and len(program.graph.blocks_of(f)) > 6
    )
    refused = 0
    for at in range(*new.span(function.start, function.end)):
        insn, address = new.insn(at), int(new.addresses[at])
        if insn is None or target.is_nop(insn) or refused > 5:
            continue
        if new.words[at] == listing.words[at] or not program.graph.reached.any():
            continue
        data = bytearray(with_old_identity(program.image, tuned.data))
        offset = program.image.offset_of(address)
        (nop,) = target.nops(4)
        other = insn.replace(bd=insn.operand("bd") + 4) if insn.has("bd") else nop
        data[offset : offset + 4] = target.encode(other)
        mutant = replace(program.image, data=bytes(data))
        verdict = verify(program, mutant, lambda *_: None, only=[function])
        assert verdict.findings, target.table.text(insn)
        refused += 1
    assert refused > 2


def test_a_nop_is_told_by_its_number() -> None:
    """ORI of the same register with another number is an instruction, whichever is met first."""
    target = targets.of_ident(image.load(inputs.require("ppc64el-ld.so")).ident).sequential
    assert target is not None
    words = np.array([0x60000005, 0x60000000, 0x60000007, 0x60420000, 0x60420001], dtype=np.uint64)
    for order in (words, words[::-1]):
        places = 4 * np.arange(len(order), dtype=np.uint64)
        listing = decode_at(target.table, places, order, np.empty(0, dtype=np.int64))
        kinds = Kinds(target).of(listing, 0, len(order))
        nops = {0x60000000, 0x60420000}
        assert [bool(kind & NOP) for kind in kinds] == [int(word) in nops for word in order]


def test_a_nop_that_a_function_begins_with_goes() -> None:
    """Linkers leave it where the upper part of an address is nothing (64-bit ELF ABIs, TOC)."""
    loaded = image.load(inputs.require("ppc64-libc"))
    target = targets.of(loaded)
    options = Options(("align",), funcs=("isalnum",))
    done = tune(loaded, target, target.cpus["970"], options, lambda *_: None)
    assert [(edit.routine, edit.gain) for edit in done.edits] == [("isalnum", 1)]
    start, new = done.edits[0].address, replace(loaded, data=done.data)
    assert loaded.read(start, 4) == NOP_WORD
    assert new.read(start, 8) == loaded.read(start + 4, 8)


CALLING = """
    .globl f
    .type f, @function
f:  .cfi_startproc
    mflr 0
    bl g
    nop
    mtlr 0
    blr
    .cfi_endproc
    .size f, .-f
    .type g, @function
g:  .cfi_startproc
    li 3, 1
    blr
    .cfi_endproc
    .size g, .-g
"""


def test_a_nop_behind_a_call_goes(tmp_path: Path) -> None:
    """It was for a linker, which is done with the file."""
    program = assembled(CALLING, tmp_path, "powerpc64le")
    target = program.target
    options = Options(("align",))
    done = tune(program.image, target, target.cpus["power9"], options, lambda *_: None)
    assert [(edit.routine, edit.gain) for edit in done.edits] == [("f", 1)]
