"""Capabilities of targets: what is said where one is needed and not offered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from rewriter.core.errors import BadInput

if TYPE_CHECKING:
    from rewriter.core.trials import Trials

_Capability = TypeVar("_Capability")


class Named(Protocol):
    """A target."""

    @property
    def name(self) -> str: ...


class Tried(Protocol):
    """A target whose routines may be tried."""

    @property
    def trials(self) -> Trials | None: ...


def needed(capability: _Capability | None, what: str, target: Named, file: str) -> _Capability:
    """A capability without which something is not done to a file; BadInput where it is None."""
    if capability is None:
        raise BadInput(f"{file}: {what} is not done for {target.name}")
    return capability


def trials_of(target: Tried) -> Trials:
    """A target's trials, where only routines that can be tried are asked about."""
    assert target.trials is not None, "asked whether there are trials"
    return target.trials
