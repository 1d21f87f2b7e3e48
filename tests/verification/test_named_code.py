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
from rewriter.elf.image import Image, load
from rewriter.elf.pins import relocated, text_words

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
    found = text_words(image, target.listing(image))
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
