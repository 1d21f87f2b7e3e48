"""How often control goes on elsewhere in a distribution's libraries, before and after `layout`.

    python benchmarks/layout_tasks.py [--cpu power9] [--file PATH] [--made-with TASK] [--why N]
                                      [--static] [TASK...]
    python benchmarks/layout_tasks.py --built sqlite3 --machine alpha --cpu ev67 [...]

A file of Debian's packages for little-endian PowerPC64 (`fixtures/archive`) is retuned by `align`
without a profile, and by `layout` and `align` with one: of the tasks --made-with.  Other tasks run
on both, in a root of which only that file differs, and must do the same; some are of
`fixtures/archive/others`.  Printed is a line for each, as by `benchmarks/layout.py`.

With --built the file is a library or program (sqlite3, openssl, python3.11) that is cross-built
from its source for a machine, alpha, ppc (32-bit) or ppc64el, as `fixtures/ppc_builds.py` says; so
is the program that the tasks use it by, and all other programs are those of the root.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.layout import HEAD, Retuned, Said, cache_sizes, row, sequential_of, written
from benchmarks.layout_bound import Bound, Executed, executed
from benchmarks.layout_cycles import Timed, every, timed, told
from fixtures.archive import packages
from fixtures.archive.runs import Program as Command
from fixtures.archive.runs import Runner
from fixtures.archive.tasks import OTHERS, TASKS, TEXTS
from fixtures.guests import GUESTS
from fixtures.inputs import Missing, cache_dir, find
from fixtures.ppc_builds import DISTRIBUTED, distributed
from fixtures.programs import NO_WISHES, sysroot
from passes.layout import ByProfile
from rewriter.analysis.program import Program, analyse
from rewriter.core.target.cpu import Cpu
from rewriter.elf.image import Image, load
from rewriter.elf.manifest import detach
from rewriter.identify.profiles.directions import BRANCH, Directions, text_hash

EVERY = {**TASKS, **OTHERS}
_MACHINES = ("alpha", "ppc", "ppc64el")
_HELPING = "power9"
"""The CPU of the root's programs, where what is measured is cross-built."""
_SQLITE = "usr/lib/powerpc64le-linux-gnu/libsqlite3.so.0.8.6"

Seen = tuple[bytes, int]
"""What a task printed, and its status."""


@dataclass(frozen=True)
class File:
    """A file in a root of packages, where tasks run on the texts of a folder."""

    root: Path
    name: str
    cpu: str
    texts: Path
    scratch: Path

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.root / self.name

    @cached_property
    def image(self) -> Image:
        """What is in it."""
        return load(self.path)

    @cached_property
    def program(self) -> Program:
        """Its code."""
        return analyse(self.image, sequential_of(self.image))

    @property
    def chip(self) -> Cpu:
        """The CPU."""
        return self.program.target.cpus[self.cpu]

    def ran(self, task: str) -> tuple[Seen, Executed]:
        """What a task does, and what its processes execute in the file."""
        seen, contents = self._observed(task, "transfers")
        runs = [executed(self.program, self.image, content) for content in contents]
        total, left = (sum(getattr(one, what) for one in runs) for what in ("executed", "left"))
        return seen, Executed(self.program, total, left)

    def timed(self, task: str, share: int) -> Timed:
        """What one in so many ways through the file takes."""
        _, contents = self._observed(task, "trace", {"every": share})
        return timed(contents, self.image, self.program.target, self.chip)

    def missed(self, task: str) -> int:
        """How many of its lines are not in the instruction cache when they are fetched."""
        _, contents = self._observed(task, "fetched", cache_sizes(self.chip))
        return sum(int(content.split()[1]) for content in contents)

    def _observed(
        self, task: str, plugin: str, wishes: Mapping[str, int] = NO_WISHES
    ) -> tuple[Seen, list[bytes]]:
        """What a task does, and what a plugin wrote of each of its processes, by their order."""
        more = "".join(f",{name}={value}" for name, value in wishes.items())
        out = f"{{name}}.$$,library={Path(self.name).name}{more}"
        done, counts = self.runner().observed(EVERY[task], plugin, out)
        files = sorted(counts.iterdir(), key=lambda path: int(path.suffix[1:]))
        return (done.stdout, done.returncode), [path.read_bytes() for path in files]

    def runner(self) -> Runner:
        """What runs tasks with it."""
        return Runner(self.root, self.cpu, self.texts, self.scratch)

    def counted(self, task: str) -> Directions:
        """Which way its branches go in a task."""
        ways = self.ran(task)[1].directions()
        counts = {(BRANCH, at): one for at, one in ways.items()}
        return Directions(text_hash(self.image), counts)

    def replaced(self, path: Path, root: Path) -> File:
        """Another in its place, in another root."""
        packages.copied(self.root, root, {self.name: path})
        return replace(self, root=root)


@dataclass(frozen=True)
class Built(File):
    """A program for another machine, which stands in for the root's, or a library beside it."""

    command: Command

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.command.path.with_name(self.name)

    def runner(self) -> Runner:
        """What runs tasks with it."""
        return Runner(self.root, _HELPING, self.texts, self.scratch, others=(self.command,))

    def replaced(self, path: Path, root: Path) -> File:
        """Another in its place, in a folder like its own."""
        packages.copied(self.command.path.parent, root, {self.name: path})
        program = root / self.command.path.name
        return replace(self, command=replace(self.command, path=program))


def rows(old: File, retuned: Retuned, given: argparse.Namespace) -> Iterator[str]:
    """The lines of some tasks; behind each, what else is said of it."""
    profile = written([old.counted(task) for task in given.made_with])
    made = (retuned.without(), retuned.by(profile))
    before, after = (
        old.replaced(path, old.scratch.with_name(name))
        for path, name in zip(made, ("before", "after"), strict=True)
    )
    edits = detach(after.image.data)[1].edits
    ordered = {edit.address for edit in edits if edit.technique == ByProfile.name}
    said = Said(made[1], profile, given.why, given.static)
    for task in given.tasks:
        (one, run), (other, again) = before.ran(task), after.ran(task)
        if one != other or one[1]:
            raise RuntimeError(f"{task} does something else")
        share = every(run.total)
        cycles = told(before.timed(task, share), after.timed(task, share))
        misses = [file.missed(task) for file in (before, after)]
        bound = Bound(run, old.chip)
        yield row(task, run, again, bound, ordered, misses, cycles)
        yield from said(bound, again)


def measured(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    """What is printed; all is made in a folder."""
    root, texts = folder / "old", folder / "texts"
    tasks = [EVERY[name] for name in (*given.tasks, *given.made_with)]
    needed = packages.needed({name for task in tasks for name in task.packages})
    for place, names in ((root, needed), (texts, TEXTS)):
        place.mkdir()
        packages.unpack(names, place)
    old = File(root, given.file, given.cpu, texts, folder / "scratch")
    if given.built:
        old = built(old, given.built, given.machine)
    retuned = Retuned(old.path, given.cpu, tuple(given.passes.split(",")))
    yield f"| {' | '.join(HEAD)} |"
    yield "|" + "---|" * len(HEAD)
    yield from rows(old, retuned, given)


def built(file: File, name: str, machine: str) -> Built:
    """A program or its library for another machine, with a file's root and CPU."""
    guest = GUESTS[machine]
    made = distributed(name, guest)
    libraries = sysroot(find(f"{machine}-libc"), cpu=file.cpu)
    command = Command(made.program, guest.emulator, file.cpu, libraries, made.settings)
    return Built(file.root, made.measured.name, file.cpu, file.texts, file.scratch, command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", default="power9")
    parser.add_argument("--file", default=_SQLITE)
    parser.add_argument("--built", choices=DISTRIBUTED, metavar="NAME")
    parser.add_argument("--machine", choices=_MACHINES, default=_MACHINES[0])
    parser.add_argument("--made-with", action="append", choices=EVERY, metavar="TASK")
    parser.add_argument("--passes", default="layout,align", metavar="LIST")
    parser.add_argument("--why", type=int, default=0, metavar="N")
    parser.add_argument("--static", action="store_true")
    parser.add_argument("tasks", nargs="*", default=["sqlite-text"], metavar="TASK")
    given = parser.parse_args(arguments)
    given.made_with = given.made_with or ["sqlite"]
    try:
        with tempfile.TemporaryDirectory(dir=cache_dir("archive")) as folder:
            for line in measured(given, Path(folder)):
                print(line, flush=True)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
