"""Rows: PALcode calls, opaque, with exact register sets for the ones that Linux uses.

Function codes and registers: Alpha Architecture Handbook v4, chapter 12 (OSF/1 PALcode), and
for CALLSYS the Linux system call convention ($0 number, $16-$21 arguments; $0 and $19 results).
Of the privileged ones those that a kernel calls everywhere are here, with what Linux 6.1
(arch/alpha/include/asm/pal.h) takes for lost.
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Does, Flow, Op
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import Machine, Value
from targets.alpha.isa import formats as f
from targets.alpha.isa.formats import row
from targets.alpha.registers import A0, FP, FZERO, SP, V0, ZERO

_ARGUMENTS = tuple(range(A0, A0 + 6))
_LOST = (1, *range(22, 26))
"""What privileged calls may destroy: t0 and t8 to t11."""

_EVERYTHING = tuple(r for r in range(2 * FP) if r not in (ZERO, FZERO))

# name, function, reads, writes, flow
_CALLS = (
    ("bpt", 0x80, _EVERYTHING, (), Flow.TRAP),
    ("bugchk", 0x81, (), (), Flow.TRAP),
    ("callsys", 0x83, (V0, *_ARGUMENTS, SP), (V0, A0 + 3), Flow.TRAP),
    ("imb", 0x86, (), (), Flow.TRAP),
    ("rduniq", 0x9E, (), (V0,), Flow.TRAP),
    ("wruniq", 0x9F, (A0,), (), Flow.TRAP),
    ("gentrap", 0xAA, (A0,), (), Flow.TRAP),
    ("swpipl", 0x35, (A0,), (V0, *_LOST), Flow.TRAP),
    ("rdps", 0x36, (), (V0, A0, *_LOST), Flow.TRAP),
    ("tbi", 0x33, (A0, A0 + 1), _LOST, Flow.TRAP),
)


def _call(name: str, reads: tuple[int, ...], writes: tuple[int, ...]) -> Does:
    def meaning(m: Machine, *function: Value) -> None:
        m.event(name, *function, *(m.get(Reg(r)) for r in reads))
        for r in writes:
            m.set(Reg(r), m.observed(f"{name} ${r}"))

    return meaning


def _rows() -> list[Op]:
    rows = [
        row(name, f.BARE, function, _call(name, reads, writes), "pal", flow=flow)
        for name, function, reads, writes, flow in _CALLS
    ]
    # Any other PALcode function may read and write every register.
    rows.append(
        row(
            "call_pal",
            f.PALCODE,
            0,
            _call("call_pal", _EVERYTHING, _EVERYTHING),
            "pal",
            flow=Flow.TRAP,
        )
    )
    return rows


ROWS = tuple(_rows())
