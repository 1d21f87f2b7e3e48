"""Rows that differ only in their name and opcode, from a table of those."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.formats import row
from targets.ppc.meanings.unknown import Maker

_A = 16  # the lowest bit of the field that holds more of some opcodes


def listed(opcodes: str) -> Iterator[tuple[str, int, int]]:
    """The name, the extended opcode and what else is fixed, of `name 123` or `name 7:123`.

    The number before the colon is in the field A (the manual's bits 11 to 15).
    """
    words = opcodes.split()
    for name, code in zip(words[::2], words[1::2], strict=True):
        more, _, extended = code.rpartition(":")
        yield name, int(extended), int(more or 0) << _A


def family(
    text: str,
    layout: Callable[[int], int],
    meaning: Maker,
    sched: str,
    needs: str,
    opcodes: str,
    *,
    record: int = 0,
) -> list[Op]:
    """Rows of one text and layout; `record` are the bits that make record forms of them, if any.

    `meaning` makes what each does from its name; `sched` and `needs` are as in `row`.
    """
    rows = []
    for name, extended, more in listed(opcodes):
        bits = layout(extended) | more
        rows.append(row(name, text, bits, meaning(name), sched, needs))
        if record:
            full = f"{name}."
            rows.append(row(full, text, bits | record, meaning(full), sched, needs))
    return rows
