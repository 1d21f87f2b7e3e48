"""What IA-64's instructions do, one file a family.

A table maps a row to its meaning: by its whole text as the format spells it (`mov {r1}=ip`) or,
where that says enough, by its name.  The masks of what an instruction reads and writes are the
table's (`targets.ia64.isa`); what a meaning really touches lies within them.

binding     How a meaning gets the operands of an instruction
branches    Branches, and what moves the frame or rotates it (SDM vol. 3, br, alloc, cover, clrrrb)
integer     Integer arithmetic, logic, shifts and bit fields (SDM vol. 3, 2.2)
memory      Loads and stores of general registers, and checks of speculation (SDM vol. 3, ld, st,
            chk)
moves       Moves between register files, and instructions that do nothing (SDM vol. 3, mov, nop)
multimedia  Operations on the lanes of a general register (SDM vol. 3, padd to unpack)
predicates  Compares and tests: what they do to two predicates (SDM vol. 3, cmp, tbit, tnat, tf)
semaphores  Semaphores and prefetches (SDM vol. 3, cmpxchg, fetchadd, lfetch, xchg)
system      System instructions: what they change of the state, and an event for the world (SDM
            vol. 3, bsw to vmsw; vol. 2, 3.3)
floating/   What floating-point instructions do to whole registers, exactly
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Insn, Op
from targets.ia64.meanings import (
    branches,
    integer,
    memory,
    moves,
    multimedia,
    predicates,
    semaphores,
    system,
)
from targets.ia64.meanings.binding import Meaning, Run
from targets.ia64.meanings.floating import memory as floating_memory
from targets.ia64.meanings.floating import parallel, significands, whole
from targets.ia64.registers import PR

MEANINGS: dict[str, Meaning] = {
    **integer.MEANINGS,
    **multimedia.MEANINGS,
    **predicates.MEANINGS,
    **memory.MEANINGS,
    **semaphores.MEANINGS,
    **floating_memory.MEANINGS,
    **moves.MEANINGS,
    **branches.MEANINGS,
    **significands.MEANINGS,
    **whole.MEANINGS,
    **parallel.MEANINGS,
    **system.MEANINGS,
}


def meaning(op: Op) -> Meaning | None:
    """What a row does; None if nobody has said it."""
    return MEANINGS.get(op.name + op.format.syntax) or MEANINGS.get(op.name)


def meaning_off(op: Op) -> Meaning | None:
    """What a row does although its qualifying predicate is false; None: nothing."""
    if op.name.endswith(".unc"):
        return predicates.CLEAR
    if op.sched in ("FMISC", "SFMISC") and op.name.endswith(("rcpa", "rsqrta")):
        return whole.OFF
    return None


def qualifier(insn: Insn) -> int:
    """The predicate that switches an instruction off: p0 where there is none, or where the
    instruction asks for it itself."""
    if insn.has("qp") and insn.name not in branches.UNQUALIFIED:
        return insn.operand("qp")
    return PR


def bound(insn: Insn, address: int) -> Run:
    """The instruction in its place, ready to run; NotImplementedError without a meaning."""
    found = meaning(insn.op)
    if found is None:
        raise NotImplementedError(f"{insn.name} has no meaning here")
    return found(insn, address)


def bound_off(insn: Insn, address: int) -> Run | None:
    """The same for a false qualifying predicate."""
    found = meaning_off(insn.op)
    return found(insn, address) if found else None
