"""Runs IA-64 code group by group.

Slots are executed in order, their effects at once.  In a group that the architecture allows that is
the same as reading everything before writing anything: a later slot may not read or write what an
earlier one wrote, but for the exceptions in `groups`, in which it does see the new value.  So what
must be watched is that the group is allowed, among the slots whose predicates are true now; where
it is not, `GroupViolation` is raised and nothing is made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.interpret import BadInstruction, LimitReached, Memory
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.formats import FIRST, LAST, SLOT2, SlotOp
from targets.ia64.isa.groups import Violation, read, violations
from targets.ia64.isa.rows import TABLE
from targets.ia64.machine.alat import Alat, KeepAll, Policy
from targets.ia64.machine.faults import GroupViolation, IllegalOperation
from targets.ia64.machine.state import STACKED, State
from targets.ia64.machine.trace import Executed
from targets.ia64.meanings import bound, bound_off, qualifier
from targets.ia64.registers import FR, NAMES

_FRAME = sum(1 << number for number in range(STACKED, FR))


@dataclass(frozen=True, slots=True)
class _Slot:
    """An instruction ready to run.

    `touched` and `written` are register masks, `watched` what it touches although its predicate is
    false; `top` is the stacked register of the highest number in it; `place` says where in a group
    it must stand, unless it does.
    """

    insn: Insn
    stop: bool
    following: int
    qp: int
    does: Callable[[State], None]
    off: Callable[[State], None] | None
    touched: int
    watched: int
    written: int
    top: int
    place: str
    plain: Executed
    skipped: Executed


class Processor:
    """A state and its code, run from an address to an address.

    `state` may be changed between runs.  After an exception `state.pc` is the slot that raised it
    (the bundle's address and the slot's number), with registers and memory as before it.  Code is
    decoded once per address: it must not change.
    """

    def __init__(self, memory: Memory, backing: int, policy: Policy | None = None) -> None:
        self.state = State(memory, Alat(policy or KeepAll()), backing)
        self._slots: dict[int, _Slot] = {}
        self._clashes: dict[tuple[int, int], tuple[Violation, ...]] = {}

    def run(self, start: int, stop: int, limit: int = 1_000_000) -> list[Executed]:
        """All slots from `start` until control reaches `stop`; see `steps` for what it raises."""
        return list(self.steps(start, stop, limit))

    def steps(self, start: int, stop: int, limit: int = 1_000_000) -> Iterator[Executed]:
        """Executes, and yields what was done, until control reaches the bundle at `stop`.

        Raises what `faults` names, and LimitReached after `limit` slots.
        """
        state, slots = self.state, self._slots
        registers = state.r
        group: list[int] = []
        written = 0
        first = pc = start
        for _ in range(limit):
            if pc == stop:
                return
            state.pc = pc
            slot = slots.get(pc) or self._decode(pc)
            if slot.place and (slot.place != FIRST or pc != first):
                raise IllegalOperation(f"{slot.insn.name} at {pc:#x} is not {slot.place}")
            on = registers[slot.qp]
            does, touched = (slot.does, slot.touched) if on else (slot.off, slot.watched)
            if written & touched:
                self._judge(group, pc, touched)
            if on and slot.top >= STACKED + state.frame.sof:
                raise IllegalOperation(f"{NAMES[slot.top]} at {pc:#x} is outside the frame")
            state.target = state.access = None
            if does:
                does(state)
            target = state.target
            following = slot.following if target is None else target
            if slot.stop or target is not None:
                written, group, first = 0, [], following
            elif does:
                written |= slot.written
                group.append(pc)
            pc = following
            if target is None and state.access is None:
                yield slot.plain if on else slot.skipped
            else:
                yield _done(slot.plain, state)
        if pc != stop:
            raise LimitReached(pc, limit)

    def _judge(self, group: list[int], pc: int, touched: int) -> None:
        """Raises GroupViolation if an executed slot of the group clashes with the one at `pc`,
        over what that one touches."""
        for address in group:
            found = self._clashes.get((address, pc))
            if found is None:
                pair = self._slots[address].insn, self._slots[pc].insn
                found = self._clashes[address, pc] = tuple(violations(pair))
            for clash in found:
                if touched >> clash.register & 1:
                    raise GroupViolation(address, pc, clash, NAMES[clash.register])

    def _decode(self, pc: int) -> _Slot:
        """Decodes the bundle of `pc` into slots."""
        start = pc & -BUNDLE
        raw = self.state.memory.fetch(start, BUNDLE)
        try:
            self.adopt(list(bundles.straight(raw, start)), start + BUNDLE)
        except ValueError:
            raise BadInstruction(pc, int.from_bytes(raw, "little")) from None
        return self._slots[pc]

    def adopt(self, slots: Sequence[Slot], end: int) -> None:
        """Takes slots that follow each other as code, whatever memory holds; `end` follows."""
        addresses = [*(slot.address for slot in slots[1:]), end]
        for slot, following in zip(slots, addresses, strict=True):
            self._slots[slot.address] = _ready(slot.address, slot.insn, slot.stop, following)


def _ready(address: int, insn: Insn, stop: bool, following: int) -> _Slot:
    uses, defs = read(insn), TABLE.defs(insn)
    qp = qualifier(insn)
    off = bound_off(insn, address)
    return _Slot(
        insn,
        stop,
        following,
        qp,
        bound(insn, address),
        off,
        uses | defs,
        1 << qp | (defs if off else 0),
        defs,
        -1 if insn.name == "alloc" else ((uses | defs) & _FRAME).bit_length() - 1,
        _place(address, insn, stop),
        Executed(address, insn, stop, True),
        Executed(address, insn, stop, False),
    )


def _place(address: int, insn: Insn, stop: bool) -> str:
    """The rule for its place that the instruction may break: always, or (FIRST) by what is before
    it."""
    assert isinstance(insn.op, SlotOp)
    rules = insn.op.rules
    if LAST in rules and not stop:
        return LAST
    if SLOT2 in rules and address % BUNDLE != SLOTS - 1:
        return SLOT2
    return FIRST if FIRST in rules else ""


def _done(plain: Executed, state: State) -> Executed:
    size, stored = (state.size, state.stored) if state.access is not None else (0, False)
    return Executed(
        plain.address, plain.insn, plain.stop, True, state.access, size, stored, state.target
    )
