"""Two boots, to be looked at: how they ended, where they differ, what they executed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from rewriter.core.errors import VerificationFailed
from rewriter.core.plural import counted
from rewriter.difftest.boot.compare import Tried
from rewriter.difftest.boot.kernel import FIRMWARE, KERNEL, USER, WAIT
from rewriter.difftest.boot.machine import Boot
from rewriter.difftest.case import Case, Comparison, Verdict
from rewriter.elf.headers import printable
from rewriter.report.difftest import document
from rewriter.report.grid import Grid

_OWNERS = (KERNEL, WAIT, USER, FIRMWARE)


class Rule(Protocol):
    """What a report says of a rule for volatile lines."""

    @property
    def name(self) -> str: ...
    @property
    def why(self) -> str: ...


@dataclass(frozen=True)
class Booted:
    """What `retune difftest boot` found; `rules` are all that were tried on the consoles."""

    tried: Tried
    rules: tuple[Rule, ...]

    @property
    def return_code(self) -> int:
        """0 when both do the same, else 1."""
        return 0 if self.tried.same else VerificationFailed.exit_code

    @property
    def verdict(self) -> str:
        """What speaks against a new kernel that does not do the same."""
        old, new = self.tried.old, self.tried.new
        differs = f"prints something else than {old.kernel}"
        return differs if new.ending is old.ending else new.account

    @property
    def comparison(self) -> Comparison:
        """The same in the form of every differential test."""
        old, new = self.tried.old, self.tried.new
        verdict = Verdict.SAME if self.tried.same else Verdict.DIFFERS
        detail = "" if self.tried.same else self.verdict
        executed = None
        if old.executed is not None and new.executed is not None:
            executed = sum(old.executed.values()), sum(new.executed.values())
        seconds = old.seconds, new.seconds
        case = Case("boot", verdict, detail, self.tried.difference, (), seconds, executed)
        return Comparison("boot", old.kernel, new.kernel, (case,))

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs; `seconds` are the host's.

        As for every differential test, but `old` and `new` say how each boot went.
        """
        tried = self.tried
        return document(self.comparison) | {
            "same": tried.same,
            "old": _boot(tried.old),
            "new": _boot(tried.new),
            "difference": list(tried.difference),
            "lines": len(tried.consoles[0].ordered) + sum(tried.consoles[0].unordered.values()),
            "volatile": {rule.name: list(self._used(rule.name)) for rule in self.rules},
            "not_counted": tried.not_counted or None,
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """How each ended, the first difference, what was executed."""
        tried = self.tried
        for which, boot in (("old", tried.old), ("new", tried.new)):
            yield f"{which}: {boot.kernel}: {boot.ending.value} after {boot.seconds:.1f} s"
        if tried.difference:
            yield "console: differs (- old, + new, * not compared)"
            yield from (printable(line) for line in tried.difference)
        else:
            console = tried.consoles[0]
            number = counted(len(console.ordered), "line")
            yield f"console: the same, {number} in order, {sum(console.unordered.values())} in any"
        if verbosity > 0:
            yield from self._volatile()
        yield from self._executed()

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same: the difference is text already."""
        yield from self.lines(verbosity)

    def _volatile(self) -> Iterator[str]:
        for rule in self.rules:
            if any(self._used(rule.name)):
                old, new = self._used(rule.name)
                yield f"volatile, {rule.name}: {old} old, {new} new: {rule.why}"

    def _used(self, name: str) -> tuple[int, int]:
        old, new = (console.used.get(name, 0) for console in self.tried.consoles)
        return old, new

    def _executed(self) -> Iterator[str]:
        old, new = self.tried.old.executed, self.tried.new.executed
        if old is None or new is None:
            why = self.tried.not_counted or "a boot was cut off"
            yield f"executed instructions: not counted: {why}"
            return
        for owner in _OWNERS:
            if old.get(owner, 0):
                before, after = old[owner], new.get(owner, 0)
                yield f"executed, {owner}: {before}, {after} = {after / before:.4f}"


def _boot(boot: Boot) -> dict[str, Any]:
    return {
        "kernel": boot.kernel,
        "ending": boot.ending.value,
        "seconds": round(boot.seconds, 3),
        "executed": dict(boot.executed) if boot.executed is not None else None,
        "last": boot.last,
    }
