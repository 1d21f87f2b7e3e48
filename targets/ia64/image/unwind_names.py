"""What unwind descriptors of a prologue describe, by their numbers.

Itanium Software Conventions and Runtime Architecture Guide, appendix B.
"""

from __future__ import annotations

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
