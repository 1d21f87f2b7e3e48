"""Where control goes after an instruction."""

from __future__ import annotations

from enum import Enum


class To(Enum):
    """Where a transfer of control leads when it is taken."""

    NEXT = "the next instruction"
    PLACE = "an encoded target"
    REGISTER = "where a register says"
    CALLER = "where the function was called from"
    SYSTEM = "the system, which comes back"
    NOWHERE = "it never comes back"


class Flow(Enum):
    """Where control goes after an instruction: where to, whether always, and what it leaves.

    One that is `conditional` goes on at the next instruction where its condition does not hold;
    which operands and registers make the condition its row's meaning says.  One that `links`
    leaves the address of the next instruction in a register, whether it is taken or not.
    """

    NEXT = (To.NEXT,)
    HERE = (To.NEXT, False, True)  # no call: code asks where it stands
    BRANCH = (To.PLACE, True)
    JUMP = (To.PLACE,)
    CALL = (To.PLACE, False, True)
    CALL_IF = (To.PLACE, True, True)
    INDIRECT = (To.REGISTER,)
    INDIRECT_IF = (To.REGISTER, True)
    INDIRECT_CALL = (To.REGISTER, False, True)
    INDIRECT_CALL_IF = (To.REGISTER, True, True)
    RETURN = (To.CALLER,)
    RETURN_IF = (To.CALLER, True)
    TRAP = (To.SYSTEM,)  # unless data is behind it
    STOP = (To.NOWHERE,)

    __hash__ = object.__hash__  # each is there once: an `Enum`'s own goes by its name, and is slow

    def __init__(self, to: To, conditional: bool = False, links: bool = False) -> None:
        self.to, self.conditional, self.links = to, conditional, links

    @property
    def calls(self) -> bool:
        """Whether it leads to a function that comes back."""
        return self.links and self.to is not To.NEXT

    @property
    def falls(self) -> bool:
        """Whether control may go on at the next instruction without having been elsewhere."""
        return self.conditional or self.to is To.NEXT


CALLS = frozenset(flow for flow in Flow if flow.calls)
"""Flows that call a function."""

COMING_BACK = CALLS | {Flow.TRAP}
"""Flows behind which control goes on after it was in code that is not seen there."""

FALLING = frozenset(flow for flow in Flow if flow.falls)
"""Flows after which the next instruction may be executed at once."""

STRAIGHT = frozenset(flow for flow in FALLING if not flow.links)
"""Flows in the middle of straight code: where they are taken is a side exit of it."""

AWAY = frozenset(Flow) - FALLING - COMING_BACK
"""Flows behind which control does not go on."""


def leading(to: To) -> frozenset[Flow]:
    """Flows that lead there when they are taken."""
    return frozenset(flow for flow in Flow if flow.to is to)


BRANCHING = leading(To.PLACE) - CALLS
"""Flows that go to an encoded target and do not come back."""
