"""Whether the groups of a reordered region may stand, given those of the original.

What a processor leaves undefined is not allowed in the new code unless the same two instructions
stood so in the old.  Two instructions whose predicates are never both true do not clash.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from sys import maxsize

from rewriter.core.code.transfer import Clash, How, Provable
from rewriter.verify.regions.code import Code, Group, Step
from rewriter.verify.regions.terms import Term, Terms


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, at the slot at `at`."""

    at: int
    why: str


@dataclass(frozen=True, slots=True)
class Executed:
    """A slot's condition, and behind how many places where control may leave it stands.

    A slot that is not part of what is executed has no condition, and stands behind them all.
    """

    guard: Term | None
    exits: int


_ELSEWHERE = Executed(None, maxsize)


@dataclass(frozen=True, slots=True)
class Clashing:
    """Two instructions of the group of a number that clash."""

    group: int
    first: Step
    second: Step
    clash: Clash

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it the same in old and new code."""
        return (
            self.clash.hazard,
            self.clash.register,
            self.first.slot.insn,
            self.second.slot.insn,
        )

    def executed(self, said: Mapping[int, Executed]) -> tuple[Executed, Executed]:
        """The same of both instructions, from what is known of each address."""
        return (
            said.get(self.first.slot.address, _ELSEWHERE),
            said.get(self.second.slot.address, _ELSEWHERE),
        )

    @property
    def is_excused(self) -> bool:
        """Whether it is none if the two predicates are not both true.

        It is one all the same if the register is written, or read as a predicate, under any.
        """
        register = self.clash.register
        fixed = any(
            result.register == register and result.how is How.ALWAYS
            for step in (self.first, self.second)
            for result in step.transfer.results
        )
        return not (self.clash.certain or fixed or self.second.transfer.guard == register)

    @property
    def is_exclusion(self) -> bool:
        """Whether code that may be taken for legal shows by it that never both execute."""
        return self.is_excused and self.clash.exact


def clashes(target: Provable, code: Code) -> list[Clashing]:
    """The clashes of a region; the target is asked only where there may be one."""
    found = []
    for number, group in enumerate(code.whole_groups):
        for clash in _clashes(target, group):
            found.append(Clashing(number, group[clash.first], group[clash.second], clash))
    return found


def _clashes(target: Provable, group: Group) -> Iterable[Clash]:
    written = 0
    for _, transfer in group:
        leaves = transfer.exit
        if (transfer.uses | transfer.defs) & written or (leaves and not leaves.certain):
            return target.clashes([step.slot.insn for step in group])
        written |= transfer.defs
    return ()


def illegal(
    target: Provable,
    old: list[Clashing],
    new: list[Clashing],
    terms: Terms,
    before: Mapping[int, Executed],
    after: Mapping[int, Executed],
) -> Iterator[Fault]:
    """Clashes of the new code that the original did not have and that can happen.

    One that it had is under the same conditions, and behind no fewer places where control leaves.
    """
    accepted: dict[Hashable, int] = {}
    for each in old:
        first, second = each.executed(before)
        key = each.key, first.guard, second.guard
        accepted[key] = min(second.exits, accepted.get(key, maxsize))
    for each in new:
        first, second = each.executed(after)
        a, b = first.guard, second.guard
        if second.exits >= accepted.get((each.key, a, b), maxsize + 1):
            continue
        at = each.second.slot.address
        if not each.is_excused or a is None or b is None or not terms.exclusive(a, b):
            name = target.register_names[each.clash.register]
            yield Fault(at, f"{each.clash.hazard.value} of {name} within an instruction group")


def misplaced(target: Provable, old: Code, new: Code) -> Iterator[Fault]:
    """Instructions that must not stand where they do, in the new code alone."""
    for slot, why in target.misshapen(new.region.slots):
        yield Fault(slot.address, why)
    wrong = list(_misplaced(target, new))
    if wrong:
        same = {(step.slot.insn, why) for step, why in _misplaced(target, old)}
        for step, why in wrong:
            if (step.slot.insn, why) not in same:
                yield Fault(step.slot.address, why)


def _misplaced(target: Provable, code: Code) -> Iterator[tuple[Step, str]]:
    idle = list(code.region.idle)
    for group in code.whole_groups:
        for step in group:
            if step.transfer.wrong:
                yield step, step.transfer.wrong
        if any(step.transfer.is_ruled for step in group):
            for number, why in target.misplaced([*idle, *[step.slot for step in group]]):
                yield group[number - len(idle)], why
        idle = []


def outside(target: Provable, old: Code, new: Code) -> Iterator[Fault]:
    """Registers that the original does not show to be in the frame.

    Those below one that the original names there, before control may leave again, are; where a
    frame begins is compared as well.
    """
    shown: dict[int, int] = {}
    every: dict[tuple[int, int], int] = {}
    for top in _tops(target, old):
        shown[top.frame] = max(shown.get(top.frame, 0), top.register)
        every[top.frame, top.exits] = shown[top.frame]
    for top in _tops(target, new):
        if top.register > every.get((top.frame, top.exits), 0):
            yield Fault(top.at, f"{target.register_names[top.register]} may be outside the frame")


@dataclass(frozen=True, slots=True)
class _Top:
    """The highest register named in a frame, 0 for none, between two places where control may
    leave, and an address where."""

    frame: int
    exits: int
    register: int
    at: int


def _tops(target: Provable, code: Code) -> Iterator[_Top]:
    frame = exits = 0
    highest, at = 0, code.region.slots[0].address
    for slot, transfer in (step for group in code.groups for step in group):
        if transfer.is_early:
            yield _Top(frame, exits, highest, at)
            frame, highest, at = frame + 1, 0, slot.address
        named = (transfer.uses | transfer.defs) & target.framed
        highest, at = max((highest, at), (named.bit_length() - 1, slot.address))
        if transfer.exit is not None:
            yield _Top(frame, exits, highest, at)
            exits, highest, at = exits + 1, 0, slot.address
    yield _Top(frame, exits, highest, at)
