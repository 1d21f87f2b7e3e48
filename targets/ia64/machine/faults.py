"""What stops a program on the IA-64 machine, besides the faults that every machine has.

`AccessFault`, `BadInstruction` and `LimitReached` are those of `rewriter.core.readings.interpret`,
`Misaligned` is that of `rewriter.core.readings.concrete`.
"""

from __future__ import annotations

from targets.ia64.isa.groups import Violation


class MachineFault(Exception):
    """Base of the faults below."""


class NatConsumption(MachineFault):
    """An instruction that may not see a NaT (deferred exception) got one."""


class IllegalOperation(MachineFault):
    """A register that cannot be written or is outside the frame, a frame that cannot be."""


class FloatingFault(MachineFault):
    """An IEEE exception that FPSR does not mask."""


class GroupViolation(MachineFault):
    """Two executed instructions of one group clash over a register."""

    def __init__(self, first: int, second: int, found: Violation, register: str) -> None:
        super().__init__(
            f"{found.hazard.value} of {register}: {second:#x} in the group of {first:#x}"
        )
        self.first = first
        self.second = second
        self.found = found
