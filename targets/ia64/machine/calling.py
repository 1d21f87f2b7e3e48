"""Calls a routine by the software conventions of IA-64 Linux (integer arguments and result)."""

from __future__ import annotations

from collections.abc import Sequence

from targets.ia64.machine.frames import Frame
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.state import MASK, STACKED
from targets.ia64.machine.trace import Executed
from targets.ia64.registers import NUMBERS, numbers

RETURN = 0xE_0000_0000_0000  # a bundle address that no file has: where the run ends
_SP, _GP, _RESULT, _RP = numbers("r12", "r1", "r8", "b0")
_PFS = NUMBERS["ar.pfs"]
_REGISTERS = 8  # arguments that are passed in registers


def prepare(processor: Processor, arguments: Sequence[int], *, sp: int, gp: int = 0) -> None:
    """Sets up the registers as at a procedure's entry; `sp` leaves 16 bytes of scratch above."""
    assert len(arguments) <= _REGISTERS
    state = processor.state
    state.reframe(Frame())
    state.reframe(Frame(sof=len(arguments)))
    for register, value in enumerate(arguments, STACKED):
        state.put(register, value)
    state.put(_SP, sp)
    state.put(_GP, gp)
    state.r[_RP] = RETURN
    state.r[_PFS] = Frame().value


def call(
    processor: Processor,
    entry: int,
    arguments: Sequence[int],
    *,
    sp: int = 0,
    gp: int = 0,
    limit: int = 1_000_000,
) -> tuple[int, list[Executed]]:
    """The result in r8 and what was executed; raises what a run raises."""
    prepare(processor, arguments, sp=sp, gp=gp)
    trace = processor.run(entry, RETURN, limit)
    return processor.state.plain(_RESULT) & MASK, trace
