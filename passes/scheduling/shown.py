"""That straight code in another order does the same, shown twice.

Once with what the instructions mean: both orders are executed symbolically and compared at every
exit.  Once for any meaning: each instruction is an unknown function of what it reads
(`rewriter/verify/regions`).  The two have nothing in common but the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rewriter.core.code.dataflow import run, written
from rewriter.core.code.superblock import Superblock
from rewriter.core.edit import Evidence, Grade
from rewriter.core.target.protocol import Sequential
from rewriter.verify.regions.derived import Orders
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.equivalence import Comparison, Different


@dataclass
class Shown:
    """Compares orders of one program's code; `devices` says that accesses may be to a device."""

    target: Sequential
    prover: Prover
    devices: bool = False
    reordered: Orders = field(init=False)

    def __post_init__(self) -> None:
        self.reordered = Orders(self.target, self.devices)

    def evidence(self, old: Superblock, new: Superblock) -> Evidence:
        """That a superblock does what the old one does, by both; raises Different.

        What stands before all that changed places may be needed for that, and mostly is not.
        """
        try:
            return self._by_both(*changed(old, new))
        except Different:
            return self._by_both(old, new)

    def _by_both(self, old: Superblock, new: Superblock) -> Evidence:
        found = self.with_meanings(old, new)
        self.for_any_meaning(old, new)
        return found

    def with_meanings(self, old: Superblock, new: Superblock) -> Evidence:
        """Both are executed on terms and compared where control leaves; raises Different."""
        table = self.target.table
        with table.terms() as terms:
            before, after = (
                run(table, terms, one.insns, one.addresses(), [slot for slot, _ in one.leaving])
                for one in (old, new)
            )
            if len(old.leaving) != len(new.leaving):
                raise Different("control leaves at another number of places")
            changed = written(table, old.insns) | written(table, new.insns)
            comparison = Comparison(self.prover, terms, table.register_names)
            for (slot, live), (other, _) in zip(old.leaving, new.leaving, strict=True):
                comparison.check(before.exits[slot], after.exits[other], live & changed)
            return Evidence(Grade.PROVED, (), tuple(sorted(comparison.patterns)))

    def for_any_meaning(self, old: Superblock, new: Superblock) -> None:
        """Each instruction is an unknown function of what it reads; raises Different."""
        before, after = (list(zip(s.addresses(), s.insns, strict=True)) for s in (old, new))
        reason = self.reordered.objection(before, after, old.live, old.exits)
        if reason:
            raise Different(f"any meaning: {reason}")


def changed(old: Superblock, new: Superblock) -> tuple[Superblock, Superblock]:
    """The stretch outside of which two orders are the same; any register may be read behind it.

    It ends with no exit, unless the whole does.
    """
    pairs = [*zip(old.slots, new.slots, strict=True)]
    differing = [number for number, (one, other) in enumerate(pairs) if one != other] or [0]
    first, last, end = differing[0], differing[-1], len(pairs) - 1
    while last < end and any(slot.address in old.exits for slot in pairs[last]):
        last += 1
    inside = {slot.address for slot in old.slots[first:last]}
    exits = {address: live for address, live in old.exits.items() if address in inside}
    live = old.live if last == end else -1
    before, after = (
        replace(one, slots=one.slots[first : last + 1], live=live, exits=exits)
        for one in (old, new)
    )
    return before, after
