"""By what a file names code beside symbols and plain words of data: relocations against sections
and symbols without names, sections that are no data by their type, and what the loader calls.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import analyse
from rewriter.core.code.listing import UNKNOWN
from rewriter.elf.image import Image, load
from rewriter.elf.pins import relocated, text_words
from tests.verification.tables.test_ppc_rows import changed_text, said_of

POWERPC = {"powerpc": ".4byte", "powerpc64": ".8byte", "powerpc64le": ".8byte"}
"""What writes an address on each, wherever it stands."""

PACKED = """
    .section .init, "ax"
    nop
    .text
    nop
.Lone:
    blr
    .section .data.rel.ro, "aw"
    .balign 8
    .byte 0
    {word} .Lone
    .data
    .space 16
"""


def built(source: str, folder: Path, machine: str, *options: str) -> Image:
    """What is linked of this without anything else."""
    (folder / "f.s").write_text(source)
    gcc = inputs.require_tool(f"{machine}-linux-gnu-gcc")
    subprocess.run((gcc, "-nostdlib", *options, "f.s", "-o", "f"), cwd=folder, check=True)
    return load(folder / "f")


def start_of(image: Image, name: str) -> int:
    """Where a section begins."""
    section = image.section(name)
    assert section is not None
    return section.sh_addr


@pytest.mark.parametrize("machine", POWERPC)
def test_a_relocation_against_a_section(machine: str, tmp_path: Path) -> None:
    """It names its symbol by number: the symbols of sections have no names.

    On 32-bit PowerPC its addend is the whole address.
    """
    source = PACKED.format(word=POWERPC[machine])
    image = built(source, tmp_path, machine, "-shared")
    (relocation,) = (r for r in image.relocations if r.dynamic)
    assert relocation.r_sym
    words = relocated(image, targets.of(image).sequential)
    assert words == {relocation.r_offset: start_of(image, ".text") + 4}


IN_SECTION = """
    .text
    .globl _start
    .type _start, @function
_start:
    nop
    nop
.Lone:
    nop
    .size _start, .-_start
    .section {section}
    .balign 8
    {word} .Lone
"""


@pytest.mark.parametrize("section", ['.note.tab, "a", @note', '.tab, "a", @0x60000005', ".data"])
@pytest.mark.parametrize("machine", (*POWERPC, "alpha"))
def test_a_word_in_a_section_of_any_type(machine: str, section: str, tmp_path: Path) -> None:
    """Where addresses are fixed nothing else says that it is one: gas makes notes of .note.tab."""
    word = POWERPC.get(machine, ".quad")
    source = IN_SECTION.format(section=section, word=word)
    image = built(source, tmp_path, machine, "-static", "-no-pie")
    target = targets.of(image).sequential
    found = text_words(image, target.listing(image), ())
    place = start_of(image, section.partition(",")[0])
    assert (place, start_of(image, ".text") + 8) in set(found)


CALLED = """
    .text
    .globl run
    .type run, @function
run:
    nop
    .type chosen, @gnu_indirect_function
chosen:
    nop
    .type begin, @function
    .hidden begin, end
    .globl begin, end
begin:
    nop
    .type end, @function
end:
    nop
    .size run, .-run
    .data
    .balign 8
    {word} chosen
"""


@pytest.mark.parametrize("machine", ("powerpc", "powerpc64le"))
def test_what_the_loader_calls(machine: str, tmp_path: Path) -> None:
    """Resolvers, and what runs at start and end, need no symbol: only the loader is told."""
    source = CALLED.format(word=POWERPC[machine])
    options = ("-shared", "-s", "-Wl,-init,begin", "-Wl,-fini,end")
    image = built(source, tmp_path, machine, *options)
    text = start_of(image, ".text")
    places = [text + 4 * n for n in range(4)]
    symbols = {s.st_value for s in image.symbols}
    assert symbols.isdisjoint(places[1:]) and places[0] in symbols
    program = analyse(image, targets.of(image))
    assert {pin.address for pin in program.pins} == set(places)
    firsts = set(program.listing.addresses[program.graph.first].tolist())
    assert firsts >= set(places)


BESIDE_CODE = """
    .text
    .globl _start
    .type _start, @function
_start:
    {first}
    .long .Lone
    .p2align 6
.Lone:
    {last}
    .size _start, .-_start
"""


@pytest.mark.parametrize(
    ("first", "last", "read"),
    [
        ("blr", "blr", True),
        ("bctr\nnop", "blr", True),
        ("nop", "blr", False),
        ("bl .Lone", "blr", False),
        ("blr\nnop", "b .Lone - 60", False),
        ("blr\nnop", "blr\n.pushsection .data\n.long .Lone - 60\n.popsection", False),
    ],
    ids=("behind", "behind nops", "falls", "comes back", "branch", "label"),
)
def test_a_word_in_text_that_reads_like_an_instruction(
    first: str, last: str, read: bool, tmp_path: Path
) -> None:
    """Of AltiVec, where programs of 32 bits are: it is an address where control does not come."""
    source = BESIDE_CODE.format(first=first, last=last)
    image = built(source, tmp_path, "powerpc", "-static", "-no-pie", "-Wl,-Ttext,0x10000600")
    program = analyse(image, targets.of(image))
    assert UNKNOWN not in program.listing.rows
    found = dict(text_words(image, program.listing, program.functions))
    table = 0x10000600 + 4 * (1 + first.count("\n"))
    assert (found.get(table) == 0x10000640) is read


TABLE = """
    .text
    .globl other
    .type other, @function
other:
    blr
    .size other, .-other
    .p2align 4
.Ltable:
    .long .Lone, .Ltwo
    .p2align 6
    .globl _start
    .type _start, @function
_start:
    slwi 3, 3, 2
    lis 9, .Ltable@ha
    addi 9, 9, .Ltable@l
    lwzx 9, 9, 3
    mtctr 9
    {read}
    bctr
    .p2align 6
    .rept 8
    nop
    .endr
.Lone:
    fadd 1, 1, 0
    blr
    .p2align 6
    .rept 8
    nop
    .endr
.Ltwo:
    blr
    .size _start, .-_start
"""


def test_labels_beside_functions(tmp_path: Path) -> None:
    """What is read only where such a table leads is read."""
    pair = []
    for name, read in (("old", "lfd 0, 0(6)"), ("new", "nop")):
        (tmp_path / name).mkdir()
        options = ("-static", "-no-pie", "-Wl,-Ttext,0x10000600")
        image = built(TABLE.format(read=read), tmp_path / name, "powerpc", *options)
        pair.append(analyse(image, targets.of(image)))
    assert UNKNOWN not in pair[0].listing.rows
    assert said_of(pair[0], changed_text(*pair))


NAMED = """
    .section .init, "ax"
    nop
    .text
    .globl _start
    .type _start, @function
_start:
    {read}
    ld 12, 0(3)
    mtctr 12
    bctr
.Lone:
    fadd 1, 1, 0
    blr
    .size _start, .-_start
    .data
    .space 16
    {table}
    .8byte .Lone
"""


@pytest.mark.parametrize(
    ("options", "table"),
    [
        (("-shared",), '.section .data.rel.ro, "aw"\n.balign 8\n.byte 0'),
        (("-static", "-no-pie"), '.section .note.tab, "a", @note\n.balign 8'),
    ],
    ids=("packed", "note"),
)
def test_labels_that_only_these_name(options: tuple[str, ...], table: str, tmp_path: Path) -> None:
    """What is read only where they lead is read."""
    pair = []
    for name, read in (("old", "lfd 0, 0(6)"), ("new", "nop")):
        (tmp_path / name).mkdir()
        source = NAMED.format(read=read, table=table)
        image = built(source, tmp_path / name, "powerpc64le", *options)
        pair.append(analyse(image, targets.of(image)))
    assert said_of(pair[0], changed_text(*pair))
