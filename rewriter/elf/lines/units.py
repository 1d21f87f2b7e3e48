"""Where units of debug information name their line tables.

DWARF 5, 7.5; earlier versions of the same (2 to 4).  Everything unknown is BadInput.
"""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.errors import BadInput
from rewriter.elf.dwarf import DwarfReader
from rewriter.elf.image import Image

DW_AT_stmt_list = 0x10
DW_FORM_implicit_const, DW_FORM_indirect, DW_FORM_data4, DW_FORM_sec_offset = 0x21, 0x16, 0x06, 0x17
# Sizes in bytes of 32-bit DWARF; u ULEB128, s SLEB128, b1 b2 b4 bu blocks, z string, a address.
FORMS = {
    0x01: "a", 0x03: "b2", 0x04: "b4", 0x05: 2, 0x06: 4, 0x07: 8, 0x08: "z", 0x09: "bu",
    0x0A: "b1", 0x0B: 1, 0x0C: 1, 0x0D: "s", 0x0E: 4, 0x0F: "u", 0x10: "r", 0x11: 1, 0x12: 2,
    0x13: 4, 0x14: 8, 0x15: "u", 0x17: 4, 0x18: "bu", 0x19: 0, 0x1A: "u", 0x1B: "u", 0x1C: 4,
    0x1D: 4, 0x1E: 16, 0x1F: 4, 0x20: 8, 0x21: 0, 0x22: "u", 0x23: "u", 0x24: 8, 0x25: 1,
    0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4, 0x1F20: 4, 0x1F21: 4,
}  # fmt: skip
_BLOCKS = {"b1": "B", "b2": "H", "b4": "I"}
DW_UT_type, DW_UT_skeleton, DW_UT_split_compile, DW_UT_split_type = 2, 4, 5, 6
_MORE = {DW_UT_type: 12, DW_UT_skeleton: 8, DW_UT_split_compile: 8, DW_UT_split_type: 12}


def line_offsets(image: Image) -> tuple[tuple[int, int], ...]:
    """(File offset of the four bytes, offset in `.debug_line`) wherever a unit names its lines.

    BadInput too where something else may name offsets there.
    """
    info, abbreviations = image.section(".debug_info"), image.section(".debug_abbrev")
    for name in (".debug_types", ".debug_macro", ".debug_line.dwo"):
        if image.section(name) is not None:
            raise BadInput(f"{image.name}: {name} may name line tables")
    if info is None or abbreviations is None:
        return ()
    reader = DwarfReader(image, info.sh_offset, info.file_end, 0, info.name)
    table = abbreviations.sh_offset, abbreviations.file_end
    found: list[tuple[int, int]] = []
    while reader.offset < info.file_end:
        reader.end = info.file_end
        found += _unit(reader, table)
    return tuple(found)


def _unit(reader: DwarfReader, table: tuple[int, int]) -> Iterator[tuple[int, int]]:
    length = reader.fixed("I")
    if length >= 0xFFFFFFF0 or reader.offset + length > reader.end:
        raise reader.bad(f"unit of length {length:#x}")
    end = reader.end = reader.offset + length
    version = reader.fixed("H")
    if not 2 <= version <= 5:
        raise reader.bad(f"version {version}")
    if version == 5:
        kind, width = reader.fixed("B"), reader.fixed("B")
        abbreviations = reader.fixed("I")
        reader.block(_MORE.get(kind, 0))
    else:
        abbreviations, width = reader.fixed("I"), reader.fixed("B")
    code = reader.uleb()
    if code:
        declared = _declared(reader, table[0] + abbreviations, table[1], code)
        yield from _named(reader, declared, width, version)
    reader.offset = end


def _declared(reader: DwarfReader, offset: int, end: int, code: int) -> list[tuple[int, int]]:
    """Attributes and forms of an abbreviation."""
    other = DwarfReader(reader.image, offset, end, 0, ".debug_abbrev")
    while found := other.uleb():
        other.uleb()
        other.fixed("B")
        pairs = []
        while any(pair := (other.uleb(), other.uleb())):
            if pair[1] == DW_FORM_implicit_const:
                other.sleb()
            pairs.append(pair)
        if found == code:
            return pairs
    raise reader.bad(f"no abbreviation {code}")


def _named(
    reader: DwarfReader, declared: list[tuple[int, int]], width: int, version: int
) -> Iterator[tuple[int, int]]:
    for attribute, form in declared:
        if attribute == DW_AT_stmt_list:
            if form not in (DW_FORM_data4, DW_FORM_sec_offset):
                raise reader.bad(f"form {form:#x} of a line table's offset")
            yield reader.offset, reader.fixed("I")
        else:
            _skip(reader, form, width, version)


def _skip(reader: DwarfReader, form: int, width: int, version: int) -> None:
    if form == DW_FORM_indirect:
        form = reader.uleb()
    size = FORMS.get(form)
    if isinstance(size, int):
        reader.block(size)
    elif size in ("u", "s"):
        reader.uleb()
    elif size == "z":
        reader.string()
    elif size in ("a", "r"):
        reader.block(width if size == "a" or version == 2 else 4)
    elif size == "bu":
        reader.block(reader.uleb())
    elif isinstance(size, str):
        reader.block(reader.fixed(_BLOCKS[size]))
    else:
        raise reader.bad(f"unknown form {form:#x}")
