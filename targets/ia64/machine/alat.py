"""The advanced load address table: which advanced loads are still as good as a load now.

An entry may vanish at any time (SDM vol. 1, 4.4.5.2): programs must be right whether it is there or
not.  A policy says which outcome a check sees when the entry is there.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, field
from random import Random


class Policy(metaclass=ABCMeta):
    """Whether an entry that nothing invalidated is still there at a check."""

    @abstractmethod
    def keeps(self) -> bool:
        """Asked once a check."""


class KeepAll(Policy):
    """An entry stays until a store or a check removes it."""

    def keeps(self) -> bool:
        return True


class DropAll(Policy):
    """No entry survives until its check."""

    def keeps(self) -> bool:
        return False


class Seeded(Policy):
    """Entries are lost at random, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def keeps(self) -> bool:
        return self._random.random() < 0.5


@dataclass
class Alat:
    """Entries by physical register: address and size in bytes of what was loaded."""

    policy: Policy
    entries: dict[int, tuple[int, int]] = field(default_factory=dict)

    def enter(self, register: int, address: int, size: int) -> None:
        """An advanced load of `size` bytes into a physical register."""
        self.entries[register] = address, size

    def check(self, register: int, clear: bool) -> bool:
        """Whether the register's entry is there; a check that clears takes it out."""
        found = register in self.entries and self.policy.keeps()
        if clear or not found:
            self.entries.pop(register, None)
        return found

    def stored(self, address: int, size: int) -> None:
        """A store: the entries that it overlaps go."""
        if self.entries:
            gone = [
                register
                for register, (start, length) in self.entries.items()
                if start < address + size and address < start + length
            ]
            for register in gone:
                del self.entries[register]
