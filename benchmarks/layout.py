"""How often control goes on elsewhere in programs, before and after `layout`, and at best.

    python benchmarks/layout.py [--library alpha-libc] [--cpu ev67] [--profile FILE] [--halves]
                                [--made-with PROGRAM]... [--passes LIST] [--why N] [--static]
                                [PROGRAM...]

The library is retuned for the CPU without a profile, as `retune patch` does it by itself, and with
one; by the passes of a list alone where that is given, and before by those but `layout`.  Programs
of `fixtures/programs.py` that the profile was not made with run on both, and must print the same.
The profile is FILE, or that of Debian's libcs which comes with retune (`benchmarks/training.py`);
with those --made-with some programs, each of which counts as much as all of FILE, or as one of the
programs that the other was made with.  Of a libstdc++
(alpha-libstdc++) programs of C++ run on it and the machine's own libc, and the profile is that of
other programs of C++ (`programs.TRAINING`), where none is named.  With --halves
each half of the programs is measured with a profile made with the other half, too.  With --why N
the N functions that have most above the best order follow each line, and why they keep theirs.
With --static a sentence follows of the functions where the profile counted no branch: how much of
all they take, at best, and in an order by heuristics (`benchmarks/layout_static.py`).

A line for each program: direct branches and jumps taken in the library for each 1,000 instructions
that are executed there, before and after; their quotient; the quotient at best, if the functions of
the file before stood in chains made of this very run, with room and unwind rows for any order; what
the file has above that, in functions in another order, in those that could move and did not, and in
those that may not; the quotient of executed instructions; how often a line of the library was
fetched that was not in the CPU's instruction cache, before and after; and the quotient of modelled
cycles, of a sample (`benchmarks/layout_cycles.py`).  Counted by our plugins `fixtures/transfers.c`,
`fixtures/fetched.c` and `fixtures/trace.c`.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.layout_bound import (
    ORDERED,
    STAYING,
    UNORDERED,
    Bound,
    Executed,
    above,
    executed,
)
from benchmarks.layout_cycles import Timed, every, timed, told
from benchmarks.layout_reasons import Reasons
from benchmarks.layout_static import line as uncounted
from benchmarks.whole_programs import retuned
from fixtures import guests, programs
from fixtures.inputs import Missing, cache_dir, find, write_aside
from passes.layout import ByProfile
from rewriter.analysis.program import Program, analyse
from rewriter.api import choose
from rewriter.core.target.cpu import Cache, Cpu, InOrder, OutOfOrder
from rewriter.core.target.dispatched_cpu import Dispatched
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image, load
from rewriter.elf.manifest import detach
from rewriter.identify.profiles import KNOWN
from rewriter.identify.profiles.directions import (
    BRANCH,
    Directions,
    alike,
    merged,
    parse,
    text_hash,
)
from tests.support.mutants.tuned import state

HEAD = (
    "program", "executed", "before", "after", "quotient", "at best", ORDERED, UNORDERED, STAYING,
    "executed instructions", "lines missed", "modelled cycles",
)  # fmt: skip
SAID = "said.json"
"""The name of the document beside a library in which a patch said what it did."""

_TIME = 900.0  # seconds of a run


@dataclass(frozen=True)
class Retuned:
    """A library as `retune patch` makes it, once for each state of the product."""

    original: Path
    cpu: str
    passes: tuple[str, ...]

    def without(self) -> Path:
        """By the passes but `layout`, without a profile."""
        if not self.passes:
            return retuned(self.original, self.cpu)
        others = [name for name in self.passes if name != ByProfile.name]
        return self._made("--passes", ",".join(others))

    def by(self, counted: Path) -> Path:
        """By a profile."""
        passes = ("--passes", ",".join(self.passes)) if self.passes else ()
        return self._made("--profile", counted, *passes)

    def _made(self, *options: str | Path) -> Path:
        original, digest = self.original, hashlib.sha256(state().encode())
        for one in (original, *options):
            digest.update(one.read_bytes() if isinstance(one, Path) else one.encode())
        path = cache_dir("layouts") / f"{self.cpu}-{digest.hexdigest()[:16]}" / original.name
        path.parent.mkdir(exist_ok=True)

        def make(aside: Path) -> None:
            retune = Path(sys.executable).with_name("retune")
            command = (retune, "patch", original, "--cpu", self.cpu, *options, "--json")
            with path.with_name(SAID).open("wb") as said:
                subprocess.run((*command, "-o", aside), check=True, stdout=said)

        return path if path.is_file() else write_aside(path, make)


def known_branches(image: Image) -> Path:
    """Where the profile of a library's branches is that comes with retune."""
    return KNOWN / f"{text_hash(image)[:16]}-branches.txt"


def profiles(given: Path | None, image: Image) -> Iterator[Directions]:
    """A file's, or the one that comes along as often as it was made with programs, if there is."""
    path = given or known_branches(image)
    if path.is_file():
        yield from [parse(path.read_text("ascii"), path.name)] * (
            1 if given else len(programs.ORDINARY)
        )


def counted_with(original: Path, names: Iterable[str], cpu: str) -> Iterator[Directions]:
    """Which way the library's branches go, in each of some programs that run on it."""
    image = load(original)
    program = analyse(image, sequential_of(image))
    for name in names:
        ways = run_of(program, image, name, original, cpu).directions()
        yield Directions(text_hash(image), {(BRANCH, at): one for at, one in ways.items()})


def run_of(program: Program, image: Image, name: str, path: Path, cpu: str) -> Executed:
    """What a program executes in a library."""
    return executed(program, image, seen("transfers", name, path, cpu))


def seen(
    plugin: str, name: str, path: Path, cpu: str, wishes: Mapping[str, int] = programs.NO_WISHES
) -> bytes:
    """What a plugin wrote of a library in a run of a program."""
    libc, *others = libraries(path)
    return programs.observed(plugin, name, libc, cpu, _TIME, (), wishes, others)


def libraries(path: Path) -> Sequence[Path]:
    """What a program runs on: a libc, or the machine's own and another library."""
    guest = guests.of(path)
    return (path,) if path.name == guest.libc else (guest.libraries / guest.libc, path)


def written(profiles: Sequence[Directions]) -> Path:
    """A file with profiles added up, each of which counts as much as another."""
    text = merged(alike(profiles)).written()
    path = cache_dir("profiles") / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"
    path.write_text(text, encoding="ascii")
    return path


def lines(
    files: Sequence[Path],
    cpu: Cpu,
    names: Sequence[str],
    more: Callable[[Bound, Executed], Iterator[str]],
) -> Iterator[str]:
    """The rows of some programs, as lines of Markdown; behind each, what else is said of it."""
    images = [load(path) for path in files]
    both = [(analyse(image, sequential_of(image)), image) for image in images]
    edits = detach(images[1].data)[1].edits
    ordered = {edit.address for edit in edits if edit.technique == ByProfile.name}
    for name in names:
        ran = (programs.counted(name, libraries(path), cpu.name)[0] for path in files)
        if len({done.stdout for done in ran}) != 1:
            raise RuntimeError(f"{name} prints something else")
        before, after = (
            run_of(program, image, name, path, cpu.name)
            for path, (program, image) in zip(files, both, strict=True)
        )
        misses = [missed(name, path, cpu) for path in files]
        share = every(before.total)
        cycles = (
            timing(name, path, image, cpu, share) for path, image in zip(files, images, strict=True)
        )
        bound = Bound(before, cpu)
        yield row(name, before, after, bound, ordered, misses, told(*cycles))
        yield from more(bound, after)


@dataclass(frozen=True)
class Said:
    """What is said behind a row: of an output by a profile, so many functions and why they keep
    their order; and of functions that the profile has nothing of, if that is asked for."""

    path: Path
    profile: Path
    why: int
    static: bool

    def __call__(self, bound: Bound, after: Executed) -> Iterator[str]:
        """The lines."""
        if self.why:
            yield from Reasons.read(self.path.with_name(SAID)).lines(bound, after, self.why)
        if self.static:
            counts = parse(self.profile.read_text("ascii"), self.profile.name).counts
            yield uncounted(bound, [address for _, address in counts])


def missed(name: str, path: Path, cpu: Cpu) -> int:
    """How many lines of a library are not in the instruction cache when they are fetched."""
    return int(seen("fetched", name, path, cpu.name, cache_sizes(cpu)).split()[1])


def timing(name: str, path: Path, image: Image, cpu: Cpu, share: int) -> Timed:
    """What one in so many ways of a program through a library takes."""
    said = seen("trace", name, path, cpu.name, {"every": share})
    return timed([said], image, sequential_of(image), cpu)


def cache_sizes(cpu: Cpu) -> Mapping[str, int]:
    """What the plugin is told of a CPU's instruction cache."""
    cache = instruction_cache(cpu)
    return {name: getattr(cache, name).value for name in ("size", "ways", "line")}


def instruction_cache(cpu: Cpu) -> Cache:
    """The first-level instruction cache of a CPU."""
    pipeline = cpu.pipeline
    assert isinstance(pipeline, InOrder | OutOfOrder | Dispatched), f"{cpu.name} is not described"
    return pipeline.icache if isinstance(pipeline, InOrder) else pipeline.memory.icache


def row(
    name: str,
    before: Executed,
    after: Executed,
    bound: Bound,
    ordered: Collection[int],
    misses: Sequence[int],
    cycles: str = "",
) -> str:
    """One program's line."""
    more = above(bound, after, ordered)
    cells = (
        name, f"{before.total:,}", f"{before.often:.1f}", f"{after.often:.1f}",
        f"{after.often / before.often:.3f}", f"{bound.taken / before.taken:.3f}",
        *(f"{more[what] / before.taken:.3f}" for what in (ORDERED, UNORDERED, STAYING)),
        f"{after.total / before.total:.4f}", " ".join(f"{many:,}" for many in misses), cycles,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def sequential_of(image: Image) -> Sequential:
    """The target of code whose instructions stand alone."""
    target = choose.target_of(image).sequential
    assert target is not None
    return target


def usual(path: Path) -> tuple[Sequence[str], Sequence[str]]:
    """The programs that a library is measured with, and those that its profile is made with."""
    is_libc = len(libraries(path)) == 1
    if is_libc:
        return [*programs.WORK, *programs.BENCH], []
    return [*programs.CPLUSPLUS], [*programs.TRAINING]


def groups(names: Sequence[str], halves: bool) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Programs to measure, and those that a profile is made with besides: the other half."""
    if not halves:
        yield names, ()
        return
    for first in range(2):
        yield names[first::2], names[1 - first :: 2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--library", default="alpha-libc")
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--made-with", action="append", default=[])
    parser.add_argument("--passes", default="", metavar="LIST")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--halves", action="store_true")
    parser.add_argument("--why", type=int, default=0, metavar="N")
    parser.add_argument("--static", action="store_true")
    given = parser.parse_args(arguments)
    try:
        path = find(given.library)
        image = load(path)
        cpu = sequential_of(image).cpus[given.cpu]
        read = [*profiles(given.profile, image)]
        made = Retuned(path, given.cpu, tuple(filter(None, given.passes.split(","))))
        print(f"| {' | '.join(HEAD)} |\n|" + "---|" * len(HEAD))
        measured, training = usual(path)
        for names, others in groups(given.programs or measured, given.halves):
            made_with = given.made_with or training
            counted = [*read, *counted_with(path, [*made_with, *others], given.cpu)]
            profile = written(counted)
            files = made.without(), made.by(profile)
            said = Said(files[1], profile, given.why, given.static)
            for line in lines(files, cpu, names, said):
                print(line, flush=True)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
