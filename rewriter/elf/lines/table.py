"""Line tables: which line of which source file each instruction is of, read and written.

`.debug_line` of DWARF 2 to 5 (DWARF 5, 6.2 and 7.22).  Everything unknown is BadInput: the caller
then leaves alone what the table describes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from rewriter.core.leb128 import sleb, uleb
from rewriter.elf.dwarf import DwarfReader
from rewriter.elf.image import Image

NAME = ".debug_line"

DW_LNS_copy, DW_LNS_advance_pc, DW_LNS_advance_line, DW_LNS_set_file = 1, 2, 3, 4
DW_LNS_set_column, DW_LNS_negate_stmt, DW_LNS_set_basic_block, DW_LNS_const_add_pc = 5, 6, 7, 8
DW_LNS_fixed_advance_pc, DW_LNS_set_prologue_end, DW_LNS_set_epilogue_begin = 9, 10, 11
DW_LNS_set_isa = 12
DW_LNE_end_sequence, DW_LNE_set_address, DW_LNE_set_discriminator = 1, 2, 4
LENGTHS = bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
"""Operands of the standard opcodes, from 1 on."""
_END = bytes((0, 1, DW_LNE_end_sequence))
_SMALLEST = DW_LNS_fixed_advance_pc + 1  # opcode_base of DWARF 2


class Row(NamedTuple):
    """A row of the table: from its address on, up to the next row.

    `marks` are the opcodes of what is said of this address alone: that a basic block begins, or
    that a prologue ends or an epilogue begins.
    """

    address: int
    file: int
    line: int
    column: int
    is_stmt: bool
    isa: int
    discriminator: int
    marks: tuple[int, ...]


@dataclass(frozen=True)
class Lines:
    """The rows of the code [start, end), by ascending address."""

    end: int
    rows: tuple[Row, ...]

    @property
    def start(self) -> int:
        """Where the first row begins."""
        return self.rows[0].address if self.rows else self.end

    @cached_property
    def addresses(self) -> list[int]:
        """Where rows begin."""
        return [row.address for row in self.rows]

    def at(self, address: int) -> Row | None:
        """The row that holds at an address, if it is one of these."""
        number = bisect_right(self.addresses, address) - 1
        return self.rows[number] if number >= 0 and address < self.end else None


@dataclass(frozen=True)
class Unit:
    """The lines of a compilation unit.

    `offset` and `end` are its bounds in the section and `program` is where its opcodes begin;
    `step` is the unit of addresses, the others are what special opcodes are made with.
    """

    offset: int
    program: int
    end: int
    step: int
    is_stmt: bool
    line_base: int
    line_range: int
    opcode_base: int
    parts: tuple[Lines, ...]

    def encoded(self, parts: Sequence[Lines], width: int) -> bytes:
        """The opcodes for other rows, in at least as many bytes as now; addresses have `width`."""
        out = b"".join(self._part(one, width) for one in parts)
        left = self.end - self.program - len(out)
        if left <= 0 or not out:
            return out
        # Says nothing of the end of a sequence, and what follows it belongs to none.
        return out[: -len(_END)] + bytes((DW_LNS_set_basic_block,)) * left + _END

    def _part(self, one: Lines, width: int) -> bytes:
        out = bytearray((0, 1 + width, DW_LNE_set_address))
        out += one.start.to_bytes(width, "little")
        before = Row(one.start, 1, 1, 0, self.is_stmt, 0, 0, ())
        for row in one.rows:
            out += self._row(before, row)
            before = row
        if one.end != before.address:
            out.append(DW_LNS_advance_pc)
            out += uleb((one.end - before.address) // self.step)
        return bytes(out + _END)

    def _row(self, before: Row, row: Row) -> bytes:
        out = bytearray()
        if row.file != before.file:
            out += bytes((DW_LNS_set_file,)) + uleb(row.file)
        if row.column != before.column:
            out += bytes((DW_LNS_set_column,)) + uleb(row.column)
        if row.discriminator:
            number = uleb(row.discriminator)
            out += bytes((0, 1 + len(number), DW_LNE_set_discriminator)) + number
        if row.is_stmt != before.is_stmt:
            out.append(DW_LNS_negate_stmt)
        if row.isa != before.isa:
            out += bytes((DW_LNS_set_isa,)) + uleb(row.isa)
        out += bytes(row.marks)
        return bytes(out) + self._advance(
            row.line - before.line, (row.address - before.address) // self.step
        )

    def _advance(self, lines: int, steps: int) -> bytes:
        if not 0 <= lines - self.line_base < self.line_range:
            return bytes((DW_LNS_advance_line,)) + sleb(lines) + self._advance(0, steps)
        whole = (255 - self.opcode_base) // self.line_range
        plain = lines - self.line_base + self.opcode_base
        if plain + self.line_range * steps <= 255:
            return bytes((plain + self.line_range * steps,))
        if steps >= whole and plain + self.line_range * (steps - whole) <= 255:
            return bytes((DW_LNS_const_add_pc, plain + self.line_range * (steps - whole)))
        return bytes((DW_LNS_advance_pc,)) + uleb(steps) + bytes((plain,))


def units(image: Image, offset: int, size: int) -> tuple[Unit, ...]:
    """The line table of so many bytes at a file offset; BadInput where it is not understood."""
    reader = DwarfReader(image, offset, offset + size, 0, NAME)
    found = []
    while reader.offset < offset + size:
        reader.end = offset + size
        found.append(_unit(reader, offset))
    return tuple(found)


def _unit(reader: DwarfReader, section: int) -> Unit:
    start = reader.offset
    length = reader.fixed("I")
    if length >= 0xFFFFFFF0 or reader.offset + length > reader.end:
        raise reader.bad(f"unit of length {length:#x}")
    reader.end = reader.offset + length
    version = reader.fixed("H")
    if not 2 <= version <= 5:
        raise reader.bad(f"version {version}")
    if version == 5 and reader.block(2) != bytes((reader.image.bits // 8, 0)):
        raise reader.bad("segments, or addresses of another size")
    after = reader.fixed("I")
    program = reader.offset + after
    step = reader.fixed("B")
    if version >= 4 and reader.fixed("B") != 1:
        raise reader.bad("several operations in one instruction")
    is_stmt, line_base, line_range = reader.fixed("B"), reader.fixed("b"), reader.fixed("B")
    opcode_base = reader.fixed("B")
    if not _SMALLEST <= opcode_base <= len(LENGTHS) + 1 or not step or not line_range:
        raise reader.bad("unusual opcodes")
    if not line_base <= 0 < line_base + line_range <= 256 - opcode_base:
        raise reader.bad("unusual special opcodes")
    if reader.block(opcode_base - 1) != LENGTHS[: opcode_base - 1] or program > reader.end:
        raise reader.bad("unusual opcodes")
    reader.offset = program
    unit = Unit(
        start - section,
        program - section,
        reader.end - section,
        step,
        bool(is_stmt),
        line_base,
        line_range,
        opcode_base,
        (),
    )
    return replace(unit, parts=tuple(_Machine(unit, reader).run()))


class _Machine:
    """Carries out the opcodes of a unit."""

    def __init__(self, unit: Unit, reader: DwarfReader) -> None:
        self.unit, self.reader = unit, reader

    def _reset(self) -> None:
        self.address, self.file, self.line, self.column = 0, 1, 1, 0
        self.is_stmt, self.isa, self.discriminator = self.unit.is_stmt, 0, 0
        self.marks: list[int] = []
        self.rows: list[Row] = []

    def run(self) -> Iterator[Lines]:
        """The sequences, in order."""
        self._reset()
        reader, unit, open_ = self.reader, self.unit, False
        while reader.offset < reader.end:
            opcode, open_ = reader.fixed("B"), True
            if opcode >= unit.opcode_base:
                self._special(opcode - unit.opcode_base)
            elif opcode:
                self._standard(opcode)
            elif self._extended():
                yield Lines(self.address, tuple(self.rows))
                self._reset()
                open_ = False
        if open_:
            raise reader.bad("a sequence without end")

    def _special(self, number: int) -> None:
        steps, lines = divmod(number, self.unit.line_range)
        self.line += self.unit.line_base + lines
        self._go(steps * self.unit.step)
        self._row()

    def _standard(self, opcode: int) -> None:
        reader, unit = self.reader, self.unit
        if opcode == DW_LNS_copy:
            self._row()
        elif opcode == DW_LNS_advance_pc:
            self._go(reader.uleb() * unit.step)
        elif opcode == DW_LNS_advance_line:
            self.line += reader.sleb()
        elif opcode == DW_LNS_set_file:
            self.file = reader.uleb()
        elif opcode == DW_LNS_set_column:
            self.column = reader.uleb()
        elif opcode == DW_LNS_negate_stmt:
            self.is_stmt = not self.is_stmt
        elif opcode == DW_LNS_const_add_pc:
            self._go((255 - unit.opcode_base) // unit.line_range * unit.step)
        elif opcode == DW_LNS_fixed_advance_pc:
            self._go(reader.fixed("H"))
        elif opcode == DW_LNS_set_isa:
            self.isa = reader.uleb()
        else:
            self.marks.append(opcode)

    def _extended(self) -> bool:
        """Whether a sequence ends."""
        reader = self.reader
        size = reader.uleb()
        end = reader.offset + size
        opcode = reader.fixed("B")
        if opcode == DW_LNE_set_address and size - 1 in (4, 8):
            self._to(reader.fixed("Q" if size == 9 else "I"))
        elif opcode == DW_LNE_set_discriminator:
            self.discriminator = reader.uleb()
        elif opcode != DW_LNE_end_sequence:
            raise reader.bad(f"extended opcode {opcode}")
        if reader.offset != end:
            raise reader.bad(f"extended opcode {opcode} of another size")
        return opcode == DW_LNE_end_sequence

    def _go(self, distance: int) -> None:
        self._to(self.address + distance)

    def _to(self, address: int) -> None:
        if self.rows and (address < self.address or (address - self.address) % self.unit.step):
            raise self.reader.bad("addresses that go back, or by parts of an instruction")
        self.address = address

    def _row(self) -> None:
        marks = tuple(dict.fromkeys(self.marks))
        row = (self.address, self.file, self.line, self.column, self.is_stmt, self.isa)
        self.rows.append(Row(*row, self.discriminator, marks))
        self.discriminator, self.marks = 0, []
