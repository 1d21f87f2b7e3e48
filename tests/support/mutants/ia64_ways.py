"""Where control goes in IA-64 code and what may be read there, simply and on the safe side.

Calls and returns pass on what the calling standard says (Itanium Software Conventions, chapter 5);
computed branches, and all that is not understood, may read everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rewriter.core.code.groups import Slot
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import register_mask
from targets.ia64.isa.fields import BUNDLE, QP
from targets.ia64.isa.i_unit import MASK17
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import FR, GR, NAMES, PR, numbers
from tests.support.mutants.ia64_base import Ia64Base

EVERYTHING = (1 << len(NAMES)) - 1
_SCRATCH = register_mask(
    (
        *(GR + n for n in (2, 3, *range(14, 32))),
        *(FR + n for n in (6, 7, *range(32, 128))),
        *range(PR + 6, PR + 16),
        *numbers("b6", "b7"),
    )
)
"""Scratch registers without a result."""
_RESULTS = register_mask((*range(GR + 8, GR + 12), *range(FR + 8, FR + 16)))
_CHAIN = 1 << GR + 15
_GP = 1 << GR + 1
_STACKED = register_mask(range(GR + 32, GR + 128))
_FAR, _DEEP = 5_000, 2


class Ways:
    """The code of one file."""

    def __init__(self, base: Ia64Base) -> None:
        self.base = base
        self._locals: dict[int, int] = {}

    def live(self, address: int, wanted: int) -> int:
        """Of some registers those that may be read when control comes to a bundle."""
        return _Reading(self, _DEEP).of([_Way(address, wanted)]) & wanted

    def live_behind(self, slots: Sequence[Slot], address: int, wanted: int, under: int = PR) -> int:
        """The same where control comes to these slots, the last ones of a bundle.

        With a predicate, what is in the registers matters only where that is false.
        """
        reading, covered = _Reading(self, _DEEP), wanted if under != PR else 0
        following = reading.through(slots, _Way(address, wanted, under, covered))
        return reading.of([following]) & wanted

    def local(self, address: int) -> int:
        """Registers of the frame that no callee sees, where the function has one frame."""
        function = self.base.function_at(address)
        if function is None:
            return 0
        if function.start not in self._locals:
            slots = (s for at in range(*_ends(function), BUNDLE) for s in self.base.slots(at))
            sizes = {s.insn.operand("sol") for s in slots if s.insn.name == "alloc"}
            count = sizes.pop() if len(sizes) == 1 else 0
            self._locals[function.start] = register_mask(range(GR + 32, GR + 32 + count))
        return self._locals[function.start]

    def callers(self, address: int) -> list[int]:
        """Where code of the file goes on that calls the function of a bundle directly.

        All other callers are of other files, or call through a descriptor: these load their gp
        again.
        """
        function = self.base.function_at(address)
        return [] if function is None else self._called_from.get(function.start, [])

    @cached_property
    def _called_from(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for function in self.base.functions:
            for at in range(function.start, function.end, BUNDLE):
                for slot in self.base.slots(at):
                    to = self.distance(slot) if slot.insn.op.flow is Flow.CALL else None
                    if to is not None:
                        found.setdefault(to, []).append(at + BUNDLE)
        return found

    def to(self, slot: Slot) -> int | None:
        """Where a branch of which that is all leads."""
        if slot.insn.name not in ("br.cond", "br.cloop", "brl.cond"):
            return None
        return self.distance(slot)

    def distance(self, slot: Slot) -> int | None:
        """Where a branch or a call leads that says it."""
        for operand in slot.insn.op.format.operands:
            if operand.kind is Kind.TARGET:
                return (slot.address & -BUNDLE) + slot.insn.operand(operand.name)
        return None

    # Straight code ------------------------------------------------------------------------

    @cached_property
    def heads(self) -> frozenset[int]:
        """Bundles to which control may come otherwise than from the one before."""
        found: set[int] = set()
        for function in self.base.functions:
            found.add(function.start)
            for at in range(function.start, function.end, BUNDLE):
                for slot in self.base.slots(at):
                    if (to := self.to(slot)) is not None:
                        found.add(to)
        return frozenset(found)

    def before(self, address: int, most: int) -> Iterator[int]:
        """Bundles before one, the nearest first, from which alone control comes to the next."""
        function = self.base.function_at(address)
        for _ in range(most):
            if function is None or address in self.heads or address == function.start:
                return
            address -= BUNDLE
            slots = self.base.slots(address)
            flows = [slot.insn.op.flow for slot in slots]
            if not slots or set(flows) - {Flow.NEXT, Flow.BRANCH}:
                return
            yield address


@dataclass(frozen=True, slots=True)
class _Way:
    """Control comes to a bundle with registers `left` that nothing has set since.

    Those `covered` hold what they held only where the predicate `under` is false.
    """

    address: int
    left: int
    under: int = PR
    covered: int = 0


class _Reading:
    """What is found to be read on some ways; `deep` says how many calls are looked into."""

    def __init__(self, ways: Ways, deep: int) -> None:
        self.ways, self.deep = ways, deep
        self.todo: list[_Way] = []
        self.found = 0

    def of(self, ways: Sequence[_Way]) -> int:
        """The registers that may be read."""
        seen: dict[tuple[int, int, int], int] = {}
        self.todo += ways
        while self.todo:
            way = self.todo.pop()
            key = way.address, way.under, way.covered
            left = way.left & ~self.found & ~seen.get(key, 0)
            if not left:
                continue
            seen[key] = seen.get(key, 0) | left
            if len(seen) > _FAR or not (slots := self.ways.base.slots(way.address)):
                return EVERYTHING
            self.todo.append(self.through(slots, replace(way, left=left)))
        return self.found

    def through(self, slots: Sequence[Slot], way: _Way) -> _Way:
        """The way behind slots; others that control may take are noted."""
        left, under, covered = way.left, way.under, way.covered
        for slot in slots:
            insn = slot.insn
            mine = insn.operand(QP.name) if insn.has(QP.name) else PR
            here = left & ~covered if mine == under != PR else left
            left = self._slot(slot, here, _Way(0, left, under, covered)) | left & ~here
            kills = _kills(insn)
            if TABLE.defs(insn) >> under & 1:
                under, covered = PR, 0
            if mine != PR and insn.op.flow is Flow.NEXT:
                if mine != under and not covered & left:
                    under, covered = mine, 0
                covered |= kills if mine == under else 0
            left &= ~self.found
        return _Way(way.address + BUNDLE, left, under, covered)

    def _slot(self, slot: Slot, left: int, way: _Way) -> int:
        """Of registers `left` those that nothing has set behind a slot; notes what is read.

        Registers of a group are set at its end, which is no earlier than where the slot stands.
        """
        insn, flow = slot.insn, TABLE.flow(slot.insn)
        if flow is Flow.TRAP or insn.name.startswith("chk."):
            self.found |= left
            return 0
        self.found |= _reads(insn) & left
        under = is_under(insn)
        if flow is Flow.NEXT:
            return left if under else left & ~_kills(insn)
        if flow in (Flow.CALL, Flow.INDIRECT_CALL):
            self.found |= self._called(slot, left)
            return left if under else left & ~(_SCRATCH | _RESULTS)
        if flow is Flow.RETURN:
            self.found |= left & beyond(insn)
            back = self.ways.callers(slot.address & -BUNDLE)
            self.todo += [_Way(at, left & _GP) for at in back]
            return left if under else 0
        to = self.ways.to(slot)
        if to is None:
            self.found |= left
            return 0
        self.todo.append(replace(way, address=to, left=left))
        return 0 if flow is Flow.JUMP else left

    def _called(self, slot: Slot, left: int) -> int:
        """What a callee may read: all that is passed, or of its own registers what it does read."""
        local = self.ways.local(slot.address & -BUNDLE)
        passed = left & beyond(slot.insn) & ~local
        to, size = self.ways.distance(slot), local.bit_count()
        if slot.insn.op.flow is not Flow.CALL or to is None or not size or not self.deep:
            return passed
        mine = passed & _STACKED
        inside = _Reading(self.ways, self.deep - 1).of([_Way(to, mine >> size & _STACKED)])
        return passed & ~mine | (inside & _STACKED) << size & mine


_PARALLEL = (".and", ".or", ".andcm", ".orcm")


def _reads(insn: Insn) -> int:
    """What an instruction reads for more than itself: a parallel compare leaves its targets or
    joins a condition to them, so that they depend on what they were, and nothing else does."""
    targets = TABLE.defs(insn) if insn.name.endswith(_PARALLEL) else 0
    return TABLE.uses(insn) & ~(targets & ~(1 << insn.operand(QP.name) if targets else 0))


def _kills(insn: Insn) -> int:
    """What an instruction sets whenever it executes: not what it sets at times only."""
    name = insn.name
    partly = name.endswith(_PARALLEL) or ".c." in name
    return 0 if partly or insn.has(MASK17.name) else TABLE.defs(insn)


def _ends(function: Function) -> tuple[int, int]:
    return function.start, function.end


def is_under(insn: Insn) -> bool:
    """Whether an instruction is predicated."""
    return insn.has(QP.name) and insn.operand(QP.name) != PR


def beyond(insn: Insn) -> int:
    """What may be read beyond a call or a return, by the calling standard."""
    if insn.op.flow is Flow.RETURN:
        return EVERYTHING & ~_SCRATCH & ~_STACKED & ~_GP
    return EVERYTHING & ~(_SCRATCH & ~_CHAIN)
