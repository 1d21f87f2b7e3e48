"""Moves between register files, and instructions that do nothing (SDM vol. 3, mov, nop)."""

from __future__ import annotations

from targets.ia64.machine.faults import IllegalOperation
from targets.ia64.machine.state import BSP, BSPSTORE, RNAT, ROTATING_PR, State
from targets.ia64.meanings.binding import Meaning, named
from targets.ia64.registers import NAMES, NUMBERS, PR

_PREDICATES = 64
_EC = NUMBERS["ar.ec"]
_WIDTHS: dict[int, int] = {
    _EC: 6,
    NUMBERS["ar.rsc"]: 30,
}  # of the application registers that are not all bits


def predicates(m: State) -> int:
    """All predicates as a mask, as if nothing had rotated."""
    mask = 0
    for number in range(_PREDICATES):
        mask |= m.r[PR + number] << _unrotated(m, number)
    return mask


def _unrotated(m: State, number: int) -> int:
    first = ROTATING_PR - PR
    if number < first:
        return number
    return first + (number - first + m.frame.rrb_pr) % (_PREDICATES - first)


def _set_predicates(m: State, value: int, mask: int) -> None:
    for number in range(1, _PREDICATES):
        bit = _unrotated(m, number)
        if mask >> bit & 1:
            m.r[PR + number] = value >> bit & 1


def _to_predicates(m: State, r2: int, mask17: int) -> None:
    _set_predicates(m, m.plain(r2), mask17)


def _to_rotating(m: State, imm44: int) -> None:
    _set_predicates(m, imm44, -1 << ROTATING_PR - PR)


def _from_predicates(m: State, r1: int) -> None:
    m.put(r1, predicates(m))


def _to_branch(m: State, b1: int, r2: int) -> None:
    m.r[b1] = m.plain(r2)


def _from_branch(m: State, r1: int, b2: int) -> None:
    m.put(r1, m.r[b2])


def _from_ip(m: State, r1: int, bundle: int) -> None:
    m.put(r1, bundle)


def _from_application(m: State, r1: int, ar3: int) -> None:
    m.put(r1, m.r[ar3])


def _to_application(m: State, ar3: int, r2: int) -> None:
    write_application(m, ar3, m.plain(r2))


def _immediate_to_application(m: State, ar3: int, imm8: int) -> None:
    write_application(m, ar3, imm8 % (1 << 64))


def write_application(m: State, register: int, value: int) -> None:
    """Writes an application register, and what hangs together with it."""
    if register == BSP:
        raise IllegalOperation(f"{NAMES[register]} cannot be written")
    if register == BSPSTORE:
        m.stack.restart(value & -8)
        m.show()
    elif register == RNAT:
        m.stack.rnat = value
        m.show()
    else:
        width = _WIDTHS.get(register, 64)
        m.r[register] = value & (1 << width) - 1


def _nothing(m: State) -> None:
    """A nop, or a hint that nothing depends on."""


_TO, _FROM = named(_to_application), named(_from_application)

MEANINGS: dict[str, Meaning] = {
    "mov pr={r2},{mask17}": named(_to_predicates),
    "mov pr.rot={imm44}": named(_to_rotating),
    "mov {r1}=pr": named(_from_predicates),
    "mov{wh}{ih} {b1}={r2},{tag13}": named(_to_branch),
    "mov.ret": named(_to_branch),
    "mov {r1}={b2}": named(_from_branch),
    "mov {r1}=ip": named(_from_ip),
    **{f"mov.{unit} {{ar3}}={{r2}}": _TO for unit in "im"},
    **{f"mov.{unit} {{ar3}}={{imm8}}": named(_immediate_to_application) for unit in "im"},
    **{f"mov.{unit} {{r1}}={{ar3}}": _FROM for unit in "im"},
    **{f"{name}.{unit}": named(_nothing) for name in ("nop", "hint") for unit in "mifbx"},
}
