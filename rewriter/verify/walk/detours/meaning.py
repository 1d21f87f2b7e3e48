"""Whether a conditional move is a plain move by a branch's test, or one with something instead."""

from __future__ import annotations

from rewriter.core.code.dataflow import machine
from rewriter.core.edit import Grade
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.isa.table import Table
from rewriter.verify.terms.prover import Prover


def means(table: Table, prover: Prover, test: Insn, move: Insn, opposite: bool, insn: Insn) -> bool:
    """Whether a conditional move is a move by a branch's test, or by the opposite one."""
    with table.terms() as terms:
        before, branched, moved, both = (machine(table, terms) for _ in range(4))
        branched.execute(test, 0)
        moved.execute(move, 0)
        both.execute(insn, 0)
        if branched.control is None or moved.control is not None or both.control is not None:
            return False
        if any(one.events or one.loaded or one.stored for one in (branched, moved, both)):
            return False
        condition = branched.control[0]
        for register in map(Reg, range(len(table.register_names))):
            stays, goes = before.get(register), moved.get(register)
            ways = (stays, goes) if opposite else (goes, stays)
            wanted, found = terms.ite(condition, *ways), both.get(register)
            same = wanted is found or prover.equal(wanted, found)[0] is Grade.PROVED
            if branched.get(register) is not stays or not same:
                return False
        return True


def instead(table: Table, prover: Prover, test: Insn, move: Insn, aside: Insn, insn: Insn) -> bool:
    """Whether a move, and another instruction after it where a branch is taken, do what that other
    and a conditional move after it do."""
    with table.terms() as terms:
        branched, taken, both = (machine(table, terms) for _ in range(3))
        for one, code in ((branched, (move, test)), (taken, (move, aside)), (both, (aside, insn))):
            for at, each in enumerate(code):
                one.execute(each, at * table.size)
        if branched.control is None or taken.control is not None or both.control is not None:
            return False
        if any(one.events or one.loaded or one.stored for one in (branched, taken, both)):
            return False
        condition = branched.control[0]
        for register in map(Reg, range(len(table.register_names))):
            wanted = terms.ite(condition, taken.get(register), branched.get(register))
            found = both.get(register)
            if wanted is not found and prover.equal(wanted, found)[0] is not Grade.PROVED:
                return False
        return True
