"""Instructions that were not there before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from passes.lib.insert import Declined, Finder, Inserted, Insertion
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit
from rewriter.core.isa.instruction import Insn
from rewriter.core.run.ledger import charged
from rewriter.road.work import Work, edit_id


@dataclass(frozen=True)
class Insertions:
    """Inserts where passes, by name, ask for it; `moves` says that a new layout can make room."""

    work: Work
    finders: Mapping[str, Finder]
    moves: bool

    def run(self, function: Function) -> None:
        """Every pass over one function, each on what the one before left."""
        for name, found in self.finders.items():
            slots = self.work.slots.setdefault(function, {})
            for site in charged(name, found(function, slots)):
                edit = edit_id(name, function, site.address)
                if self.work.wants(edit):
                    self._one(function, name, edit, site, slots)

    def _one(
        self,
        function: Function,
        name: str,
        edit: str,
        found: Insertion | Declined,
        slots: dict[int, Insn | None],
    ) -> None:
        work = self.work
        reason = found.reason if isinstance(found, Declined) else self._refusal(function, found)
        if isinstance(found, Declined) or reason:
            work.leave(name, found.kind, function, found.address, reason)
            return
        old = work.program.listing.insn(work.program.listing.index(found.address))
        before = slots.get(found.address, old)
        work.inserted.setdefault(function, Inserted(slots)).put(edit, found, before)
        work.edits.append(self._edit(function, name, edit, found, before))

    def _refusal(self, function: Function, found: Insertion) -> str:
        if found.added and not self.moves:
            return "no room without a new layout"
        inserted = self.work.inserted.get(function)
        if inserted is None:
            return ""
        taken = found.added.keys() & inserted.added.keys() or inserted.within(found.passed)
        return "something else was inserted there" if taken else ""

    def _edit(
        self, function: Function, name: str, edit: str, found: Insertion, before: Insn | None
    ) -> Edit:
        program, target = self.work.program, self.work.program.target
        stood = before is not None and not program.is_nop(found.address, before)
        was = [before] if before is not None and stood else []
        was += [insn for _, insn, _ in found.moved[1:]]
        listing = program.listing
        went = (listing.insn(listing.index(address)) for address in found.gone)
        was += [insn for insn in went if insn is not None]
        return Edit(
            id=edit,
            technique=name,
            kind=found.kind,
            routine=function.name,
            address=found.address,
            old="; ".join(map(target.table.text, was)),
            new="; ".join(self._texts(found)),
            evidence=found.evidence,
            gain=len(was) - len(found.insns) - len(found.moved),
            cycles=found.saves,
        )

    def _texts(self, found: Insertion) -> Iterator[str]:
        """What is inserted, with where it leads: what is added has a label, not yet an address."""
        table, listing = self.work.program.target.table, self.work.program.listing
        yield from (f"{table.text(insn)} behind the branch" for _, insn, _ in found.moved)
        for n, insn in enumerate(found.insns):
            goal = insn.target(found.address + n)
            if goal is None:
                yield table.text(insn)
            elif listing.has(goal):
                yield table.text(insn, found.address + n)
            else:
                yield table.text(insn, found.address + n).replace(f"{goal:x}", "1f")
