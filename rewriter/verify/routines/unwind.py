"""Unwind entries of new code, and the search table that leads to them, read from the new file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rewriter.analysis.program import Program
from rewriter.core.errors import BadInput
from rewriter.elf.caves.sections import Part
from rewriter.elf.image import Image
from rewriter.elf.unwind import entries
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.rows import Rules

Rows = list[tuple[int, Rules]]


def wanted_rules(
    program: Program, frame: Fde, address: int, code: bytes, like: Fde | None = None
) -> Rows:
    """The rows that code at an address must have, unwound as the CIE of `like` begins."""
    plain = unwind_rows.initial_rules(like or frame)
    _, stack, base = plain.cfa
    assert isinstance(base, int)
    rows: Rows = [(address, plain)]
    for row in program.target.frame_rows(code):
        kept = dict(plain.registers)
        if row.link is not None:
            kept[plain.return_column] = ("register", row.link)
        rules = plain._replace(
            cfa=("register", stack, base + row.cfa), registers=tuple(sorted(kept.items()))
        )
        rows.append((address + row.offset, rules))
    return rows


def plain_records(image: Image, part: Part) -> tuple[Fde, ...]:
    """The unwind entries of a new part, by address; BadInput for what no unwinder needs."""
    section = next(s for s in image.sections if s.name == part.name)
    found = entries.frames(replace(image, sections=(replace(section, name=".eh_frame"),)))
    for frame in found:
        if frame.cie.augmentation != "zR" or frame.cie.code_alignment_factor == 0:
            raise BadInput(f"{image.name}: an unwind entry of another kind in {part.name}")
    if tuple(sorted(found, key=lambda frame: frame.start)) != found:
        raise BadInput(f"{image.name}: unwind entries out of order in {part.name}")
    return found


def table_problems(program: Program, image: Image, part: Part, new: Sequence[Fde]) -> Iterator[str]:
    """What is wrong with the search table of a new file: it leads to the old entries and `new`."""
    old, table = entries.search_table(program.image), entries.search_table(image)
    if old is None or table is None:
        yield "the search table is gone"
        return
    section = next(s for s in image.sections if s.name == part.name)
    bias = section.sh_addr - section.sh_offset
    wanted = dict(zip(old.starts.tolist(), old.fdes.tolist(), strict=True))
    wanted |= {frame.start: frame.offset + bias for frame in new}
    found = list(zip(table.starts.tolist(), table.fdes.tolist(), strict=True))
    if found != sorted(wanted.items()):
        yield "the search table leads elsewhere"
    yield from header_problems(program, image)


def header_problems(program: Program, image: Image) -> Iterator[str]:
    """The front of the search table must be as unwinders want it, and its end the end."""
    segment = next(s for s in image.segments if s.p_type == entries.PT_GNU_EH_FRAME)
    old = next(s for s in program.image.segments if s.p_type == entries.PT_GNU_EH_FRAME)
    before = program.image.data[old.p_offset : old.p_offset + 4]
    after = image.data[segment.p_offset : segment.p_offset + 4]
    if after != before or entries.frames_address(image) != entries.frames_address(program.image):
        yield "the search table begins otherwise"
