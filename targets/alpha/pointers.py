"""What in Alpha text points into text: the gp register, code addresses made from it, jump tables.

Linux and Tru64 code reaches everything through $29 (gp).  A function's first two instructions
make it from $27 and the function's own address; after a call two more make it from $26
(`ldah $29,hi($26); lda $29,lo($29)`), so the pair encodes the address of the code that it stands
in.  Static addresses are `ldah rX,hi($29); lda rY,lo(rX)`.  A switch jumps through a table of
32-bit gp-relative entries (R_ALPHA_GPREL32).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rewriter.core.addresses import first_at
from rewriter.core.isa import Insn
from rewriter.core.listing import Listing
from rewriter.core.program import Function, JumpTable
from rewriter.core.target import Memory
from targets.alpha.isa import TABLE
from targets.alpha.registers import FZERO, GP, PV, SP, ZERO

ENTRY_SIZE = 4  # bytes of a jump table's entry
_LOOK_BACK = 80  # instructions between a table's set-up and its jump
_LONGEST_TABLE = 1024  # entries


UNOP = Insn(TABLE.find("ldq_u"), (ZERO, 0, SP))
# The operand that says so, and its value: UNOP (ldq_u to $31), NOP (bis to $31), FNOP (cpys).
_IDLE = {"ldq_u": (0, ZERO), "bis": (-1, ZERO), "cpys": (-1, FZERO)}


def is_filler(insn: Insn) -> bool:
    """Whether an instruction writes no register and never traps, as compilers fill gaps."""
    idle = _IDLE.get(insn.op.name)
    return idle is not None and insn.operands[idle[0]] == idle[1]


_LDAH, _LDA = TABLE.find("ldah"), TABLE.find("lda")
_DISP = _LDAH.format.operands[_LDAH.format.index("disp")]
_SETS_GP = [TABLE.encode(Insn(op, (GP, 0, base))) for op, base in ((_LDAH, PV), (_LDA, GP))]


def entry_gp(listing: Listing, start: int) -> int | None:
    """The gp that a function's first two instructions make from $27, if they do."""
    at = first_at(listing.addresses, start)
    words = listing.words[at : at + 2].tolist()
    if [word & ~_DISP.mask for word in words] != _SETS_GP:
        return None
    if min(listing.rows[at : at + 2].tolist()) < 0:
        return None
    if listing.addresses[at : at + 2].tolist() != [start, start + _LDAH.format.size]:
        return None
    high, low = map(_DISP.extract, words)
    return (start + (high << 16) + low) % (1 << 64)


def shared(listing: Listing, functions: Sequence[Function]) -> dict[int, int]:
    """The gp of each function by its start, where it is known.

    A GOT of more than 64 KiB is split, and each part has a gp.  A function that does not make its
    own has the only one of the image, if there is only one.
    """
    made = {f.start: gp for f in functions if (gp := entry_gp(listing, f.start)) is not None}
    every = set(made.values())
    return {f.start: next(iter(every)) for f in functions} if len(every) == 1 else made


def candidates(known: Mapping[int, int], function: Function) -> tuple[int, ...]:
    """What gp may be in a function."""
    own = known.get(function.start)
    return (own,) if own is not None else tuple(sorted(set(known.values())))


def jump_table(
    listing: Listing, at: int, function: Function, gp: int, memory: Memory
) -> JumpTable | None:
    """The table of the `jmp` at position `at`, by walking its target's definition back."""
    jump = listing.insn(at)
    assert jump is not None
    back = _Backward(listing, at, function)
    made = back.definition(jump.operand("rb"), at)
    if made is None or made[1].name != "addq":
        return None
    position, add = made
    for entry, base in (
        (add.operand("ra"), add.operand("rb")),
        (add.operand("rb"), add.operand("ra")),
    ):
        load = back.definition(entry, position)
        base_value = gp if base == GP else back.address(base, position, gp)
        if load is None or load[1].name != "ldl" or base_value is None:
            continue
        found = _indexed(back, load, gp)
        if found is not None:
            table, index, index_position = found
            count = _bound(back, index, index_position)
            targets = _entries(memory, table, base_value, function, count)
            if targets:
                exact = count == len(targets)
                return JumpTable(
                    int(listing.addresses[at]), table, ENTRY_SIZE, base_value, targets, exact
                )
    return None


def possible_targets(
    listing: Listing,
    at: int,
    function: Function,
    labels: frozenset[int],
    tables: Sequence[JumpTable],
) -> JumpTable | None:
    """Everywhere that a computed jump in the function may go, when its own table is not found.

    A jump's target comes from a label or from a table, and the function makes the address of
    either from gp: so the labels in it and the entries of all its tables are all there is.
    """
    targets = {label for label in labels if label in function and label != function.start}
    for table in tables:
        targets.update(table.targets)
    if not targets:
        return None
    address = int(listing.addresses[at])
    return JumpTable(address, 0, ENTRY_SIZE, 0, tuple(sorted(targets)), exact=False)


def tables_in(
    function: Function, constants: frozenset[int], labels: frozenset[int], gp: int, memory: Memory
) -> list[JumpTable]:
    """Every constant address of the function that reads like a jump table of its own."""
    found = []
    for table in sorted(constants):
        for base in (gp, *sorted(labels)):
            targets = _entries(memory, table, base, function, None)
            if len(targets) > 1:
                found.append(JumpTable(0, table, ENTRY_SIZE, base, targets, exact=False))
    return found


def callee(listing: Listing, at: int, first: int, gp: int, slots: Mapping[int, int]) -> int | None:
    """The function that a computed call at position `at` reaches, through the GOT.

    `slots` gives the run-time content of relocated words as addresses of this image.
    """
    call = listing.insn(at)
    assert call is not None
    wanted = call.operand("rb")
    for position in range(at - 1, first - 1, -1):
        insn = listing.insn(position)
        if insn is None or not listing.table.defs(insn) >> wanted & 1:
            continue
        if insn.name == "ldq" and insn.operand("rb") == GP:
            return slots.get(gp + insn.operand("disp"))
        return None
    return None


class _Backward:
    """Definitions found by going back in address order from a jump, in one function.

    That order is the compiler's for a switch: bound check, table address, load, jump.  What is
    found is checked against the table's contents, which must all lead into the function.
    """

    def __init__(self, listing: Listing, at: int, function: Function) -> None:
        self.listing = listing
        first, _ = listing.span(function.start, function.end)
        self.first = max(first, at - _LOOK_BACK)

    def definition(self, register: int, before: int) -> tuple[int, Insn] | None:
        """The nearest earlier instruction that writes `register`, with its position."""
        bit = np.uint64(1) << np.uint64(register)
        window = self.listing.defs[self.first : before, 0] & bit
        hits = np.flatnonzero(window)
        if not len(hits):
            return None
        at = self.first + int(hits[-1])
        insn = self.listing.insn(at)
        return (at, insn) if insn is not None else None

    def address(self, register: int, before: int, gp: int) -> int | None:
        """The constant that `lda rX,lo(rY)` after `ldah rY,hi($29)` puts in `register`."""
        low = self.definition(register, before)
        if low is None or low[1].name != "lda":
            return None
        high = self.definition(low[1].operand("rb"), low[0])
        if high is None or high[1].name != "ldah" or high[1].operand("rb") != GP:
            return None
        return gp + (high[1].operand("disp") << 16) + low[1].operand("disp")


def _indexed(back: _Backward, load: tuple[int, Insn], gp: int) -> tuple[int, int, int] | None:
    """The table's address, the index register and where it is read, of a table's `ldl`."""
    scaled = back.definition(load[1].operand("rb"), load[0])
    if scaled is None or scaled[1].name != "s4addq":
        return None
    position, insn = scaled
    base = back.address(insn.operand("rb"), position, gp)
    return None if base is None else (base + load[1].operand("disp"), insn.operand("ra"), position)


def _bound(back: _Backward, index: int, position: int) -> int | None:
    """How many entries the bound check `cmpule index,N` lets through."""
    for at in range(position - 1, back.first - 1, -1):
        insn = back.listing.insn(at)
        if insn is None or insn.name != "cmpule" or insn.op.format.name != "operate literal":
            continue
        if insn.operand("ra") == index or _same_value(
            back, index, position, insn.operand("ra"), at
        ):
            return insn.operand("rb") + 1
        return None
    return None


def _same_value(back: _Backward, index: int, position: int, compared: int, at: int) -> bool:
    """Whether one is the other zero-extended (`zapnot rX,15,rY`)."""
    for register, before, other in ((index, position, compared), (compared, at, index)):
        made = back.definition(register, before)
        if made is not None and made[1].name == "zapnot" and made[1].operand("ra") == other:
            return True
    return False


def _entries(
    memory: Memory, table: int, base: int, function: Function, count: int | None
) -> tuple[int, ...]:
    targets: list[int] = []
    for n in range(_LONGEST_TABLE if count is None else count):
        at = table + ENTRY_SIZE * n
        if not memory.is_mapped(at):
            break
        entry = int.from_bytes(memory.read(at, ENTRY_SIZE), "little", signed=True)
        target = base + entry
        if target not in function or target % 4:
            break
        targets.append(target)
    return tuple(targets)
