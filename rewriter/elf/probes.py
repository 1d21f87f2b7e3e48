"""Static probes: the places at which debuggers and tracers stop to look at operands.

The assembly of SystemTap's <sys/sdt.h> leaves a nop for each, and a note in `.note.stapsdt`, which
nothing loads: the nop's address, that of a `.stapsdt.base` (which tells by how much a tool has
moved the file), that of a counter, and three strings, of which the last says in which registers
and places of memory the operands are.  No instruction reads them there.
"""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.errors import BadInput
from rewriter.elf.headers import WithSections

NOTES = ".note.stapsdt"
_BASE = ".stapsdt.base"
_OWNER, _TYPE = b"stapsdt\0", 3
_HEAD = 12  # bytes of n_namesz, n_descsz, n_type


def probes(image: WithSections) -> tuple[int, ...]:
    """The addresses of the instructions at which a file's probes are; BadInput for a bad note."""
    found = set[int]()
    for section in image.sections:
        if section.name == NOTES:
            notes = image.data[section.sh_offset : section.sh_offset + section.sh_size]
            found.update(_named(image, notes))
    return tuple(sorted(found))


def _named(image: WithSections, notes: bytes) -> Iterator[int]:
    size, base = image.bits // 8, image.section(_BASE)
    for kind, description in _notes(image, notes):
        if kind != (_OWNER, _TYPE):
            continue
        if len(description) < 3 * size:
            raise BadInput(f"{image.name}: {NOTES}: a note is too short")
        place, linked = (
            int.from_bytes(description[at : at + size], image.byteorder) for at in (0, size)
        )
        moved = base.sh_addr - linked if base is not None and linked else 0
        yield (place + moved) % (1 << image.bits)


def _notes(image: WithSections, notes: bytes) -> Iterator[tuple[tuple[bytes, int], bytes]]:
    """Owner and type of each note, and its description."""
    at = 0
    while at < len(notes):
        fields = (notes[at + n : at + n + 4] for n in range(0, _HEAD, 4))
        owner, length, kind = (int.from_bytes(field, image.byteorder) for field in fields)
        name = at + _HEAD
        start = name + owner + -owner % 4
        end = start + length
        if end > len(notes):
            raise BadInput(f"{image.name}: {NOTES}: a note ends behind it")
        yield (notes[name : name + owner], kind), notes[start:end]
        at = end + -end % 4
