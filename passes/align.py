"""Branch targets on fetch-block boundaries, in the room that fillers and other passes left."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rewriter.core.cpu import Cpu
from rewriter.core.isa import AWAY, Flow, Insn
from rewriter.core.program import Function

LONGEST_LOOP = 128
"""Bytes: a fetch slot lost in each round of a longer loop is less than fillers on the way in."""


@dataclass(frozen=True)
class Layout:
    """Where each instruction of a function goes: (old address, new address, instruction).

    `aligned` and `targets` count branch targets on a boundary, and all of them; `executed` is how
    many fillers stand where control passes through.
    """

    items: tuple[tuple[int, int, Insn], ...]
    aligned: int
    targets: int
    executed: int


@dataclass(frozen=True)
class Code:
    """A function's instructions that do something, by original address, and what is known of them.

    `fixed` are addresses that must stay; `loops` are heads of loops of at most `LONGEST_LOOP`,
    and `targets` all addresses that branches go to.
    """

    function: Function
    items: tuple[tuple[int, Insn], ...]
    fixed: Collection[int]
    loops: Collection[int]
    targets: Collection[int]


class Align:
    """A function's blocks slide together over its fillers; branch targets get their boundary.

    Before    bne t0,head          After    bne t0,head
              nop                           (head is the next fetch block's first instruction;
              unop                           unreachable fillers stand before it)
              unop
              ...
    Requires  Every way into the function known; entries stay where they are.  Unwind rows, jump
              tables and gp set-ups follow their instructions.
    Proof     Both files are walked at once from every entry (`rewriter/verify/walk`).

    A boundary costs nothing behind a jump or return.  Before a loop's head that control also
    falls into, fillers run once for an entry and pay in every iteration; but not inside another
    loop, where they would run in each of its passes.
    """

    name = "align"
    needs: frozenset[str] = frozenset()

    def layout(self, code: Code, cpu: Cpu) -> Layout | None:
        """The best layout that fits the function's footprint; None if none does."""
        boundary = cpu.fetch_block.value
        for wanted in (set(code.loops) | set(code.targets), set(code.loops), set[int]()):
            layout = _arranged(code, wanted, boundary)
            if layout is not None:
                return layout
        return None


def _arranged(code: Code, wanted: set[int], boundary: int) -> Layout | None:
    placed: list[tuple[int, int, Insn]] = []
    at, executed, falls_in = code.function.start, 0, True
    heads, inside = _heads(code.items, wanted), _inside(code)
    for address, insn in code.items:
        if address in code.fixed:
            gap = address - at
            if gap < 0:
                return None
        else:
            pays = address not in inside and not heads.get(address, set()).isdisjoint(code.loops)
            gap = -at % boundary if address in heads and (pays or not falls_in) else 0
        executed += gap // insn.size if falls_in else 0
        placed.append((address, at + gap, insn))
        at += gap + insn.size
        falls_in = insn.op.flow not in AWAY
    if at > code.function.end:
        return None
    new = {address: there for address, there, _ in placed}
    reached = _heads(code.items, set(code.targets))
    aligned = sum(new[address] % boundary == 0 for address in reached)
    return Layout(tuple(placed), aligned, len(reached), executed)


def _heads(items: Sequence[tuple[int, Insn]], targets: set[int]) -> dict[int, set[int]]:
    """For each instruction that a target leads to, perhaps over dropped fillers, these targets."""
    found: dict[int, set[int]] = {}
    waiting = sorted(targets)
    for address, _ in items:
        while waiting and waiting[0] <= address:
            found.setdefault(address, set()).add(waiting.pop(0))
    return found


def _inside(code: Code) -> set[int]:
    """Instructions that a loop passes through after its head.

    A branch back, however far, makes a loop of what is between its target and itself.
    """
    places = [address for address, _ in code.items]
    found: set[int] = set()
    for n, (address, insn) in enumerate(code.items):
        target = insn.target(address) if insn.op.flow in (Flow.BRANCH, Flow.JUMP) else None
        if target is not None and target in code.function:
            found.update(places[bisect_left(places, target) + 1 : n + 1])
    return found
