"""Capabilities of targets: what is said where one is needed and not offered."""

from __future__ import annotations

from typing import Protocol, TypeVar

from rewriter.core.errors import BadInput

_Capability = TypeVar("_Capability")


class Named(Protocol):
    """A target."""

    @property
    def name(self) -> str: ...


def needed(capability: _Capability | None, what: str, target: Named, file: str) -> _Capability:
    """A capability without which something is not done to a file; BadInput where it is None."""
    if capability is None:
        raise BadInput(f"{file}: {what} is not done for {target.name}")
    return capability
