"""Signatures of PowerPC's routines: which files give which, and what they find."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.contracts import CONTRACTS
from rewriter.core.edit import Evidence
from rewriter.elf.archive.members import Part
from rewriter.elf.archive.text import first_ident, read
from rewriter.elf.image import Image, load
from rewriter.identify.compiler import Compiled, compile_file
from rewriter.identify.search import search, text_of
from rewriter.identify.signatures import shipped
from rewriter.verify.routines.replaceable import symbols_of
from rewriter.verify.routines.resolved import variants
from rewriter.verify.routines.trial import Trials

NOPS = (b"\x60\0\0\0", b"\0\0\0\x60")


def _compiled(path: Path) -> Compiled:
    data = path.read_bytes()
    target = targets.of_ident(first_ident(data, path.name))
    return compile_file(data, path.name, target, CONTRACTS)


@pytest.fixture(scope="module")
def image() -> Image:
    """The 32-bit libc."""
    return load(inputs.require("ppc-libc"))


def test_those_shipped_find_the_routines_of_the_libc(image: Image) -> None:
    """Where its symbols say that they are."""
    target = targets.of(image).sequential
    assert target is not None
    found = search(text_of(image, target), target, shipped(target))
    named = {(one.address, name) for one in symbols_of(image) for name in one.contracts}
    assert len({(match.address, match.signature.routine) for match in found} & named) >= 22


@pytest.mark.parametrize("name", ["ppc64-libc", "ppc64el-libc"])
def test_what_stands_behind_a_function_is_no_part_of_it(name: str) -> None:
    """A traceback table, which begins with a word of zeros, belongs to the symbol's size."""
    path = inputs.require(name)
    file = load(path)
    made = _compiled(path)
    assert {s.routine for s in made.signatures} == {"bcopy", "bzero", "ffs", "ffsll"}
    assert not made.refused
    places = {s.name: file.code_address(s) for s in file.symbols if s.st_shndx}
    for signature in made.signatures:
        end = places[signature.sources[0].symbol] + 4 * signature.words
        rest = file.read(end, 32)
        while rest.startswith(NOPS):
            rest = rest[4:]
        assert rest.startswith(bytes(4))


ENDLESS = """
        .globl  strlen
        .type   strlen,@function
strlen: lbz     4,0(3)
        lbz     5,1(3)
        addi    3,3,1
        {branch}
        blr
        .long   0, 0x1234
out:    li      3,1
        blr
        .size   strlen,.-strlen
"""


@pytest.mark.parametrize(("branch", "refused"), [("nop", False), ("beq out", True)])
def test_a_branch_over_data_makes_it_part(branch: str, refused: bool, tmp_path: Path) -> None:
    text, made = tmp_path / "made.s", tmp_path / "made.o"
    text.write_text(ENDLESS.format(branch=branch), encoding="utf-8")
    assembler = inputs.require_tool("powerpc-linux-gnu-as")
    subprocess.run((assembler, str(text), "-o", str(made)), check=True)
    found = _compiled(made)
    assert bool(found.refused) == refused and bool(found.signatures) == (not refused)
    assert refused or found.signatures[0].words == 5


def test_what_asks_the_loader_runs_in_the_emulator_too(image: Image) -> None:
    """memset asks how large a cache block is: the answer is data of another file."""
    target = targets.of(image).sequential
    assert target is not None
    memset = next(s for s in image.symbols if s.name == "memset")
    trials = Trials(image, target)
    inputs.require_tool("qemu-ppc")
    outcome = trials.sweep(memset.st_value, memset.st_size, CONTRACTS["memset"])
    assert isinstance(outcome, Evidence) and outcome.cases > 50_000
    trials = Trials(image, target)
    seen = trials.run(memset.st_value, memset.st_size, CONTRACTS["memset"], 40)
    assert isinstance(seen, Evidence)


DESCRIBED = """
        .section .text.first,"ax",@progbits
one:    lbz     4,0(3)
        addi    3,3,1
        blr
        .section .text.second,"ax",@progbits
        nop
two:    mr      5,3
        lbz     4,0(3)
        cmpwi   4,0
        addi    3,3,2
        blr
        .section .opd,"aw",@progbits
        .globl  strlen, memchr
        .type   strlen,@function
        .type   memchr,@function
        .size   strlen,20
        .size   memchr,12
strlen: .quad   two, .TOC.@tocbase, 0
memchr: .quad   one, .TOC.@tocbase, 0
"""


def test_a_descriptor_of_an_object_leads_to_its_code(tmp_path: Path) -> None:
    """In ELFv1 a function's symbol names a descriptor, which a relocation fills."""
    text, made = tmp_path / "made.s", tmp_path / "made.o"
    text.write_text(DESCRIBED, encoding="utf-8")
    assembler = inputs.require_tool("powerpc64-linux-gnu-as")
    subprocess.run((assembler, str(text), "-o", str(made)), check=True)
    found = read(Part(made.name, made.read_bytes()), made.name)
    places = {
        symbol.name: text.data[symbol.offset :][:4].hex()
        for text in found.texts
        for symbol in text.symbols
        if symbol.size
    }
    assert places == {"strlen": "7c651b78", "memchr": "88830000"}
    names = {signature.routine: signature.words for signature in _compiled(made).signatures}
    assert names == {"strlen": 5, "memchr": 3}


def test_those_shipped_find_variants_of_the_big_endian_libc() -> None:
    """Where its resolvers lead: routines of libc.a are the shared library's, word for word."""
    file = load(inputs.require("ppc64-libc"))
    target = targets.of(file).sequential
    assert target is not None
    found = search(text_of(file, target), target, shipped(target))
    known = {(match.address, match.signature.routine) for match in found}
    led = {(one.address, one.contract) for one in variants(file, target)}
    assert len(known & led) >= 40
