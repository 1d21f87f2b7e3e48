"""Unwind tables: which addresses a function covers, and how its frame looks at each of them.

`.eh_frame` is DWARF 5 section 6.4 as changed by LSB 5.0 Core, section 10.6; `.gcc_except_table` is
the LSDA of GCC (gcc/except.cc, libgcc unwind-pe.h). Call frame instructions are decoded only for
the function asked about. Everything unknown is BadInput: the caller then leaves the function alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rewriter.core.errors import BadInput
from rewriter.elf.emit import Patch
from rewriter.elf.image import SHT_NOBITS, ByteOrder, Image

PT_GNU_EH_FRAME = 0x6474E550

DW_EH_PE_omit, DW_EH_PE_indirect = 0xFF, 0x80
DW_EH_PE_pcrel, DW_EH_PE_datarel, DW_EH_PE_funcrel = 0x10, 0x30, 0x40
DW_EH_PE_uleb128, DW_EH_PE_sleb128 = 0x01, 0x09
FIXED = {0x02: "H", 0x03: "I", 0x04: "Q", 0x0A: "h", 0x0B: "i", 0x0C: "q"}
"""DW_EH_PE_udata2 to sdata8: their struct formats."""

Rule: TypeAlias = tuple[str, int | bytes | None]
"""A register's rule by its DWARF name and operand: ("offset", -16), ("same_value", None), ..."""


class Rules(NamedTuple):
    """The row of the unwind table at one address; hashable, equal when the meaning is equal.

    `cfa` is ("register", number, offset in bytes) or ("expression", 0, its bytes); `registers` is
    sorted by number, with a register that has no rule left out.
    """

    cfa: tuple[str, int, int | bytes]
    registers: tuple[tuple[int, Rule], ...]
    return_column: int


class CallSite(NamedTuple):
    """[start, end) of one call-site record of an LSDA; all are addresses."""

    start: int
    end: int
    landing_pad: int | None
    action: int


@dataclass(frozen=True, slots=True)
class Cie:
    """Common information entry; `instructions` is a range of file offsets."""

    offset: int
    augmentation: str
    code_alignment_factor: int
    data_alignment_factor: int
    return_column: int
    fde_encoding: int
    lsda_encoding: int
    instructions: tuple[int, int]

    @property
    def signal_frame(self) -> bool:
        """Augmentation `S`: the frame of a signal, interrupted between instructions."""
        return "S" in self.augmentation


@dataclass(frozen=True, slots=True)
class Fde:
    """Frame description entry of the code at addresses [start, end).

    `offset` is that of the record, `location_offset` that of its pc_begin, and `instructions` a
    range: file offsets all. `lsda` is an address.
    """

    start: int
    end: int
    cie: Cie
    lsda: int | None
    offset: int
    location_offset: int
    instructions: tuple[int, int]
    image: Image = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Advance:
    """One DW_CFA_advance_loc*: `offset` is the file offset of the byte(s) with the delta.

    `bits` is 6 (in the opcode byte), 8, 16, 32 or 64; `before` and `after` are addresses.
    """

    offset: int
    bits: int
    factor: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class SearchTable:
    """The binary search table of .eh_frame_hdr: entry i is at `offset + i * 2 * width`.

    `starts` and `fdes` are addresses; in the file each is `encoding` relative to `base`.
    """

    offset: int
    width: int
    encoding: int
    base: int
    starts: npt.NDArray[np.uint64]
    fdes: npt.NDArray[np.uint64]


@cache
def _format(code: str, byteorder: ByteOrder) -> struct.Struct:
    return struct.Struct(("<" if byteorder == "little" else ">") + code)


class _Reader:
    """Reads at `offset` in the file and moves on; BadInput past `end`."""

    __slots__ = ("bias", "data", "end", "image", "offset", "what")

    def __init__(self, image: Image, offset: int, end: int, bias: int, what: str) -> None:
        self.image, self.data, self.what = image, image.data, what
        self.offset, self.end, self.bias = offset, min(end, len(image.data)), bias

    def bad(self, why: str) -> BadInput:
        return BadInput(f"{self.image.name}: {self.what}: {why} at file offset {self.offset:#x}")

    def fixed(self, code: str) -> int:
        form = _format(code, self.image.byteorder)
        after = self.offset + form.size
        if after > self.end:
            raise self.bad("ends too early")
        value: int = form.unpack_from(self.data, self.offset)[0]
        self.offset = after
        return value

    def block(self, size: int) -> bytes:
        if not 0 <= size <= self.end - self.offset:
            raise self.bad("ends too early")
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.fixed("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise self.bad("LEB128 number of more than 64 bits")

    def sleb(self) -> int:
        start = self.offset
        value = self.uleb()
        sign = 1 << (7 * (self.offset - start) - 1)
        return value - 2 * sign if value & sign else value

    def string(self) -> bytes:
        end = self.data.find(b"\0", self.offset, self.end)
        if end < 0:
            raise self.bad("string without end")
        return self.block(end + 1 - self.offset)[:-1]

    def number(self, encoding: int) -> int:
        """Read a value in the format half of a DW_EH_PE encoding."""
        form = encoding & 0x0F
        if form in FIXED:
            return self.fixed(FIXED[form])
        if form == DW_EH_PE_uleb128:
            return self.uleb()
        if form == DW_EH_PE_sleb128:
            return self.sleb()
        if form == 0:
            return self.fixed("Q" if self.image.bits == 64 else "I")
        raise self.bad(f"unknown pointer encoding {encoding:#x}")

    def pointer(self, encoding: int, data_base: int | None = None) -> int:
        """Read an encoded address; 0 means none, as in the unwinder of GCC."""
        place = self.offset + self.bias
        value = self.number(encoding)
        if value == 0:
            return 0
        application = encoding & 0x70
        if application == DW_EH_PE_pcrel:
            value += place
        elif application == DW_EH_PE_datarel and data_base is not None:
            value += data_base
        elif application:
            raise self.bad(f"pointer encoding {encoding:#x} has an unknown base")
        value &= (1 << self.image.bits) - 1
        if encoding & DW_EH_PE_indirect:
            return int.from_bytes(
                self.image.read(value, self.image.bits // 8), self.image.byteorder
            )
        return value


# Records


def frames(image: Image) -> tuple[Fde, ...]:
    """Return every FDE of .eh_frame in file order; none when the file has no such table."""
    bounds = _bounds(image)
    if bounds is None:
        return ()
    offset, end, bias, terminated = bounds
    cies: dict[int, Cie] = {}
    return tuple(_records(_Reader(image, offset, end, bias, ".eh_frame"), cies, terminated))


def search_table(image: Image) -> SearchTable | None:
    """Return the search table of .eh_frame_hdr; None when the file has none."""
    header = _header(image)
    if header is None:
        return None
    reader, _, count_encoding, encoding = header
    if DW_EH_PE_omit in (count_encoding, encoding):
        return None
    base = reader.bias + next(s.p_offset for s in image.segments if s.p_type == PT_GNU_EH_FRAME)
    count = reader.pointer(count_encoding, base)
    form = encoding & 0x0F
    if form not in FIXED or encoding & 0x70 != DW_EH_PE_datarel:
        raise reader.bad(f"search table encoding {encoding:#x} is not datarel of a fixed size")
    width = _format(FIXED[form], image.byteorder).size
    offset = reader.offset
    kind = "i" if FIXED[form].islower() else "u"
    dtype = np.dtype(f"{kind}{width}").newbyteorder(image.byteorder)
    table = np.frombuffer(reader.block(2 * width * count), dtype)
    # Sums wrap at 2**64 by definition of uint64; 32-bit addresses are cut below.
    sums = table.astype(np.int64).view(np.uint64) + np.uint64(base)
    pairs = (sums & np.uint64((1 << image.bits) - 1)).reshape(-1, 2)
    return SearchTable(offset, width, encoding, base, pairs[:, 0], pairs[:, 1])


def frames_address(image: Image) -> int | None:
    """Return the address of .eh_frame that .eh_frame_hdr gives; None without one."""
    header = _header(image)
    return None if header is None else header[1]


def _header(image: Image) -> tuple[_Reader, int, int, int] | None:
    """Return a reader behind the fixed part of .eh_frame_hdr, eh_frame_ptr, and encodings."""
    segment = next((s for s in image.segments if s.p_type == PT_GNU_EH_FRAME), None)
    if segment is None or not segment.p_filesz:
        return None
    start, bias = segment.p_offset, segment.p_vaddr - segment.p_offset
    reader = _Reader(image, start, start + segment.p_filesz, bias, ".eh_frame_hdr")
    version, pointer_encoding, count_encoding, table_encoding = reader.block(4)
    if version != 1:
        raise reader.bad(f"unknown version {version}")
    address = 0
    if pointer_encoding != DW_EH_PE_omit:
        address = reader.pointer(pointer_encoding, segment.p_vaddr)
    return reader, address, count_encoding, table_encoding


def _bounds(image: Image) -> tuple[int, int, int, bool] | None:
    """Return file offsets of .eh_frame, address minus offset, and whether a zero length ends it.

    With a section header its size is the bound, as the records of several linked files may each
    end in a zero; without one the first zero is the end (LSB 10.6.1).
    """
    section = image.section(".eh_frame")
    if section is not None and section.sh_type != SHT_NOBITS:
        start = section.sh_offset
        return start, section.file_end, section.sh_addr - start, False
    header = _header(image)
    if header is None or not header[1]:
        return None
    segment = image.segment_of(header[1])
    start = image.offset_of(header[1])
    assert segment is not None
    return start, segment.p_offset + segment.p_filesz, header[1] - start, True


def _records(reader: _Reader, cies: dict[int, Cie], terminated: bool) -> Iterator[Fde]:
    end = reader.end
    while reader.offset + 4 <= end:
        record = reader.offset
        length = reader.fixed("I")
        if length == 0:
            if terminated:
                return
            continue
        if length == 0xFFFFFFFF:
            raise reader.bad("64-bit DWARF")
        body = reader.offset
        if length < 4 or body + length > end:
            raise reader.bad(f"record length {length:#x}")
        reader.end = body + length
        back = reader.fixed("I")
        if back:
            yield _fde(reader, record, _cie(reader, body - back, cies, end))
        reader.offset, reader.end = body + length, end


def _cie(reader: _Reader, offset: int, cies: dict[int, Cie], end: int) -> Cie:
    found = cies.get(offset)
    if found is None:
        other = _Reader(reader.image, offset, end, reader.bias, reader.what)
        if not 0 <= offset < reader.offset:
            raise reader.bad("pointer to a CIE outside the section")
        found = cies[offset] = _parse_cie(other)
    return found


def _parse_cie(reader: _Reader) -> Cie:
    start = reader.offset
    length = reader.fixed("I")
    if not 4 <= length < 0xFFFFFFF0 or reader.offset + length > reader.end:
        raise reader.bad(f"CIE of length {length:#x}")
    reader.end = reader.offset + length
    if reader.fixed("I") != 0:
        raise reader.bad("pointer to a CIE that is none")
    version = reader.fixed("B")
    augmentation = reader.string().decode("latin-1")
    if version not in (1, 3, 4) or (augmentation and not augmentation.startswith("z")):
        raise reader.bad(f"CIE version {version}, augmentation {augmentation!r}")
    if version == 4:
        reader.block(2)
    code, data = reader.uleb(), reader.sleb()
    column = reader.fixed("B") if version == 1 else reader.uleb()
    encodings = {"R": 0, "L": DW_EH_PE_omit}
    instructions = reader.offset
    if code == 0:
        raise reader.bad("code_alignment_factor 0")
    if augmentation:
        size = reader.uleb()
        instructions = reader.offset + size
        _augmentation(reader, augmentation, encodings)
    return Cie(
        start, augmentation, code, data, column,
        encodings["R"], encodings["L"], (instructions, reader.end),
    )  # fmt: skip


def _augmentation(reader: _Reader, augmentation: str, encodings: dict[str, int]) -> None:
    for letter in augmentation[1:]:
        if letter in encodings:
            encodings[letter] = reader.fixed("B")
        elif letter == "P":
            encoding = reader.fixed("B")
            if encoding & 0x70 == 0x50:
                raise reader.bad("DW_EH_PE_aligned personality")
            reader.number(encoding)
        elif letter not in "SB":
            raise reader.bad(f"unknown augmentation {augmentation!r}")


def _fde(reader: _Reader, record: int, cie: Cie) -> Fde:
    location = reader.offset
    start = reader.pointer(cie.fde_encoding)
    size = reader.number(cie.fde_encoding & 0x07)
    lsda = None
    if cie.augmentation:
        after = reader.uleb()
        after += reader.offset
        if cie.lsda_encoding != DW_EH_PE_omit:
            lsda = reader.pointer(cie.lsda_encoding) or None
        reader.offset = after
    if reader.offset > reader.end:
        raise reader.bad("augmentation longer than its FDE")
    instructions = (reader.offset, reader.end)
    return Fde(start, start + size, cie, lsda, record, location, instructions, reader.image)


# Call frame instructions (DWARF 5, 6.4.2 and 7.24; 0x1d, 0x2e, 0x2f are of MIPS and GNU)

DW_CFA_nop, DW_CFA_set_loc, DW_CFA_GNU_args_size = 0x00, 0x01, 0x2E
DW_CFA_remember_state, DW_CFA_restore_state = 0x0A, 0x0B
DW_CFA_advance_loc, DW_CFA_offset, DW_CFA_restore = 0x40, 0x80, 0xC0
ADVANCES = {0x02: ("B", 8), 0x03: ("H", 16), 0x04: ("I", 32), 0x1D: ("Q", 64)}
"""DW_CFA_advance_loc1, 2, 4 and MIPS_advance_loc8: struct format and bits of the delta."""

# Operands: u ULEB128, s SLEB128, b block with its ULEB128 size.
CFA_RULES = {
    0x0C: ("def_cfa", "uu"),
    0x0D: ("def_cfa_register", "u"),
    0x0E: ("def_cfa_offset", "u"),
    0x0F: ("def_cfa_expression", "b"),
    0x12: ("def_cfa_sf", "us"),
    0x13: ("def_cfa_offset_sf", "s"),
}
# Rule name, operands after the register, factor: d of the data alignment, -d its negative.
REGISTER_RULES = {
    0x05: ("offset", "u", "d"),
    0x07: ("undefined", "", ""),
    0x08: ("same_value", "", ""),
    0x09: ("register", "u", ""),
    0x10: ("expression", "b", ""),
    0x11: ("offset", "s", "d"),
    0x14: ("val_offset", "u", "d"),
    0x15: ("val_offset", "s", "d"),
    0x16: ("val_expression", "b", ""),
    0x2F: ("offset", "u", "-d"),
}


def rows(fde: Fde) -> list[tuple[int, Rules]]:
    """Return (address, rules from there on), by rising address, the first at `fde.start`."""
    table: list[tuple[int, Rules]] = []
    state = _State(fde.cie, fde.image)
    address = fde.start
    for row_address in _run(state, fde):
        if row_address != address:
            table.append((address, state.rules()))
            address = row_address
    table.append((address, state.rules()))
    return table


def initial_rules(fde: Fde) -> Rules:
    """Return the rules that the CIE gives, before any instruction of the entry."""
    return _State(fde.cie, fde.image).rules()


def advances(fde: Fde) -> list[Advance]:
    """Return every advance of the function in order; BadInput for a DW_CFA_set_loc."""
    state = _State(fde.cie, fde.image)
    for _ in _run(state, fde):
        if state.set_loc:
            raise BadInput(f"{fde.image.name}: FDE of {fde.start:#x} has a DW_CFA_set_loc")
    return state.advances


def retime(fde: Fde, mapping: Callable[[int], int]) -> list[Patch] | None:
    """Return patches that move every row from `address` to `mapping(address)`.

    `mapping` rises (not strictly) and stays in [fde.start, fde.end]; ValueError otherwise. Start
    and end of the FDE stay. None when a delta does not fit the bytes that its advance has.
    """
    patches: list[Patch] = []
    before = fde.start
    for advance in advances(fde):
        after = mapping(advance.after)
        if not before <= after <= fde.end:
            raise ValueError(
                f"{advance.after:#x} goes to {after:#x}, not {before:#x}..{fde.end:#x}"
            )
        delta, rest = divmod(after - before, advance.factor)
        if rest or delta >= 1 << advance.bits:
            return None
        data = fde.image.data
        if advance.bits == 6:
            new = bytes((DW_CFA_advance_loc | delta,))
        else:
            new = delta.to_bytes(advance.bits // 8, fde.image.byteorder)
        old = data[advance.offset : advance.offset + len(new)]
        if new != old:
            patches.append(Patch(advance.offset, old, new))
        before = after
    return patches


class _State:
    """The row being built, what the instructions may go back to, and the advances so far."""

    __slots__ = ("advances", "cfa", "cie", "initial", "registers", "set_loc", "stack")

    def __init__(self, cie: Cie, image: Image) -> None:
        self.cie = cie
        self.cfa: tuple[str, int, int | bytes] = ("undefined", 0, 0)
        self.registers: dict[int, Rule] = {}
        self.initial: dict[int, Rule] = {}
        self.stack: list[tuple[tuple[str, int, int | bytes], dict[int, Rule]]] = []
        self.advances: list[Advance] = []
        self.set_loc = False
        reader = _Reader(image, *cie.instructions, 0, "CIE instructions")
        while reader.offset < reader.end:
            opcode = reader.fixed("B")
            if not self.apply(opcode, reader):
                raise reader.bad(f"DW_CFA {opcode:#x}")
        self.initial = dict(self.registers)

    def rules(self) -> Rules:
        return Rules(self.cfa, tuple(sorted(self.registers.items())), self.cie.return_column)

    def apply(self, opcode: int, reader: _Reader) -> bool:
        """Carry out one instruction that stays at the same address; False if it is not known."""
        high, low = opcode & 0xC0, opcode & 0x3F
        if high == DW_CFA_offset:
            self.registers[low] = ("offset", reader.uleb() * self.cie.data_alignment_factor)
        elif high == DW_CFA_restore or opcode == 0x06:
            self._restore(low if high else reader.uleb())
        elif opcode in REGISTER_RULES:
            self._register(*REGISTER_RULES[opcode], reader)
        elif opcode in CFA_RULES:
            self._cfa(*CFA_RULES[opcode], reader)
        elif opcode == DW_CFA_remember_state:
            self.stack.append((self.cfa, dict(self.registers)))
        elif opcode == DW_CFA_restore_state and self.stack:
            self.cfa, self.registers = self.stack.pop()
        elif opcode == DW_CFA_GNU_args_size:
            reader.uleb()
        else:
            return opcode == DW_CFA_nop
        return True

    def _restore(self, register: int) -> None:
        rule = self.initial.get(register)
        if rule is None:
            self.registers.pop(register, None)
        else:
            self.registers[register] = rule

    def _register(self, rule: str, operands: str, factor: str, reader: _Reader) -> None:
        register = reader.uleb()
        value = _operands(operands, reader)[0] if operands else None
        if factor and isinstance(value, int):
            value *= self.cie.data_alignment_factor * (-1 if factor == "-d" else 1)
        self.registers[register] = (rule, value)

    def _cfa(self, rule: str, operands: str, reader: _Reader) -> None:
        values = _operands(operands, reader)
        if operands == "b":
            self.cfa = ("expression", 0, values[0])
            return
        _, register, offset = self.cfa
        if operands.startswith("u") and rule != "def_cfa_offset":
            register = int(values[0])
        if rule != "def_cfa_register":
            offset = int(values[-1])
            if rule.endswith("_sf"):
                offset *= self.cie.data_alignment_factor
        self.cfa = ("register", register, offset)


def _operands(kinds: str, reader: _Reader) -> list[int | bytes]:
    reads: dict[str, Callable[[], int | bytes]] = {
        "u": reader.uleb,
        "s": reader.sleb,
        "b": lambda: reader.block(reader.uleb()),
    }
    return [reads[kind]() for kind in kinds]


def _run(state: _State, fde: Fde) -> Iterator[int]:
    """Carry out the FDE's instructions; yield each new address before it becomes the row's."""
    section = fde.image.section(".eh_frame")
    bias = section.sh_addr - section.sh_offset if section else 0
    reader = _Reader(fde.image, *fde.instructions, bias, f"FDE of {fde.start:#x}")
    address, factor = fde.start, fde.cie.code_alignment_factor
    while reader.offset < reader.end:
        at = reader.offset
        opcode = reader.fixed("B")
        if opcode == DW_CFA_set_loc:
            state.set_loc = True
            after = reader.pointer(fde.cie.fde_encoding)
        elif opcode & 0xC0 == DW_CFA_advance_loc:
            after = address + (opcode & 0x3F) * factor
            state.advances.append(Advance(at, 6, factor, address, after))
        elif opcode in ADVANCES:
            code, bits = ADVANCES[opcode]
            after = address + reader.fixed(code) * factor
            state.advances.append(Advance(at + 1, bits, factor, address, after))
        elif state.apply(opcode, reader):
            continue
        else:
            raise reader.bad(f"DW_CFA {opcode:#x}")
        if not address <= after <= fde.end:
            raise reader.bad(f"row at {after:#x}, outside {address:#x}..{fde.end:#x}")
        address = after
        yield address


# Language-specific data: what .gcc_except_table says of one function


def lsda_ranges(image: Image, fde: Fde) -> list[CallSite]:
    """Return the call sites of the function in table order; empty without an LSDA."""
    if fde.lsda is None:
        return []
    segment = image.segment_of(fde.lsda)
    offset = image.offset_of(fde.lsda)
    assert segment is not None
    end = segment.p_offset + segment.p_filesz
    reader = _Reader(image, offset, end, fde.lsda - offset, f"LSDA of {fde.start:#x}")
    pads_encoding = reader.fixed("B")
    pads = fde.start
    if pads_encoding != DW_EH_PE_omit:
        pads = reader.pointer(pads_encoding)
    if reader.fixed("B") != DW_EH_PE_omit:
        reader.uleb()
    encoding = reader.fixed("B")
    size = reader.uleb()
    if reader.offset + size > end:
        raise reader.bad(f"call-site table of {size:#x} bytes")
    reader.end = reader.offset + size
    sites: list[CallSite] = []
    while reader.offset < reader.end:
        start = fde.start + reader.number(encoding)
        stop = start + reader.number(encoding)
        pad = reader.number(encoding)
        sites.append(CallSite(start, stop, pads + pad if pad else None, reader.uleb()))
    return sites
