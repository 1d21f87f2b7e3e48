"""Packages retuned by a policy, and what became of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewriter.batch.files import journal as journals
from rewriter.batch.find import Root, known_ident
from rewriter.batch.fingerprint import fingerprint
from rewriter.batch.policy import IGNORE, REFUSE, Policy
from rewriter.batch.summary import Summary
from rewriter.core.errors import BadInput, BadUsage, VerificationFailed
from rewriter.core.plural import counted
from rewriter.elf.headers import printable
from rewriter.packages import debian, resumed
from rewriter.packages.batch import FAILED, REFUSED, Result, Tree, folder, run
from rewriter.report.grid import Grid, in_order

Engine = Callable[..., Summary]
"""`rewriter.batch.engine.run`, with what is the same for all."""


@dataclass(frozen=True)
class PackageSummary:
    """What became of packages, and of the files in them."""

    packages: tuple[Result, ...]
    files: Summary = field(default_factory=Summary)

    @property
    def return_code(self) -> int:
        """As for trees; 1 where a package failed; 3 where one was refused and no file failed."""
        if any(one.status == FAILED for one in self.packages):
            return VerificationFailed.exit_code
        refused = any(one.status == REFUSED for one in self.packages)
        code = self.files.return_code
        return BadInput.exit_code if refused and code != 1 else code

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        each = [
            {
                "path": str(one.path), "status": one.status, "files": one.files,
                "output": None if one.output is None else str(one.output), "reason": one.reason,
                "warning": one.warning,
            }
            for one in self.packages
        ]  # fmt: skip
        return {**self.files.as_json(), "return_code": self.return_code, "packages": each}

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """The packages that want a look, or all; the files; how many packages."""
        for one in self.packages:
            if verbosity > 0 or one.status in (REFUSED, FAILED):
                name = printable(str(one.path if one.output is None else one.output))
                files = f"{counted(one.files, 'file')} of it" if one.files else ""
                said = one.reason or files
                yield ": ".join(filter(None, (one.status, name, printable(said))))
        yield from (f"warning: {printable(one.warning)}" for one in self.packages if one.warning)
        yield from self.files.lines(verbosity)
        counts = Counter(one.status for one in self.packages)
        every = ", ".join(f"{number} {status}" for status, number in in_order(counts).items())
        yield f"{counted(len(self.packages), 'package')}: {every}"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same: there is nothing here that a table would make clearer."""
        yield from self.lines(verbosity)


def retuned(
    paths: Sequence[Path],
    policy: Policy,
    output: Path,
    engine: Engine,
    debug_roots: Sequence[Path] = (),
    suffix: str = "",
    journal: Path | None = None,
) -> PackageSummary:
    """Retunes packages into a folder by a policy.

    `journal` is a file from which a run that was killed goes on.
    Changed files get the time of SOURCE_DATE_EPOCH where that is set, else that of the original.
    """
    policy = policy.check()
    if policy.debuginfo is None:  # the debug packages of most are not among those that are given
        policy = replace(policy, debuginfo=REFUSE if debug_roots else IGNORE)
    made, epoch = Summary(), _epoch()

    def retune(trees: Sequence[Tree], debug: Path) -> None:
        nonlocal made
        roots = [Root(tree.path, tree.package, tree.package) for tree in trees]
        found = engine(roots, policy, debug_roots=(debug, *debug_roots), journal=log)
        named = (replace(line, reason=_named(line.reason, trees)) for line in found.each)
        made = replace(found, each=tuple(named))

    log = None
    if journal is not None:
        about = _about(paths, policy, output, suffix, epoch, debug_roots)
        log = journals.opened(journal, about)
    try:
        results = run(paths, output, retune, _wanted, suffix, epoch, log)
        if log is not None and not made.each:
            names = {path.name: debian.read(path).name for path in paths if path.is_file()}
            made = replace(made, each=resumed.lines(log, folder(output, log), names))
    finally:
        if log is not None:
            log.close()
    return PackageSummary(tuple(results), made)


def _about(
    paths: Sequence[Path],
    policy: Policy,
    output: Path,
    suffix: str,
    epoch: int | None,
    debug_roots: Sequence[Path],
) -> dict[str, Any]:
    """What a run that goes on must have in common with the one that began."""
    return {
        "retune": fingerprint(),
        "policy": policy.as_json(),
        "packages": [os.fspath(path) for path in paths],
        "output": os.fspath(output),
        "version suffix": suffix,
        "time": epoch,
        "debug": [os.fspath(root) for root in debug_roots],
    }


def _wanted(head: bytes) -> bool:
    """Whether a file is a linked one for a machine that is known."""
    return known_ident(head) is not None


def _named(text: str, trees: Sequence[Tree]) -> str:
    """A path or a sentence with files called by their package: `libc6:usr/lib/libc.so.6`."""
    for tree in trees:
        text = text.replace(f"{tree.path}/", f"{tree.package}:")
    return text


def _epoch() -> int | None:
    """SOURCE_DATE_EPOCH; BadUsage where that is no number."""
    value = os.environ.get("SOURCE_DATE_EPOCH", "")
    if value and not (value.isdigit() and value.isascii() and len(value) < 12):
        raise BadUsage(f"SOURCE_DATE_EPOCH is {value[:20]!r}, no number of seconds")
    return int(value) if value else None
