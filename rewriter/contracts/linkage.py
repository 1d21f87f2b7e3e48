"""How a routine is called: which registers hold what, as a target says it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Linkage:
    """Register numbers in the target's numbering.

    `link` holds the return address, `entry` the address of the routine itself, `shared` the
    pointer to data that caller and callee share; `preserved` come back as they went in.  `frame`
    bytes from the stack pointer on are the caller's, and a routine may write them.  `others` may
    hold arguments of kinds that no known routine has: floating point and vectors.
    """

    name: str
    arguments: tuple[int, ...]
    result: int
    link: int
    entry: int
    shared: int
    stack: int
    preserved: tuple[int, ...]
    frame: int = 0
    others: tuple[int, ...] = ()


STANDARD = "standard"
"""The name of the linkage of functions in C."""

THREAD = "thread"
"""The name of that by which thread-local variables are found, where compilers have one."""
