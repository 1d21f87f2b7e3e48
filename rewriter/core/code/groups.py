"""Code of a machine whose text says which instructions issue together: slots and groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rewriter.core.isa.instruction import Insn


@dataclass(slots=True, unsafe_hash=True)
class Slot:
    """An instruction in its place.

    Nobody changes one; a class that sees to that takes twice as long to make one.

    `address` is the bundle's with the number of the slot added, as in the architecture's own
    tables; `stop` says that an instruction group ends behind it.
    """

    address: int
    insn: Insn
    stop: bool


def groups(slots: Iterable[Slot]) -> Iterator[tuple[Slot, ...]]:
    """The instruction groups of straight code, in order; the last may lack its stop."""
    group: list[Slot] = []
    for slot in slots:
        group.append(slot)
        if slot.stop:
            yield tuple(group)
            group = []
    if group:
        yield tuple(group)
