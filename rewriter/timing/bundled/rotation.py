"""Which register is behind a name where registers rotate."""

from __future__ import annotations

from rewriter.core.target.bundled_cpu import BundledTraits, Rotating


class Rotation:
    """How far the rotating registers have moved, and how many of each file do."""

    def __init__(self, files: tuple[Rotating, ...]) -> None:
        self._files = files
        self._framed = 0
        self._moved = 0

    def behind(self, register: int) -> int:
        """The register that a name stands for now."""
        for file in self._files:
            count = file.count or self._framed
            if file.first <= register < file.first + count:
                return file.first + (register - file.first - self._moved) % count
        return register

    def after(self, traits: BundledTraits) -> None:
        """The instruction was executed."""
        if traits.frame is not None:
            self._framed = traits.frame
        if traits.rotates:
            self._moved += 1
