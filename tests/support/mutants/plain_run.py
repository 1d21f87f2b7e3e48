"""Where control leaves plain code that was run on unknowns, and with what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rewriter.core.isa.instruction import Insn
from tests.support.mutants.z3_machine import Z3Machine

Settled = int | Insn
"""Where control comes to in the end, past what does nothing; a return wherever it stands."""


@dataclass(frozen=True)
class Leaving:
    """Control leaves under a condition, with what the machine has then.

    `to` is the address it goes to and `settled` where it comes to in the end; both are None where a
    register says where, whose value `target` is.  `returns` where that is to a caller, by the
    calling standard.
    """

    to: int | None
    settled: Settled | None
    condition: Any
    machine: Z3Machine
    target: Any = None
    returns: bool = False


Run = tuple[Leaving, ...]
"""Where control may leave, in order."""
