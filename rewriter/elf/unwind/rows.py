"""Call frame instructions: how a function's frame looks at each of its addresses.

DWARF 5, 6.4.2 and 7.24; 0x1d, 0x2e, 0x2f are of MIPS and GNU. They are decoded only for the
function asked about. Everything unknown is BadInput: the caller then leaves the function alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rewriter.core.errors import BadInput
from rewriter.core.readings.machine import ByteOrder
from rewriter.elf.dwarf import DwarfReader, Mapped
from rewriter.elf.emit import Patch
from rewriter.elf.unwind.entries import Cie, Fde

DW_CFA_nop, DW_CFA_set_loc, DW_CFA_GNU_args_size = 0x00, 0x01, 0x2E
DW_CFA_remember_state, DW_CFA_restore_state = 0x0A, 0x0B
DW_CFA_advance_loc, DW_CFA_offset, DW_CFA_restore = 0x40, 0x80, 0xC0
DW_CFA_restore_extended = 0x06
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

Rule: TypeAlias = tuple[str, int | bytes | None]
"""A register's rule by its DWARF name and operand: ("offset", -16), ("same_value", None), ..."""


class Rules(NamedTuple):
    """The row of the unwind table at one address; hashable, equal when the meaning is equal.

    `cfa` is ("register", number, offset in bytes) or ("expression", 0, its bytes); `registers` is
    sorted by number, with a register that has no rule left out.  `pushed` are the bytes of
    arguments that the unwinder takes from the stack before control goes on at a landing pad.
    """

    cfa: tuple[str, int, int | bytes]
    registers: tuple[tuple[int, Rule], ...]
    return_column: int
    pushed: int = 0


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


def saved_among(fde: Fde, numbers: Collection[int]) -> frozenset[int]:
    """Which of some registers, by numbers below 64, a frame has in memory at some place in it."""
    code = fde.image.data[slice(*fde.instructions)]
    if not any(_OFFSET | number in code for number in numbers):
        return frozenset()  # as of nearly all, without reading their rows
    rules = (rule for _, row in rows(fde) for rule in row.registers)
    return frozenset(number for number, (how, _) in rules if how == "offset" and number in numbers)


_OFFSET = 0x80
"""DW_CFA_offset, which has the register in its low bits."""


def unchanged(old: Fde, new: Fde) -> bool:
    """Whether an entry of two files is the same, byte for byte, so that its rows are."""
    before, after = old.image, new.image
    parts = (slice(*old.instructions), slice(*old.cie.instructions))
    return (
        old == new
        and before.sections == after.sections
        and all(before.data[part] == after.data[part] for part in parts)
    )


def initial_rules(fde: Fde) -> Rules:
    """Return the rules that the CIE gives, before any instruction of the entry."""
    return _State(fde.cie, fde.image).rules()


def first_rules(fde: Fde) -> Rules:
    """Return the rules where the entry begins; what is behind is not read."""
    state = _State(fde.cie, fde.image)
    for _ in _run(state, fde):
        break
    return state.rules()


def advances(fde: Fde) -> list[Advance]:
    """Return every advance of the function in order; BadInput for a DW_CFA_set_loc."""
    return _followed(fde).advances


def _followed(fde: Fde) -> _State:
    """All instructions carried out; BadInput for a DW_CFA_set_loc."""
    state = _State(fde.cie, fde.image)
    for _ in _run(state, fde):
        if state.set_loc:
            raise BadInput(f"{fde.image.name}: FDE of {fde.start:#x} has a DW_CFA_set_loc")
    return state


def retime(fde: Fde, mapping: Callable[[int], int]) -> list[Patch] | None:
    """Return patches that move every row from `address` to `mapping(address)`; as `Timing` does."""
    return Timing(fde).moved(mapping)


class Timing:
    """Where the rows of an entry begin: read once for all places that they may move to."""

    def __init__(self, fde: Fde) -> None:
        self.fde, self._state = fde, _followed(fde)

    def moved(self, mapping: Callable[[int], int]) -> list[Patch] | None:
        """Return patches that move every row from `address` to `mapping(address)`.

        `mapping` rises (not strictly) and stays in [fde.start, fde.end]; ValueError otherwise.
        Start and end of the FDE stay. None when an address is no multiple of the factor, or the
        instructions would be longer than they are with the DW_CFA_nop behind them.
        """
        fde, advances = self.fde, self._state.advances
        deltas, before = list[int](), fde.start
        for advance in advances:
            after = mapping(advance.after)
            if not before <= after <= fde.end:
                raise ValueError(
                    f"{advance.after:#x} goes to {after:#x}, not {before:#x}..{fde.end:#x}"
                )
            delta, rest = divmod(after - before, advance.factor)
            if rest:
                return None
            deltas.append(delta)
            before = after
        both = list(zip(advances, deltas, strict=True))
        if all(delta < 1 << advance.bits for advance, delta in both):
            return list(_changed(fde, both))
        return _packed(fde, both, self._state.end)


def _changed(fde: Fde, deltas: Iterable[tuple[Advance, int]]) -> Iterator[Patch]:
    """Patches of advances by other deltas, which have room where the old ones are."""
    for advance, delta in deltas:
        if advance.bits == 6:
            new = bytes((DW_CFA_advance_loc | delta,))
        else:
            new = delta.to_bytes(advance.bits // 8, fde.image.byteorder)
        old = fde.image.data[advance.offset : advance.offset + len(new)]
        if new != old:
            yield Patch(advance.offset, old, new)


def _packed(fde: Fde, deltas: Iterable[tuple[Advance, int]], end: int) -> list[Patch] | None:
    """A patch with each advance in its shortest form, of instructions that end with `end`.

    None where they take more bytes than there are.
    """
    data, code = fde.image.data, bytearray()
    first, last = fde.instructions
    at = first
    for advance, delta in deltas:
        opcode = advance.offset - (advance.bits != 6)
        code += data[at:opcode] + shortest(delta, fde.image.byteorder)
        at = advance.offset + max(advance.bits // 8, 1)
    code += data[at:end]
    if len(code) > last - first:
        return None
    return [Patch(first, data[first:last], bytes(code).ljust(last - first, b"\0"))]


def shortest(delta: int, order: ByteOrder) -> bytes:
    """The advance by a delta that takes fewest bytes; nothing where there is nothing to pass."""
    if delta < 1 << 6:
        return bytes((DW_CFA_advance_loc | delta,)) if delta else b""
    fitting = ((opcode, bits) for opcode, (_, bits) in ADVANCES.items() if delta < 1 << bits)
    opcode, bits = next(fitting)
    return bytes((opcode,)) + delta.to_bytes(bits // 8, order)


class _State:
    """The row being built, what the instructions may go back to, and the advances so far.

    `end` is the file offset behind the last instruction that was no DW_CFA_nop.
    """

    __slots__ = (
        "advances", "cfa", "cie", "end", "initial", "pushed", "registers", "set_loc", "stack",
    )  # fmt: skip

    def __init__(self, cie: Cie, image: Mapped) -> None:
        self.cie = cie
        self.cfa: tuple[str, int, int | bytes] = ("undefined", 0, 0)
        self.registers: dict[int, Rule] = {}
        self.initial: dict[int, Rule] = {}
        self.stack: list[tuple[tuple[str, int, int | bytes], dict[int, Rule]]] = []
        self.advances: list[Advance] = []
        self.set_loc = False
        self.end = self.pushed = 0
        reader = DwarfReader(image, *cie.instructions, 0, "CIE instructions")
        while reader.offset < reader.end:
            opcode = reader.fixed("B")
            if not self.apply(opcode, reader):
                raise reader.bad(f"DW_CFA {opcode:#x}")
        self.initial = dict(self.registers)

    def rules(self) -> Rules:
        registers = tuple(sorted(self.registers.items()))
        return Rules(self.cfa, registers, self.cie.return_column, self.pushed)

    def apply(self, opcode: int, reader: DwarfReader) -> bool:
        """Carry out one instruction that stays at the same address; False if it is not known."""
        high, low = opcode & 0xC0, opcode & 0x3F
        if high == DW_CFA_offset:
            self.registers[low] = ("offset", reader.uleb() * self.cie.data_alignment_factor)
        elif high == DW_CFA_restore or opcode == DW_CFA_restore_extended:
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
            self.pushed = reader.uleb()  # outside of what DW_CFA_restore_state goes back to
        else:
            return opcode == DW_CFA_nop
        return True

    def _restore(self, register: int) -> None:
        rule = self.initial.get(register)
        if rule is None:
            self.registers.pop(register, None)
        else:
            self.registers[register] = rule

    def _register(self, rule: str, operands: str, factor: str, reader: DwarfReader) -> None:
        register = reader.uleb()
        value = _operands(operands, reader)[0] if operands else None
        if factor and isinstance(value, int):
            value *= self.cie.data_alignment_factor * (-1 if factor == "-d" else 1)
        self.registers[register] = (rule, value)

    def _cfa(self, rule: str, operands: str, reader: DwarfReader) -> None:
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


def _operands(kinds: str, reader: DwarfReader) -> list[int | bytes]:
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
    reader = DwarfReader(fde.image, *fde.instructions, bias, f"FDE of {fde.start:#x}")
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
            state.end = state.end if opcode == DW_CFA_nop else reader.offset
            continue
        else:
            raise reader.bad(f"DW_CFA {opcode:#x}")
        state.end = reader.offset
        if not address <= after <= fde.end:
            raise reader.bad(f"row at {after:#x}, outside {address:#x}..{fde.end:#x}")
        address = after
        yield address
