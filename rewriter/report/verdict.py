"""What the independent verifier found, to be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rewriter.core.assumptions import EVERY
from rewriter.core.code.program import Function
from rewriter.core.errors import VerificationFailed
from rewriter.core.plural import counted
from rewriter.core.target.capability import either
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Target
from rewriter.elf import manifest
from rewriter.elf.headers import printable
from rewriter.elf.image import Image, parse
from rewriter.elf.layouts import in_layout_of
from rewriter.elf.manifest import Manifest
from rewriter.elf.note import LaidOutAnew
from rewriter.report.grid import Grid, in_order, joined
from rewriter.verify.listed import contradictions

SHOWN = 10
"""Findings that a summary shows; all of them with a verbosity of 1 and in JSON."""


class Found(Protocol):
    """What a report asks of the verifier's verdict."""

    @property
    def ok(self) -> bool: ...
    @property
    def findings(self) -> tuple[str, ...]: ...
    @property
    def functions(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def grades(self) -> Mapping[str, int]: ...
    @property
    def preconditions(self) -> Mapping[str, int]: ...
    @property
    def changed_bytes(self) -> int: ...
    @property
    def original(self) -> Sequence[Function]: ...


NONE, LEADS_BACK, REFUSED = "none", "leads back to the original", "refused"
ELSEWHERE = "not compared: strip or objcopy laid the file out anew after retune"


@dataclass(frozen=True)
class Comparison:
    """A comparison of two files; `manifest` says what became of the new one's note."""

    findings: tuple[str, ...] = ()
    manifest: str = NONE
    functions: int = 0
    blocks: int = 0
    changed_bytes: int = 0
    grades: Mapping[str, int] = field(default_factory=dict)
    preconditions: Mapping[str, int] = field(default_factory=dict)
    failed: bool = False

    @classmethod
    def of(cls, found: Found, note_findings: tuple[str, ...], manifest: str) -> Comparison:
        """The verifier's verdict together with what speaks against the note."""
        return cls(
            findings=(*note_findings, *found.findings),
            manifest=manifest,
            functions=found.functions,
            blocks=found.blocks,
            changed_bytes=found.changed_bytes,
            grades=in_order(found.grades),
            preconditions=in_order(found.preconditions),
            failed=not found.ok,
        )

    @property
    def ok(self) -> bool:
        """Whether nothing was found against the new file."""
        return not self.findings and not self.failed

    @property
    def return_code(self) -> int:
        """0 when all is shown to be equal, else 1."""
        return 0 if self.ok else VerificationFailed.exit_code

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "ok": self.ok, "findings": list(self.findings), "manifest": self.manifest,
            "functions": self.functions, "blocks": self.blocks,
            "changed_bytes": self.changed_bytes, "grades": dict(self.grades),
            "preconditions": dict(self.preconditions),
        }  # fmt: skip

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """The findings, the first of them unless more are asked for, and the figures."""
        shown = self.findings if verbosity > 0 else self.findings[:SHOWN]
        yield from (f"found: {printable(finding)}" for finding in shown)
        if len(shown) < len(self.findings):
            yield f"found: {len(self.findings) - len(shown)} more (-v shows them)"
        changed = counted(self.changed_bytes, "byte")
        where = f"{counted(self.functions, 'function')}, {counted(self.blocks, 'block')} compared"
        yield f"changed: {changed} in {where}"
        if self.grades:
            yield f"evidence: {joined(self.grades)}"
        for precondition, number in self.preconditions.items():
            yield f"assumed {counted(number, 'time')}: {printable(precondition)}"
        yield f"manifest: {self.manifest}"
        yield "verified" if self.ok else "NOT verified"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same: there is nothing here that a table would make clearer."""
        yield from self.lines(verbosity)


def compare(
    old: Image,
    new: Image,
    target_of: Callable[[Image], Target],
    progress: Callable[[str, int, int], None],
    jobs: int = 1,
    assume: frozenset[str] = EVERY,
    cpu_of: Callable[[Target], Cpu | None] = lambda target: None,
) -> Comparison:
    """Verify `new` against `old` in `jobs` processes, and its manifest if it carries one.

    The target is asked for only when code must be compared: identical files need none.  `cpu_of`
    says on which of its CPUs both must do the same; None for any with the instructions of the one
    that the manifest names.  Of a file that strip or objcopy laid out anew, what it loads is
    compared.
    """
    target: Target | None = None
    record: Manifest | None = None
    maker: Manifest | None
    try:
        bare, findings, record = manifest.examine(old.data, new.data, new.name)
        said = REFUSED if findings else NONE if bare is new.data else LEADS_BACK
        maker = record
    except LaidOutAnew as error:
        target = target_of(old)
        bare = in_layout_of(old, new.data, target)
        findings, said = ((str(error),), REFUSED) if bare is None else ((), ELSEWHERE)
        maker = manifest.read(new.data, new.name)
    if bare is None or bare == old.data:
        return Comparison(findings, said)
    target = target or target_of(old)
    cpus = cpu_of(target), None if maker is None else target.cpus.get(maker.cpu)
    found = _verified(old, parse(bare, new.name), target, progress, jobs, assume, cpus)
    if record is not None:
        contradicted = tuple(contradictions(old, bare, found.original, record.edits))
        findings = (*findings, *contradicted)
        said = REFUSED if findings else said
    return Comparison.of(found, findings, said)


def _verified(
    old: Image,
    new: Image,
    target: Target,
    progress: Callable[[str, int, int], None],
    jobs: int,
    assume: frozenset[str],
    cpus: tuple[Cpu | None, Cpu | None],
) -> Found:
    """The verdict of the verifier for this kind of code.

    `cpus` are the one on which both must do the same, and the one that the new file is made for.
    """
    from rewriter.verify.check import compare as compare_superblocks
    from rewriter.verify.regions.check import compare as compare_regions

    return either(
        target,
        "verify",
        old.name,
        bundled=lambda code: compare_regions(old, new, code, progress, jobs, assume),
        sequential=lambda code: compare_superblocks(old, new, code, progress, jobs, assume, *cpus),
    )
