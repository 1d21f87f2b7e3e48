"""Computed branches: where they go, as far as their code has a form that is understood.

gcc's switch adds to the address of a table's word that word, a distance from itself:

    addl rt=@ltoff(table),gp ;; ld8 rt=[rt] ;; shladd ra=ri,3,rt ;; ld8 rw=[ra] ;;
    add rp=rw,ra ;; mov b6=rp ;; br.cond b6
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import numpy as np

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.target.bundling import Linked
from targets.ia64.image.tables import entries
from targets.ia64.image.text import GP, Text
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.rows import TABLE

_MAKERS = np.array([op.name in ("addl", "movl") for op in TABLE.rows] + [False])
_BACK = 60  # slots before a branch in which its address is made


def indirect(text: Text) -> list[int]:
    """The positions of the branches to an address in a register; calls and returns are none."""
    rows = [n for n, op in enumerate(TABLE.rows) if op.flow is Flow.INDIRECT]
    return sorted(int(at) for row in rows for at in text.of_row(row))


def tables(
    image: Linked, text: Text, first: int, last: int, gp: int, slots: Mapping[int, int]
) -> dict[int, tuple[int, ...]]:
    """The tables whose addresses the code of bundles [first, last) may make: where they lead.

    Only those whose first word leads into this code.
    """
    made: set[int] = set()
    rows = text.rows[SLOTS * first : SLOTS * last]
    for position in np.flatnonzero(_MAKERS[rows]).tolist():
        insn = text.insn(SLOTS * first + position)
        if insn is not None and insn.name == "addl" and insn.operand("r3") == GP:
            place = (gp + insn.operand("imm22")) % (1 << 64)
            made |= {place, slots.get(place, place)}
            if place % 8 == 0 and image.is_mapped(place) and place not in slots:
                made.add(int.from_bytes(image.read(place, 8), "little"))
        elif insn is not None and insn.name == "movl":
            made.add(insn.operand("imm64") % (1 << 64))
    start, end = int(text.starts[first]), int(text.starts[last - 1])
    found = ((table, entries(image, text, table)) for table in sorted(made))
    return {table: to for table, to in found if to and start <= to[0] <= end}


def reads_table(text: Text, position: int, first: int) -> bool:
    """Whether the branch at a position goes where a word of a table says by its distance."""
    branch = text.insn(position)
    lowest = max(SLOTS * first, position - _BACK)
    if branch is None or not (at := _writer(text, position, lowest, branch.operand("b2"))):
        return False
    move = text.insn(at)
    if move is None or not move.has("r2"):
        return False
    at = _writer(text, at, lowest, move.operand("r2"))
    total = text.insn(at) if at else None
    if total is None or total.name != "add" or not total.has("r2"):
        return False
    r2, r3 = total.operand("r2"), total.operand("r3")
    return _is_distance(text, at, lowest, r2, r3) or _is_distance(text, at, lowest, r3, r2)


def _is_distance(text: Text, position: int, lowest: int, word: int, place: int) -> bool:
    """Whether a register holds a word of memory at a position, and another the word's address.

    A distance from elsewhere, as from where the table starts, is none.
    """
    at = _writer(text, position, lowest, word)
    load = text.insn(at) if at else None
    if load is None or not load.name.startswith("ld8"):
        return False
    return load.operand("r3") == place and not _writer(text, position, at, place)


def _writer(text: Text, position: int, lowest: int, register: int) -> int:
    """The last position before one at which a register is written; 0 where none is near."""
    for at in range(position - 1, lowest - 1, -1):
        insn = text.insn(at)
        if insn is not None and _writes(insn, register):
            return at
    return 0


def _writes(insn: Insn, register: int) -> bool:
    return bool(TABLE.defs(insn) >> register & 1)


def unread(text: Text, first: int, last: int, branches: list[int], found: int) -> str:
    """Why the computed branches of bundles [first, last) are not understood; "" if they are."""
    own = branches[bisect_left(branches, SLOTS * first) : bisect_left(branches, SLOTS * last)]
    if not all(reads_table(text, position, first) for position in own):
        return "a computed branch has no table that is understood"
    if found < len(own):
        return "a computed branch has no table that is found"
    return ""
