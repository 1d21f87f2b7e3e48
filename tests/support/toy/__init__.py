"""A throw-away target: 32 big-endian registers, conditions in a register, accesses anywhere.

It stands on the shared floors like every other, without a line of them changed for it.

cpus    Two CPUs, and the machine around them
isa     Its instructions and what they do
source  Programs: text to words, words to an ELF file
target  What the floors above ask of it
"""

from __future__ import annotations

import pytest

import targets
from rewriter.core.target.ident import Ident
from targets import Family
from tests.support.toy.source import MACHINE
from tests.support.toy.target import Toy

IDENT = Ident(MACHINE, 32, "big")


def register(monkeypatch: pytest.MonkeyPatch) -> Toy:
    """Makes the toy one of the targets for the length of a test."""
    toy = Toy()
    family = Family(IDENT, toy.fits, lambda ident: toy)
    monkeypatch.setattr(targets, "_FAMILIES", (*targets._FAMILIES, family))
    return toy
