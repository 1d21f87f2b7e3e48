"""How often control goes on elsewhere in a distribution's libraries, before and after `layout`.

    python benchmarks/layout_tasks.py [--cpu power9] [--file PATH] [--made-with TASK] [TASK...]

A file of Debian's packages for little-endian PowerPC64 (`fixtures/archive`) is retuned by `align`
without a profile, and by `layout` and `align` with one: of the tasks --made-with.  Other tasks run
on both, in a root of which only that file differs, and must do the same; some are of
`fixtures/archive/others`.  Printed is a line for each, as by `benchmarks/layout.py`, but nothing of
the instruction cache.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.layout import HEAD, Retuned, row, sequential_of, written
from benchmarks.layout_bound import Bound, Executed, executed
from fixtures.archive import packages
from fixtures.archive.runs import Runner
from fixtures.archive.tasks import OTHERS, TASKS, TEXTS
from fixtures.inputs import Missing, cache_dir
from passes.layout import ByProfile
from rewriter.analysis.program import Program, analyse
from rewriter.elf.image import Image, load
from rewriter.elf.manifest import detach
from rewriter.identify.profiles.directions import BRANCH, Directions, text_hash

EVERY = {**TASKS, **OTHERS}
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

    @cached_property
    def image(self) -> Image:
        """What is in it."""
        return load(self.root / self.name)

    @cached_property
    def program(self) -> Program:
        """Its code."""
        return analyse(self.image, sequential_of(self.image))

    def ran(self, task: str) -> tuple[Seen, Executed]:
        """What a task does, and what its processes execute in the file."""
        runner = Runner(self.root, self.cpu, self.texts, self.scratch)
        out = f"{{name}}.$$,library={Path(self.name).name}"
        done, counts = runner.observed(EVERY[task], "transfers", out)
        runs = [executed(self.program, self.image, path.read_bytes()) for path in counts.iterdir()]
        every, left = (sum(getattr(one, what) for one in runs) for what in ("executed", "left"))
        return (done.stdout, done.returncode), Executed(self.program, every, left)

    def counted(self, task: str) -> Directions:
        """Which way its branches go in a task."""
        ways = self.ran(task)[1].directions()
        counts = {(BRANCH, at): one for at, one in ways.items()}
        return Directions(text_hash(self.image), counts)

    def replaced(self, path: Path, root: Path) -> File:
        """Another in its place, in another root."""
        packages.copied(self.root, root, {self.name: path})
        return replace(self, root=root)


def rows(
    old: File, retuned: Retuned, tasks: Sequence[str], made_with: Sequence[str]
) -> Iterator[str]:
    """The lines of some tasks."""
    profile = written([old.counted(task) for task in made_with])
    made = (retuned.without(), retuned.by(profile))
    before, after = (
        old.replaced(path, old.scratch.with_name(name))
        for path, name in zip(made, ("before", "after"), strict=True)
    )
    edits = detach(after.image.data)[1].edits
    ordered = {edit.address for edit in edits if edit.technique == ByProfile.name}
    for task in tasks:
        (one, run), (other, again) = before.ran(task), after.ran(task)
        if one != other or one[1]:
            raise RuntimeError(f"{task} does something else")
        bound = Bound(run, before.program.target.cpus[old.cpu])
        yield row(task, run, again, bound, ordered, ())


def measured(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    """What is printed; all is made in a folder."""
    root, texts = folder / "old", folder / "texts"
    tasks = [EVERY[name] for name in (*given.tasks, *given.made_with)]
    needed = packages.needed({name for task in tasks for name in task.packages})
    for place, names in ((root, needed), (texts, TEXTS)):
        place.mkdir()
        packages.unpack(names, place)
    old = File(root, given.file, given.cpu, texts, folder / "scratch")
    retuned = Retuned(root / given.file, given.cpu, tuple(given.passes.split(",")))
    yield f"| {' | '.join(HEAD)} |"
    yield "|" + "---|" * len(HEAD)
    yield from rows(old, retuned, given.tasks, given.made_with)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", default="power9")
    parser.add_argument("--file", default=_SQLITE)
    parser.add_argument("--made-with", action="append", choices=EVERY, metavar="TASK")
    parser.add_argument("--passes", default="layout,align", metavar="LIST")
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
