"""Many files retuned by a policy: found, worked on in other processes, verified, put in place.

    find ─▶ each file: known already? ─▶ largest first, in processes ─▶ journal ─▶ in place

The processes are given bytes and give bytes back; files are read and written here alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import targets
from rewriter.api import choose
from rewriter.api.choose import Wanted
from rewriter.batch.cache import Cache
from rewriter.batch.debug import DebugFiles
from rewriter.batch.files import journal as journals
from rewriter.batch.files import placing
from rewriter.batch.files.journal import Entry, Journal, NoJournal
from rewriter.batch.files.mirror import Mirror
from rewriter.batch.files.placing import Placer, Times
from rewriter.batch.find import Candidate, Root, find
from rewriter.batch.fingerprint import fingerprint
from rewriter.batch.outcome import ALREADY, DENIED, FAILED, REFUSED, Outcome
from rewriter.batch.policy import FAIL, Policy
from rewriter.batch.pool import memory
from rewriter.batch.pool.watch import Unwatched, Watch
from rewriter.batch.summary import Line, Summary
from rewriter.batch.task import Job, Runner, Task
from rewriter.core.errors import BadInput, RetuneError
from rewriter.core.target.ident import Ident
from rewriter.elf import image as elf
from rewriter.elf import manifest
from rewriter.elf.emit import CannotWrite
from rewriter.elf.note import NAME
from rewriter.verify.terms.remembered import Memory


def run(
    roots: Iterable[Path | Root],
    policy: Policy,
    *,
    output: Path | None = None,
    journal: Path | Journal | None = None,
    cache: Path | None = None,
    scheduler: str | None = None,
    jobs: int | None = None,
    limit: int | None = None,
    patience: float | None = None,
    keep_times: bool = False,
    debug_roots: Sequence[Path] = (),
    watch: Watch | None = None,
) -> Summary:
    """Retunes all files of some trees, and files given by name, by a policy.

    Files are replaced in place, or with `output` all that is there is copied to that folder and
    only the copies are retuned.  `journal` is a file from which a run that was killed goes on, or
    one that is open already, for more than these trees, and stays so;
    `cache` a folder that keeps results; `scheduler` the address of a Dask scheduler that has the
    work done; else `jobs` processes (default: one a processor) do it, in `limit` bytes of memory
    together (default: what the machine gives), each file in `patience` seconds.  `keep_times` keeps
    times of modification.
    `debug_roots` are folders with debug files, beside those in the trees (`debug`).

    What goes wrong with one file is in the Summary, and so is a root that is not there.  Raises
    BadUsage for what cannot be followed, before anything is written.
    """
    policy = policy.check()
    given = [root if isinstance(root, Root) else Root(root) for root in roots]
    looking = watch or Unwatched()
    debug = DebugFiles.asked(debug_roots, policy.debuginfo)
    batch = _Batch(given, policy, output, Times.asked(keep_times), looking, debug)
    kept = Cache(cache, looking.warn) if cache is not None else None
    known = kept.remembered() if kept is not None else Memory()
    log = batch.open(journal)
    try:
        return batch.run(log, kept, _runner(scheduler, jobs, limit, patience, known))
    finally:
        if log is not journal:
            log.close()
        if kept is not None:
            kept.remember(known)
            kept.prune()


def _runner(
    scheduler: str | None,
    jobs: int | None,
    limit: int | None,
    patience: float | None,
    known: Memory,
) -> Runner:
    if scheduler is not None:
        from rewriter.batch.pool.cluster import Cluster  # an extra: not everybody has its library

        return Cluster(scheduler, known)
    from rewriter.batch.pool.processes import Pool

    processes, most = jobs or len(os.sched_getaffinity(0)), limit or memory.limit()
    return Pool(processes, most, known, patience=patience)


class _Batch:
    """One run."""

    def __init__(
        self,
        roots: Sequence[Root],
        policy: Policy,
        output: Path | None,
        times: Times,
        watch: Watch,
        debug: DebugFiles,
    ) -> None:
        self.roots, self.policy, self.times, self.watch = roots, policy, times, watch
        self.debug = debug
        self.mirror = Mirror(roots, output) if output is not None else None
        self.output = output
        self.lines: dict[Path, Line] = {}
        self.choices: dict[Ident, tuple[Wanted, str, Mapping[str, Any]] | None] = {}

    def open(self, given: Path | Journal | None) -> Journal | NoJournal:
        """The journal; what a killed run left half done is finished or cleaned up."""
        if given is None:
            return NoJournal()
        log = given if isinstance(given, Journal) else journals.opened(given, self._about())
        if log.again:
            self._recover(log)
        return log

    def _about(self) -> dict[str, Any]:
        """What a run that goes on must have in common with the one that began."""
        return {
            "retune": fingerprint(),
            "policy": self.policy.as_json(),
            "roots": [os.fspath(root.path) for root in self.roots],
            "output": None if self.output is None else os.fspath(self.output),
            "keep_times": self.times.kept,
            "debug": self.debug.as_json(),
        }

    def _recover(self, log: Journal) -> None:
        folders = {Path(name).parent for entry in log.before.values() for name in entry.names}
        tops = [root.path for root in self.roots if root.path.is_dir()]
        for top in (*tops, *([self.output] if self.output and self.output.is_dir() else [])):
            folders |= set(placing.folders_below(top))
        folders |= {root.path.resolve().parent for root in self.roots if not root.path.is_dir()}
        placing.clean(log.run, folders)
        placer = Placer(log.run, self.times)
        for entry in log.before.values():
            first, *others = map(Path, entry.names)
            if others and _digest(first) == (entry.new or entry.old):
                placer.link(first, [one for one in others if self._apart(one, first, entry)])

    def _apart(self, other: Path, first: Path, entry: Entry) -> bool:
        """Whether a name of a file was not yet given to what the file became."""
        if self.mirror is None:
            return bool(entry.new) and _digest(other) == entry.old
        return not (other.exists() and other.samefile(first))

    def run(self, log: Journal | NoJournal, cache: Cache | None, runner: Runner) -> Summary:
        found = find(self.roots)
        placer = Placer(log.run, self.times)
        if self.mirror is not None:
            self.mirror.prepare(found.candidates, placer)
            found.faults += self.mirror.faults
        tasks: list[Task] = []
        for number, file in enumerate(found.candidates):
            task = self._task(number, file, log, cache, placer)
            if task is not None:
                tasks.append(task)
        tasks.sort(key=lambda task: (-task.size, task.number))
        self.watch.begin(len(tasks), sum(task.size for task in tasks))
        for task, outcome in runner.run(tasks, partial(_job, cache)):
            self._finish(task, outcome, log, cache, placer)
        if self.mirror is not None:
            self.mirror.finish(self.times)
        order = (self.lines[one.path] for one in found.candidates)
        faults = tuple((os.fspath(path), reason) for path, reason in found.faults)
        return Summary(tuple(order), found.foreign, faults, self.policy.refused == FAIL)

    def _task(
        self,
        number: int,
        file: Candidate,
        log: Journal | NoJournal,
        cache: Cache | None,
        placer: Placer,
    ) -> Task | None:
        """What is still to be done for a file; None where it is done or left alone."""
        places = tuple(map(self.mirror.place, file.names)) if self.mirror else file.names
        denied = next(
            filter(None, (self.policy.reason(one, file.package) for one in file.inside)), ""
        )
        choice = self._choice(file.ident)
        try:
            data = file.path.read_bytes()
        except OSError as error:
            self._tell(file, Outcome(FAILED, f"cannot be read: {error.strerror}"))
            return None
        old = hashlib.sha256(data).hexdigest()
        entry = log.before.get(os.fspath(places[0]))
        if entry is not None and self._settled(entry, old, places):
            self._tell(file, entry.outcome, "journal")
            return None
        wanted = Wanted() if choice is None else choice[0]
        task = Task(number, file, wanted, old, places)
        if denied or choice is None:
            outcome: Outcome | None = Outcome(DENIED, denied or "the policy has no CPU for it")
        elif self.mirror is None and file.links > len(file.names):
            more = file.links - len(file.names)
            outcome = Outcome(REFUSED, f"it has {more} more names (hard links) elsewhere")
        else:
            outcome = self._before(data, file, choice[1], choice[2])
        how = ""
        if outcome is None:
            try:
                task = replace(task, debug=self.debug.lines(file, data))
            except BadInput as error:
                outcome = Outcome(REFUSED, str(error))
        if outcome is None and cache is not None:
            outcome, how = cache.get(data, wanted, task.debug), "cache"
        if outcome is None:
            return task
        self._finish(task, outcome, log, None, placer, how)
        return None

    def _choice(self, ident: Ident) -> tuple[Wanted, str, Mapping[str, Any]] | None:
        """The tuning for a machine, the name of its CPU, and options as a manifest has them."""
        if ident not in self.choices:
            target = targets.of_ident(ident)
            wanted = self.policy.machines.get(target.name)
            chosen = choose.resolve_for(target, wanted) if wanted is not None else None
            if wanted is None:
                self.choices[ident] = None
            else:
                options = chosen.record() if chosen is not None else {}
                name = chosen.cpu.name if chosen is not None else ""
                self.choices[ident] = wanted, name, json.loads(json.dumps(options))
        return self.choices[ident]

    def _before(
        self, data: bytes, file: Candidate, cpu: str, options: Mapping[str, Any]
    ) -> Outcome | None:
        """What is said of a file that carries a note already; None where it carries none."""
        if NAME.encode("ascii") not in data:
            return None
        try:
            record = manifest.read(data, file.shown)
        except RetuneError as error:
            return Outcome(REFUSED, str(error))
        if record is None:
            return None
        if record.cpu == cpu and dict(record.options) == dict(options):
            return Outcome(ALREADY)
        return Outcome(
            REFUSED, f"it was tuned for {record.cpu} with other options; `retune revert` it first"
        )

    def _settled(self, entry: Entry, old: str, places: Sequence[Path]) -> bool:
        """Whether a line of the journal says the last word on a file."""
        if self.mirror is None:
            return journals.settled(entry, old)
        return old == entry.old and journals.settled(entry, _digest(places[0]))

    def _finish(
        self,
        task: Task,
        outcome: Outcome,
        log: Journal | NoJournal,
        cache: Cache | None,
        placer: Placer,
        how: str = "",
    ) -> None:
        """Writes what became of a file: the journal first, then the file."""
        file = task.file
        outcome, original = _still(task, outcome, self.mirror is not None)
        data = outcome.data
        if cache is not None and original is not None:
            cache.put(original, task.wanted, outcome, task.debug)
            if outcome.kept is not None:
                cache.keep(*outcome.kept)
        new = hashlib.sha256(data).hexdigest() if data is not None else ""
        names = tuple(map(os.fspath, task.places))
        bare = replace(outcome, data=None, kept=None)
        log.add(Entry(names, task.old, new, bare))
        try:
            if data is not None:
                placer.place(data, file.path, task.places)
            elif self.mirror is not None and original is not None:
                placer.place(original, file.path, task.places, Times(kept=True))
        except CannotWrite as error:
            bare = Outcome(FAILED, str(error), outcome.figures)
            log.add(Entry(names, task.old, "", bare))
        self._tell(file, bare, how)

    def _tell(self, file: Candidate, outcome: Outcome, how: str = "") -> None:
        line = Line(file.shown, outcome.status, outcome.reason, outcome.figures, how)
        self.lines[file.path] = line
        self.watch.done(line, file.size)


def _job(cache: Cache | None, task: Task) -> Job | Outcome:
    """Reads a file that is to be worked on, and what is known of such a one."""
    data = _unchanged(task)
    if isinstance(data, Outcome):
        return data
    name = task.file.shown
    before = None
    if cache is not None:
        with suppress(BadInput):  # the task says so
            beside = () if task.debug is None else (task.debug,)
            before = cache.before(elf.parse(data, name), task.wanted, beside)
    return Job(task.number, name, data, task.wanted, task.debug, before)


def _still(task: Task, outcome: Outcome, copied: bool) -> tuple[Outcome, bytes | None]:
    """The outcome and the file's bytes, if these are still what was worked on."""
    data = _unchanged(task)
    if isinstance(data, Outcome):
        return (data if outcome.data is not None or copied else outcome), None
    return outcome, data


def _unchanged(task: Task) -> bytes | Outcome:
    try:
        data = task.file.path.read_bytes()
    except OSError as error:
        return Outcome(FAILED, f"cannot be read: {error.strerror}")
    if hashlib.sha256(data).hexdigest() != task.old:
        return Outcome(FAILED, "it changed while it was worked on")
    return data


def _digest(path: Path) -> str:
    """SHA-256 of a file; empty where there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
