"""How a meaning gets the operands of an instruction.

A meaning is bound once per instruction in its place, and what comes out runs on a `State`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.machine.state import State

Run = Callable[[State], None]
Meaning = Callable[[Insn, int], Run]
_NAMES = re.compile(r"\{(\w+)\}")


def named(does: Callable[..., None]) -> Meaning:
    """`does(state, ...)`, whose other parameters are operands by the names that the format has.

    A register is its number, a branch target an absolute address; `bundle` is the address of the
    instruction's bundle.
    """
    names = tuple(inspect.signature(does).parameters)[1:]

    def bind(insn: Insn, address: int) -> Run:
        operands = tuple(_operand(insn, name, address & -BUNDLE) for name in names)
        if not operands:
            return does
        return lambda state: does(state, *operands)

    return bind


def _operand(insn: Insn, name: str, bundle: int) -> int:
    if name == "bundle":
        return bundle
    index = insn.op.format.index(name)
    value = insn.operands[index]
    if insn.op.format.operands[index].kind is Kind.TARGET:
        return (bundle + value) % (1 << 64)
    return value


def sources(insn: Insn) -> tuple[tuple[bool, int], ...]:
    """The operands behind the `=`, in the text's order: whether a register, and the value."""
    layout = insn.op.format
    found = []
    for name in _NAMES.findall(layout.syntax.partition("=")[2]):
        index = layout.index(name)
        found.append((layout.operands[index].kind is Kind.REGISTER, insn.operands[index]))
    return tuple(found)


def computes(function: Callable[..., int]) -> Meaning:
    """r1 = function of the sources, in the text's order; a NaT among them makes r1 a NaT.

    The function gets registers without a sign and immediates with theirs; of its result the low
    64 bits count.
    """

    def bind(insn: Insn, address: int) -> Run:
        r1, found = insn.operand("r1"), sources(insn)
        match found:
            case ((True, a), (True, b)):

                def run(m: State) -> None:
                    m.put(r1, function(m.r[a], m.r[b]), m.nat[a] | m.nat[b])

            case ((False, a), (True, b)):

                def run(m: State) -> None:
                    m.put(r1, function(a, m.r[b]), m.nat[b])

            case _:

                def run(m: State) -> None:
                    values = [m.r[value] if register else value for register, value in found]
                    nat = any(m.nat[value] for register, value in found if register)
                    m.put(r1, function(*values), int(nat))

        return run

    return bind
