"""Capabilities of targets: what is said where one is needed and not offered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from rewriter.core.errors import BadInput

if TYPE_CHECKING:
    from rewriter.core.target.bundling import Bundling
    from rewriter.core.target.protocol import Sequential, Target
    from rewriter.core.trials import Trials

_Capability = TypeVar("_Capability")
_Bundled = TypeVar("_Bundled")
_Other = TypeVar("_Other")


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


def either(
    target: Target,
    what: str,
    file: str,
    *,
    bundled: Callable[[Bundling], _Bundled],
    sequential: Callable[[Sequential], _Other],
) -> _Bundled | _Other:
    """What is made of a file by the road that its code takes; nothing else asks which that is.

    Code whose text says what issues together takes the `bundled` one, all else the `sequential`
    one; BadInput where the target offers neither.
    """
    if target.bundling is not None:
        return bundled(target.bundling)
    return sequential(needed(target.sequential, what, target, file))


def trials_of(target: Tried) -> Trials:
    """A target's trials, where only routines that can be tried are asked about."""
    assert target.trials is not None, "asked whether there are trials"
    return target.trials
