"""What the header of an ELF file says of the machine that the file is for."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.core.readings.machine import ByteOrder

_E_TYPE, _E_MACHINE = slice(16, 18), slice(18, 20)
_E_FLAGS = {32: slice(36, 40), 64: slice(48, 52)}
"""Where a field stands, by the file's class: gABI, figure 4-3."""

HEAD = 52
"""Bytes from the start of a file that hold all of it."""


@dataclass(frozen=True, slots=True)
class Ident:
    """`machine` is e_machine, `bits` EI_CLASS (32 or 64), `byteorder` EI_DATA, `flags` e_flags."""

    machine: int
    bits: int
    byteorder: ByteOrder
    flags: int = 0

    def __str__(self) -> str:
        return f"{self.bits}-bit, {self.byteorder}-endian, e_flags {self.flags:#x}"


def ident_of(head: bytes) -> Ident | None:
    """What the first bytes of an ELF file say; None for what is no ELF file, or is damaged.

    Flags that are not there any more are none.
    """
    if len(head) < _E_MACHINE.stop or head[:4] != b"\x7fELF":
        return None
    if head[4] not in (1, 2) or head[5] not in (1, 2):
        return None
    order: ByteOrder = "little" if head[5] == 1 else "big"
    bits = 32 * head[4]
    machine, flags = (int.from_bytes(head[at], order) for at in (_E_MACHINE, _E_FLAGS[bits]))
    return Ident(machine, bits, order, flags)


def type_of(head: bytes, ident: Ident) -> int:
    """The e_type of a file with these first bytes."""
    return int.from_bytes(head[_E_TYPE], ident.byteorder)
