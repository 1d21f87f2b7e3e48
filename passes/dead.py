"""What rewrites left that nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterator

from passes.lib.steps import Change, OwnPass, Steps
from passes.lib.technique import Site
from rewriter.core.code.dataflow import Trace, drop_dead, registers_of
from rewriter.core.edit import Rewrite
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential, Target

_RESULT = "result that nobody reads"
_BITS = "bits that nobody reads"


class Dead(OwnPass):
    """What only code needed that is now another goes, from before the label of that code too.

    Before    and v,255,v; ldq_u t,0(p)          After    label: stb v,0(p)
              label: stb v,0(p)                  where the old code at the label went on with
                                                 insbl v,p,i; mskbl t,p,m; bis i,m,s; stq_u s,0(p)
    Requires  Control falls into code that a rewrite changed.  What goes does nothing but compute:
              a result that the new code does not read, or one with the same lowest bits as what it
              is made of, which stands in its register, where narrow stores alone read it.
    Proof     The code up to where control goes elsewhere, the changed code included.  Others come
              to the label with what they had; its own code is left alone here.
    """

    name = "dead"
    change = Change.IN_PLACE

    def offered(self, target: Target) -> bool:
        """Where code is rewritten in place."""
        return target.sequential is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.cleans(self)

    def sites(self, trace: Trace, target: Sequential, cpu: Cpu) -> Iterator[Site]:
        """What nobody reads."""
        table = trace.table
        computing = [n for n, insn in enumerate(trace.insns) if table.computes(insn)]
        left = drop_dead(table, trace.insns, frozenset(computing), trace.exits)
        for slot in computing:
            if left[slot] is None:
                yield _without(slot, _RESULT)
            elif not trace.escapes(slot) and _is_narrowed(trace, target, slot):
                yield _without(slot, _BITS)


def _without(slot: int, kind: str) -> Site:
    return Site(slot, kind, (Rewrite(slot, kind, ((slot, None),)),))


def _is_narrowed(trace: Trace, target: Sequential, slot: int) -> bool:
    """Whether a slot changes bits of a register that the stores which alone read it leave out."""
    table, terms, value = trace.table, trace.terms, trace.value[slot]
    register, users = table.defs(trace.insns[slot]), trace.users.get(slot, ())
    if value is None or table.uses(trace.insns[slot]) != register:
        return False
    (number,) = registers_of(register)
    before = trace.operand[slot][number]
    for user in users:
        insn = trace.insns[user]
        effects = table.effects(insn.op)
        place = target.spelling.address(insn) if effects.stores else None
        if place is None or place[0] == number:
            return False
        mask = terms.const((1 << 8 * effects.size) - 1)
        if terms.and_(value, mask) is not terms.and_(before, mask):
            return False
    return bool(users)
