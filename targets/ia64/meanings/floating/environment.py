"""The status fields of FPSR: what arithmetic obeys, and where it leaves its flags
(SDM vol. 1, 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

from targets.ia64.machine.faults import FloatingFault
from targets.ia64.machine.state import FPSR, State
from targets.ia64.meanings.floating.rounding import Flag, Mode, Shape, shape

_FIELD, _FIRST = 13, 6  # bits of a status field, and where sf0 begins; below it are the traps
_TRAPS = (1 << _FIRST) - 1
_FTZ, _WRE, _PC, _RC, _TD, _FLAGS = 0, 1, 2, 4, 6, 7  # bits in a field
_CONTROLS = (1 << _FLAGS) - 1
_WIDE = 17  # bits of the widest exponent
# Precision control: bits of significand.  1 is reserved; it acts as the next one.
_PRECISIONS = (24, 53, 53, 64)
# The completer of an instruction: precision, bits of exponent; without one FPSR says it.
_NAMED = {"s": (24, 8), "d": (53, 11)}
_EXTENDED = 15


@dataclass(frozen=True, slots=True)
class Environment:
    """What one status field says to an instruction."""

    shape: Shape
    mode: Mode
    flush: bool


def field(m: State, sf: int) -> int:
    """The 13 bits of a status field."""
    return m.r[FPSR] >> _FIRST + _FIELD * sf & (1 << _FIELD) - 1


def set_controls(m: State, sf: int, controls: int) -> None:
    """Writes the seven control bits of a field."""
    low = _FIRST + _FIELD * sf
    m.r[FPSR] = m.r[FPSR] & ~(_CONTROLS << low) | controls << low


def controls(m: State, sf: int) -> int:
    """The seven control bits of a field."""
    return field(m, sf) & _CONTROLS


def flags(m: State, sf: int) -> int:
    """The six flags of a field."""
    return field(m, sf) >> _FLAGS


def clear_flags(m: State, sf: int) -> None:
    """No exception has happened."""
    m.r[FPSR] &= ~(_TRAPS << _FIRST + _FIELD * sf + _FLAGS)


def traps(m: State) -> int:
    """The exceptions that are masked: one bit each."""
    return m.r[FPSR] & _TRAPS


def environment(m: State, sf: int, completer: str) -> Environment:
    """How an instruction with the precision completer ("s", "d", "") rounds."""
    status = field(m, sf)
    wide = status >> _WRE & 1
    precision, bits = _NAMED.get(completer, (_PRECISIONS[status >> _PC & 3], _EXTENDED))
    to = shape(precision, _WIDE if wide else bits)
    return Environment(to, Mode(status >> _RC & 3), bool(status >> _FTZ & 1))


def raise_flags(m: State, sf: int, found: int) -> None:
    """Gathers flags; FloatingFault for an exception that is not masked."""
    if not found:
        return
    masked = traps(m)
    if sf and field(m, sf) >> _TD & 1:
        masked = _TRAPS
    if unmasked := found & ~masked:
        raise FloatingFault(f"{Flag(unmasked)!r} is not masked")
    m.r[FPSR] |= found << _FIRST + _FIELD * sf + _FLAGS
