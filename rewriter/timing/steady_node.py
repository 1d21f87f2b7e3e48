"""An instruction as a steady state sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.core.isa.instruction import Insn

Where = tuple[object, int]
"""What is known of an access' place: an unknown base, and the cell counted from it."""

Placed = tuple[int, Insn, Where | None]
"""An instruction with its address, and where it accesses memory if that is known."""

Reads = tuple[tuple[int, Mapping[str, int]], ...]
"""Registers, each with the latency from classes of producers that is not their usual one."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """What does not change about an instruction in one half of the integer unit.

    It is issued to one of `pipes`, and again to one of `then` `after` cycles later at least;
    `busy` is for how long it keeps its `unit`; `stage` are the cycles from issue to retirement;
    `queues` has, for each issue, whether it is from the floating-point queue; `number` is another
    for each that is made, from 1 on.
    """

    name: str
    pipes: tuple[str, ...]
    then: tuple[str, ...]
    reads: Reads
    late: Reads
    writes: tuple[int, ...]
    latency: int
    after: int
    split: bool
    unit: str
    busy: int
    stage: int
    control: bool
    queues: tuple[bool, ...]
    loads: bool
    stores: bool
    number: int
