"""A distribution's packages tuned, verified, reverted, and their programs run beside the original.

    python benchmarks/archive.py [--cpu NAME]... [--only TASK]... [--packages NAME]... [--limit MB]

The files of the packages of `fixtures/archive/packages.txt` are tuned for POWER9 and POWER10 with
all passes, those first of which the tasks of `fixtures/archive/scripts` execute most a byte; each
output is verified and reverted.  Then the tasks run under qemu-user in two roots that differ in
these files.  Printed are what became of the files, each task with its executed instructions, the
files that took longest a byte, and every reason for which code was left alone with the executed
instructions that it concerns.  A file that was tuned by the same product before is not tuned again.

`--only` takes some tasks and what these need, `--packages` tunes some packages and takes the tasks
that need them, `--limit` stops tuning after so many MB of code; what is not tuned stays as it was.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.archive import packages, tuning
from fixtures.archive.left import weighed
from fixtures.archive.packages import PACKAGES
from fixtures.archive.runs import Executed, Ran, Runner, together
from fixtures.archive.tasks import TASKS, TEXTS, Task
from fixtures.archive.tuning import NOT_TRIED, STATUSES, TUNED, WRONG, Tuned
from fixtures.inputs import Missing, cache_dir
from rewriter.elf.image import parse

CPUS = ("power9", "power10")
_AGAIN, _SLOWEST, _MB = 3, 10, 1e6
_SPEEDS = "kB a second | verified and reverted again"


@dataclass(frozen=True)
class Wanted:
    """What a run is to do: packages that are there, those of them that are tuned, tasks.

    `limit` are bytes of code that are tuned at most.
    """

    installed: tuple[str, ...]
    tuned: tuple[str, ...]
    tasks: tuple[Task, ...]
    limit: float
    jobs: int


@dataclass(frozen=True)
class Pair:
    """A task on the original and on the tuned files; `varies` where it does not repeat itself."""

    task: Task
    old: Ran
    new: Ran
    varies: bool = False

    @property
    def same(self) -> bool:
        """Whether it printed, ended and left the same."""
        return self.old.seen == self.new.seen

    @property
    def ratio(self) -> float:
        """Executed instructions, after by before."""
        return self.new.total / self.old.total


@dataclass(frozen=True)
class File:
    """A program or library, what became of it, and how often the tasks execute what is in it."""

    path: str
    content: bytes = field(repr=False)
    tuned: Tuned
    executed: int


@dataclass(frozen=True)
class Roots:
    """The originals in a root, texts, and where another root and the tasks' work go."""

    old: Path
    texts: Path
    new: Path
    scratch: Path

    def run(self, task: Task, root: Path, cpu: str) -> Ran:
        """A task in one of the two."""
        return Runner(root, cpu, self.texts, self.scratch).run(task)


def chosen(only: Sequence[str], names: Sequence[str], limit: float, jobs: int) -> Wanted:
    """What the options mean."""
    needs = {name: packages.needed(TASKS[name].packages) for name in only or TASKS}
    tasks = [TASKS[name] for name, there in needs.items() if not names or set(names) & set(there)]
    asked = {*names, *(name for task in tasks for name in task.packages)}
    installed = packages.needed(asked if only or names else PACKAGES)
    return Wanted(tuple(installed), tuple(names or installed), tuple(tasks), limit, jobs)


def report(wanted: Wanted, roots: Roots, cpu: str) -> Iterator[str]:
    """Everything about one CPU, as lines of Markdown; at last what should not be."""
    old = {task.name: roots.run(task, roots.old, cpu) for task in wanted.tasks}
    executed = together(one.executed for one in old.values())
    files = list(worked(wanted, executed, roots.old, cpu))
    changed = {one.path: one.tuned.path for one in files if one.tuned.status == TUNED}
    packages.copied(roots.old, roots.new, changed)
    pairs = [compared(old[task.name], task, roots, cpu) for task in wanted.tasks]
    yield from (f"## {cpu}", "", *fates(wanted, files), "", *programs(pairs, changed), "")
    yield from (*slowest(files), "", *reasons(files, executed), "", *wrongs(files, pairs), "")


def worked(wanted: Wanted, executed: Executed, root: Path, cpu: str) -> Iterator[File]:
    """What becomes of all files; those come first of which most is executed a byte."""
    paths = [member.path for member in packages.linked(wanted.tuned)]
    contents = {path: (root / path).read_bytes() for path in paths}
    often = {path: int(executed[path][:, 1].sum()) if path in executed else 0 for path in paths}
    paths.sort(key=lambda path: (-often[path] / len(contents[path]), len(contents[path])))
    order = (contents[path] for path in paths)
    known = tuning.each(order, cpu, wanted.limit, wanted.jobs)
    for path, content in contents.items():
        fate = known.get(content) or Tuned(NOT_TRIED, text=tuning.code(content))
        yield File(path, content, fate, often[path])


def compared(old: Ran, task: Task, roots: Roots, cpu: str) -> Pair:
    """A task on the tuned files.

    Where it executes more, the original says whether it always executes the same; if not, the more
    counts only where it is more than ever on the original, each time.
    """
    new = roots.run(task, roots.new, cpu)
    if new.total <= old.total or new.seen != old.seen:
        return Pair(task, old, new)
    before = {old.total, *(roots.run(task, roots.old, cpu).total for _ in range(_AGAIN))}
    if len(before) == 1:
        return Pair(task, old, new)
    after = (roots.run(task, roots.new, cpu).total for _ in range(_AGAIN))
    return Pair(task, old, new, any(total <= max(before) for total in after))


def fates(wanted: Wanted, files: Sequence[File]) -> Iterator[str]:
    """How many files became what."""
    distinct = {one.content: one.tuned for one in files}.values()
    counts = Counter(one.status for one in distinct)
    worked = [one for one in distinct if one.status != NOT_TRIED]
    seconds, again, text = (
        sum(getattr(one, name) for one in worked) for name in ("seconds", "again", "text")
    )
    yield f"| packages | files | MB of code | {' | '.join(STATUSES)} | edits | {_SPEEDS} |"
    yield "|" + "---:|" * (6 + len(STATUSES))
    yield _row(
        len(wanted.tuned), len(distinct), f"{sum(one.text for one in distinct) / _MB:.1f}",
        *(counts[status] for status in STATUSES), f"{sum(one.edits for one in distinct):,}",
        *(f"{text / 1000 / spent:.1f}" if spent else "-" for spent in (seconds, seconds + again)),
    )  # fmt: skip
    edits: Counter[str] = Counter()
    for one in distinct:
        edits.update(one.passes)
    yield ""
    yield "edits by pass: " + ", ".join(f"{name} {n:,}" for name, n in edits.most_common())


def programs(pairs: Sequence[Pair], changed: Collection[str]) -> Iterator[str]:
    """Each task, with what it executes."""
    yield "| task | what is done | executed | after / before | of it in tuned files | same |"
    yield "|---|---|---:|---:|---:|---|"
    for one in pairs:
        inside = sum(int(n[:, 1].sum()) for path, n in one.old.executed.items() if path in changed)
        yield _row(
            one.task.name, one.task.what, f"{one.old.total:,}", f"{one.ratio:.4f}",
            f"{inside / one.old.total:.3f}", "yes" if one.same else "NO",
        )  # fmt: skip


def slowest(files: Sequence[File]) -> Iterator[str]:
    """The files that took longest a byte of code."""
    distinct = {
        one.content: one for one in files if one.tuned.status != NOT_TRIED and one.tuned.text
    }
    order = sorted(distinct.values(), key=lambda one: -one.tuned.seconds / one.tuned.text)
    yield "| slowest files a byte | kB of code | seconds | kB a second |"
    yield "|---|---:|---:|---:|"
    for one in order[:_SLOWEST]:
        size, seconds = one.tuned.text / 1000, one.tuned.seconds
        yield _row(one.path, f"{size:.1f}", f"{seconds:.1f}", f"{size / seconds:.1f}")


def reasons(files: Sequence[File], executed: Executed) -> Iterator[str]:
    """Every reason for which executed code was left alone."""
    every = sum(one.executed for one in files if one.tuned.status != NOT_TRIED)
    parts = [
        (parse(one.content, one.path), one.tuned.left, executed[one.path])
        for one in files
        if one.path in executed and one.tuned.left
    ]
    yield "| pass | left alone because | places | executed places | executed, % of tried files |"
    yield "|---|---|---:|---:|---:|"
    for one in weighed(parts):
        share = f"{100 * one.executed / every:.3f}"
        reached = f"{one.reached:,}"
        yield _row(one.technique or "all", one.reason, f"{one.places:,}", reached, share)


def wrongs(files: Sequence[File], pairs: Sequence[Pair]) -> Iterator[str]:
    """What should not be."""
    for one in files:
        if one.tuned.status == WRONG:
            yield f"{WRONG}: {one.path}: {one.tuned.reason}"
    for pair in pairs:
        if not pair.same:
            yield f"{WRONG}: {pair.task.name} does something else"
        elif pair.ratio > 1:
            said = "varies" if pair.varies else WRONG
            yield f"{said}: {pair.task.name} executes {pair.ratio:.6f} of the instructions"


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when nothing is wrong, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", action="append", help="these CPUs only")
    parser.add_argument("--only", action="append", default=[], choices=TASKS, metavar="TASK")
    parser.add_argument("--packages", action="append", default=[], choices=PACKAGES, metavar="NAME")
    parser.add_argument("--limit", type=float, default=float("inf"), help="MB of code to tune")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    wrong = False
    try:
        wanted = chosen(options.only, options.packages, options.limit * _MB, options.jobs)
        for cpu in options.cpu or CPUS:
            with roots(wanted.installed) as made:
                for line in report(wanted, made, cpu):
                    wrong |= line.startswith(WRONG)
                    print(line, flush=True)
    except Missing as missing:
        print(f"not run: {missing}", file=sys.stderr)
        return 1
    return wrong


@contextlib.contextmanager
def roots(names: Sequence[str]) -> Iterator[Roots]:
    """Roots with packages, for as long as they are needed."""
    with tempfile.TemporaryDirectory(dir=cache_dir("archive")) as folder:
        made = Roots(*(Path(folder) / name for name in ("old", "texts", "new", "scratch")))
        for root, content in ((made.old, names), (made.texts, TEXTS)):
            root.mkdir()
            packages.unpack(content, root)
        yield made


if __name__ == "__main__":
    sys.exit(main())
