"""What a run did, slot by slot: for the timing model, for proofs by trial, and for people."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.core.isa.instruction import Insn


@dataclass(slots=True, unsafe_hash=True)
class Executed:
    """One slot that control passed.

    `address` is the bundle's with the slot's number added; `on` is the qualifying predicate;
    `access` is the address of a load or store, `size` in bytes, zero for a prefetch; `target` is
    the bundle that a taken branch went to; `stop` says that a stop follows in the text.

    Nobody changes one; a class that sees to that takes twice as long to make one.
    """

    address: int
    insn: Insn
    stop: bool
    on: bool
    access: int | None = None
    size: int = 0
    store: bool = False
    target: int | None = None
