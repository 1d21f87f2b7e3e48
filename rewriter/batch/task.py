"""One file in one process: its bytes in, the verified bytes of the retuned one out.

Nothing here reads or writes a file: the same task runs here, in another process and on another
machine, and gives the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from rewriter.api import choose
from rewriter.api.check import verify
from rewriter.api.choose import Wanted
from rewriter.api.files import Loaded
from rewriter.api.patch import Patched, patch
from rewriter.batch.find import Candidate
from rewriter.batch.outcome import BELOW, FAILED, LOST, NOTHING, REFUSED, TUNED, Figures, Outcome
from rewriter.core.errors import BadInput, BadUsage, RetuneError, VerificationFailed
from rewriter.core.run.guard import reason
from rewriter.elf import debug_files
from rewriter.elf import image as elf
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.headers import printable
from rewriter.identify.kallsyms import symbols
from rewriter.report.verdict import LEADS_BACK, Comparison
from rewriter.road.remembered.results import Results


@dataclass(frozen=True)
class Task:
    """A file to be worked on: `old` is its SHA-256, `places` all names that the result takes.

    `debug` is the line table of its debug file, None where it has none.
    """

    number: int
    file: Candidate
    wanted: Wanted
    old: str
    places: tuple[Path, ...]
    debug: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.file.size


@dataclass(frozen=True)
class Before:
    """What functions of a file became in earlier runs: as a file of results, and where it is kept.

    `salt` is what the run depends on beside the file and the CPU.
    """

    name: str
    salt: bytes
    results: bytes


@dataclass(frozen=True)
class Job:
    """A task with the bytes of its file: all that a process is told."""

    number: int
    name: str
    data: bytes
    wanted: Wanted
    debug: bytes | None = None
    before: Before | None = None


Load = Callable[[Task], Job | Outcome]
"""Reads the file of a task; an outcome where that fails."""


class Runner(Protocol):
    """What has tasks carried out."""

    def run(self, tasks: Sequence[Task], load: Load) -> Iterator[tuple[Task, Outcome]]:
        """What becomes of each task, in any order; they are begun in their own."""
        ...


def carry_out(job: Job) -> Outcome:
    """What becomes of a file; an error is an outcome too."""
    begun = time.process_time()
    outcome = _caught(job)
    seconds = round(time.process_time() - begun, 3)
    return replace(outcome, figures=replace(outcome.figures, seconds=seconds))


def _caught(job: Job) -> Outcome:
    try:
        return _retuned(job)
    except VerificationFailed as error:
        return Outcome(FAILED, f"not verified: {_said(error, job)}")
    except RetuneError as error:
        refused = isinstance(error, BadUsage) or error.exit_code == BadInput.exit_code
        return Outcome(REFUSED if refused else FAILED, _said(error, job))
    except MemoryError:
        return Outcome(LOST, "not enough memory")
    except Exception as error:  # whatever is wrong with one file is no other file's affair
        return Outcome(FAILED, reason("batch", error))


def _retuned(job: Job) -> Outcome:
    image = symbols.with_kallsyms(elf.parse(job.data, job.name))
    if job.debug is not None:
        image = debug_files.with_lines(image, job.debug)
    loaded = Loaded(image, None)
    before = job.before
    results = None if before is None else Results.parse(before.results, before.salt)
    patched = patch(loaded, job.wanted, results=results)
    kept = None if before is None or results is None else (before.name, results.dump())
    figures = _figures(patched)
    if patched.record is None:
        status = BELOW if patched.report.kept else NOTHING
        return Outcome(status, patched.report.kept, figures, kept=kept)
    data = patched.data()
    assume = choose.assumed(job.wanted.assume)
    new = elf.parse(data, job.name)
    compared = verify(loaded, new, assume=assume, cpu=job.wanted.cpu)
    found = _against(compared)
    if found:
        return Outcome(FAILED, _line(f"not verified: {found}"), figures)
    return Outcome(TUNED, figures=figures, data=data, kept=kept)


def _against(compared: Comparison) -> str:
    """What speaks against an output; empty where nothing does."""
    if not compared.ok:
        return next(iter(compared.findings), "the verifier does not say why")
    return "" if compared.manifest == LEADS_BACK else "its manifest does not lead back"


def _figures(patched: Patched) -> Figures:
    """What was counted; edits that were not written are none."""
    image, report, written = patched.loaded.image, patched.report, patched.record is not None
    edits, expected = report.edits if written else (), report.expected
    return Figures(
        machine=choose.target_of(image).name,
        cpu=report.cpu,
        size=len(image.data),
        text=sum(end - start for start, end in image.executable_ranges()),
        functions=report.functions,
        instructions=report.instructions,
        edits=len(edits),
        saved=report.saved if written else 0,
        changed=report.changed_bytes if written else 0,
        apart=int(written and _apart(patched)),
        expected=None if expected is None else round(expected.percent, 3),
        basis="" if expected is None else expected.basis,
        passes=dict(Counter(edit.technique for edit in edits)),
        grades=report.grades if written else {},
        left=dict(Counter(one.reason for one in report.refused)),
    )


def _apart(patched: Patched) -> bool:
    """Whether debuggers refuse the debug file of the original."""
    new = patched.loaded.image.data if patched.tuned is None else patched.tuned.data
    return with_old_identity(patched.loaded.image, new) != new


def _said(error: RetuneError, job: Job) -> str:
    """An error in one line, without the file's name: the same bytes may have another one."""
    return _line(str(error)).removeprefix(f"{_line(printable(job.name))}: ")


def _line(text: str) -> str:
    return " ".join(text.split())
