"""What unwind descriptors of a prologue describe, by their numbers.

Itanium Software Conventions and Runtime Architecture Guide, appendix B.
"""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.core.isa.registers import register_mask
from targets.ia64.registers import BR, GR, NUMBERS
from targets.ia64.standard import PRESERVED, PRESERVED_FLOATING, PRESERVED_PREDICATES

_REGISTERS = ("rp", "pfs", "pr", "lc", "unat", "fpsr")
_STORES = ("bsp", "bspstore", "rnat")
P3 = dict(
    enumerate(
        ("sp", "rp", "pfs", "pr", "unat", "lc", "rp", "rnat", "bsp", "bspstore", "fpsr", "priunat")
    )
)
IN_BRANCH = 6  # of P3: in a branch register
# What is described, and whether the number is when it is saved, not where.
P7 = (
    ("sp", True),
    ("sp", True),
    ("area", False),
    ("sp", False),
    *((name, when) for name in _REGISTERS for when in (True, False)),
)
P8 = dict(
    enumerate(
        (
            *((name, False) for name in _REGISTERS),
            *((name, how == "when") for name in _STORES for how in ("when", "psp", "sp")),
            ("priunat", True),
            ("priunat", False),
            ("priunat", False),
            ("priunat", True),
        ),
        start=1,
    )
)

BRANCHES, SPILLS, EVERY = "branches", "spills", "every"
"""What P1 describes, P5 and P6, X1 and X3."""
REGISTERS: Mapping[str, int] = {
    "rp": register_mask((BR,)),
    "pr": register_mask(PRESERVED_PREDICATES),
    **{name: 1 << NUMBERS[f"ar.{name}"] for name in ("pfs", "lc", "unat", "fpsr", *_STORES)},
    BRANCHES: register_mask(range(BR + 1, BR + 6)),
    SPILLS: register_mask((*range(GR + 4, GR + 8), *PRESERVED_FLOATING)),
    EVERY: register_mask((BR, *PRESERVED)),
}
"""The registers that what is described is saved from."""
