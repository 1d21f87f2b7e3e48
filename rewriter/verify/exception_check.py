"""The exception tables of an old and a new kernel, entry by entry.

What is looked at is only what the two files hold: that every new entry names an instruction and
another to go on at, in one function, that no instruction has two, and that each entry that changed
goes with code that was walked and does the same (`Walk.resumed`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from rewriter.analysis.program import Program
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Fixup, Function
from rewriter.elf.image import Image

_NOTHING: Mapping[int, Function | None] = MappingProxyType({})


class FixupTables:
    """The entries of two files; `new` are those of the new one, by the access that may fault."""

    def __init__(
        self, program: Program, image: Image, replaced: Mapping[int, Function | None] = _NOTHING
    ) -> None:
        """`replaced` are accesses of routines that stand for others, with the function given up.

        Their entries are met by `given_up` and by the trial.
        """
        target = program.target
        self.program, self.replaced = program, replaced
        self.size = target.tables.exceptions.size
        self.before = {fixup.entry: fixup for fixup in target.tables.exceptions.read(program.image)}
        self.after = {fixup.entry: fixup for fixup in target.tables.exceptions.read(image)}
        self.new = {fixup.access: fixup for fixup in self.after.values()}
        self.changed = [
            entry
            for entry in sorted(self.before.keys() | self.after.keys())
            if self.before.get(entry) != self.after.get(entry)
        ]
        self._of: dict[Function, list[int]] = {}
        for entry in self.changed:
            owners = (self._owner(fixup) for fixup in self._both(entry) if fixup is not None)
            for owner in dict.fromkeys(owners):
                if owner is not None:
                    self._of.setdefault(owner, []).append(entry)

    def problems(self, listing: Listing) -> Iterator[str]:
        """What is wrong with the new table by itself; `listing` is the new file's text."""
        accesses = [fixup.access for fixup in self.after.values()]
        if self.program.target.tables.exceptions.sorted:
            if accesses != sorted(accesses):
                yield "the exception table is not in order"
            for entry in sorted(self.before.keys() - self.after.keys()):
                yield f"the exception entry at {entry:#x} is for nothing, in a table in order"
        times = Counter(accesses)
        for entry in self.changed:
            fixup = self.after.get(entry)
            if fixup is None:
                continue
            where = f"the exception entry at {entry:#x}"
            if times[fixup.access] > 1:
                yield f"{where} is not the only one for {fixup.access:#x}"
            if fixup.access in self.replaced:
                if fixup.sets:
                    yield f"{where} sets a register"
                continue
            if not _is_code(listing, fixup.access):
                yield f"{where} names no instruction, but {fixup.access:#x}"
            if not _is_code(listing, fixup.resume):
                yield f"{where} resumes at no instruction, but {fixup.resume:#x}"
            old = self.before.get(entry)
            if old is None or self._owner(old) != self._owner(fixup):
                yield f"{where} is for another function now"

    def functions(self) -> list[Function]:
        """The functions with an entry that changed, in the old or the new file."""
        return list(self._of)

    def compare(
        self, function: Function, resumed: Collection[tuple[Fixup, Fixup]]
    ) -> tuple[set[int], list[str]]:
        """The bytes of a walked function's entries that do the same, and what is wrong."""
        shown, findings = set[int](), list[str]()
        old = {fixup.entry for fixup, _ in resumed}
        new = {fixup.entry for _, fixup in resumed}
        for entry in self._of.get(function, ()):
            before, after = self._both(entry)
            if after is not None and after.access in self.replaced:
                after = None
            named = before or after
            if named is None or self._owner(named) != function:
                continue
            if (before is None or entry in old) and (after is None or entry in new):
                shown.update(range(entry, entry + self.size))
            else:
                findings.append(f"{function.name}: the exception entry at {entry:#x} is not met")
        return shown, findings

    def given_up(self, function: Function) -> tuple[set[int], list[str]]:
        """The bytes of the entries of a routine that another stands for; findings where it stays.

        They are dead now, or those of routines that stand for others.
        """
        shown, findings = set[int](), list[str]()
        for entry in self._of.get(function, ()):
            before, after = self._both(entry)
            if before is None or self._owner(before) != function:
                continue
            free = function in self.replaced.values()
            if free and (after is None or after.access in self.replaced):
                shown.update(range(entry, entry + self.size))
            else:
                findings.append(f"{function.name}: the exception entry at {entry:#x} is not met")
        return shown, findings

    def _both(self, entry: int) -> tuple[Fixup | None, Fixup | None]:
        """What an entry was, and what it is."""
        return self.before.get(entry), self.after.get(entry)

    def _owner(self, fixup: Fixup) -> Function | None:
        return self.program.function_at(fixup.access)


def _is_code(listing: Listing, address: int) -> bool:
    """Whether an instruction stands at an address."""
    return listing.has(address) and listing.insn(listing.index(address)) is not None
