"""Descriptors of ELFv1: the r2 with which a routine is tried where its own words do not make it."""

from __future__ import annotations

from elftools.elf.elffile import ELFFile

import targets
from fixtures import inputs
from rewriter.elf.headers import ET_DYN
from rewriter.elf.image import load
from rewriter.verify.routines.trial import Trials

TOC_BIAS = 0x8000
"""r2 is so far behind the start of `.got` (64-bit PowerPC ELF ABI Supplement 1.9, 3.2.2)."""


def test_a_routine_is_tried_with_the_toc_of_its_file() -> None:
    """Debian's big-endian 64-bit libc has one TOC, which no function makes for itself."""
    path = inputs.require("ppc64-libc")
    image = load(path)
    target = targets.of(image).sequential
    assert target is not None and image.e_type == ET_DYN
    with path.open("rb") as file:
        got = ELFFile(file).get_section_by_name(".got")["sh_addr"]
    strcat = next(s for s in image.symbols if s.name == "strcat")
    code = Trials(image, target).code_at(image.code_address(strcat), 8, "strcat")
    assert code.shared == target.arena.image + got + TOC_BIAS
    assert code.entry == target.arena.image + image.code_address(strcat)
