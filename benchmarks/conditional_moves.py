"""What `cmov` does for the libc's programs: conditional moves that are executed, and cycles.

    python benchmarks/conditional_moves.py [--cpu ev67] [--timed] [PROGRAM...]
    python benchmarks/conditional_moves.py --make OUT [--kernel | PROGRAM...]
    python benchmarks/conditional_moves.py --kernel [--timed] [--profile FILE] [--cpu ev67]

What becomes of the recorded conditional moves, by how often they were executed.  Then, for each
program of `fixtures/programs.py`: executed instructions of the libc and conditional moves
among them, in the libc as it is, retuned without the pass, and retuned with it; and with --timed
the modelled cycles of what runs inside the library, once the caches know it, for the programs that
take so little that they can be timed.

With --kernel what becomes of the conditional moves of a kernel's boot with the test initramfs,
which is counted first unless a profile is given, and the modelled cycles that are saved where each
stands, as often as it was executed; with --timed also the modelled cycles of some of the boot's
system calls.  With --make the profile that comes with retune is counted anew: conditional moves of
all programs, branches of those alone that nothing is measured with; with --kernel those of a boot
that are executed a hundred times or more.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import traced
from benchmarks.traced_boot import system_calls, undisturbed
from benchmarks.whole_programs import ROUNDS
from fixtures import initramfs, programs
from fixtures.inputs import Missing, find
from fixtures.trace import record
from passes import offered
from passes.cmov import FOR_NOBODY, Cmov
from rewriter.api import profile
from rewriter.core.edit import Edit, Skip
from rewriter.elf.image import Image, load
from rewriter.identify.profiles import KNOWN, Direction, Profile, of_kind, parse
from rewriter.identify.profiles.directions import BRANCH, MOVE, Directions, merged, text_hash
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from targets.alpha import Alpha
from targets.alpha.cpus import CPUS
from targets.alpha.systems import UP1000, USUAL

NOTES = (
    "libc.so.6.1 of Debian's libc6.1-alpha-cross 2.36-8cross1,",
    "made by benchmarks/conditional_moves.py --make from programs of fixtures/programs.py;",
    "branches of those alone whose names do not begin with bench:",
)
BOOT_NOTES = (
    "Linux 6.1 for Alpha, generic, of Debian's linux-source-6.1:",
    "made by benchmarks/conditional_moves.py --make --kernel from a boot with the test initramfs;",
    "what was executed a hundred times or more",
)
_LIMIT = 1500.0  # seconds of a boot
_OFTEN = 100
_BRANCH, _MADE = "are branches now", {FOR_NOBODY: "went: nothing came of what they moved"}
_EVERY = 211  # system calls of a boot: a prime, for calls that are made in turn
_HARD = 20
"""Of so many that one is not foreseen is too much for a branch to pay."""

_Told = TypeVar("_Told", Edit, Skip)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--timed", action="store_true", help="also modelled cycles")
    parser.add_argument("--make", type=Path, metavar="OUT", help="write the profile")
    parser.add_argument("--kernel", action="store_true", help="of a boot, not of programs")
    parser.add_argument("--profile", type=Path, help="another one than comes with retune")
    parser.add_argument("programs", nargs="*", default=list(programs.PROGRAMS))
    options = parser.parse_args(arguments)
    try:
        if options.make is not None:
            profiled = made_of_boot() if options.kernel else made(options.programs)
            options.make.write_text(profiled.written(), encoding="ascii")
            return 0
        if options.kernel:
            with TemporaryDirectory() as folder:
                for line in booted(Path(folder), options.cpu, options.profile, options.timed):
                    print(line, flush=True)
            return 0
        with TemporaryDirectory() as folder:
            found, told = libraries(Path(folder), options.cpu, options.profile)
            print(told, flush=True)
            for line in report(found, options.cpu, options.programs, options.timed):
                print(line, flush=True)
    except Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    return 0


def made(names: Sequence[str]) -> Directions:
    """The profile of the libc from all programs that end as they should."""
    libc, found = find("alpha-libc"), list[Directions]()
    for name in names:
        print(name, file=sys.stderr, flush=True)
        one = profile.programs(libc, [str(programs.build(name))]).directions
        kinds = (MOVE,) if name in programs.BENCH else (MOVE, BRANCH)
        kept = {where: count for where, count in one.counts.items() if where[0] in kinds}
        found.append(replace(one, counts=kept))
    whole = merged(found)
    return Directions(whole.text, whole.counts, (*NOTES, " ".join(names)))


def made_of_boot() -> Directions:
    """The profile of the kernel from a boot with the test initramfs."""
    whole = profile.boot(find("alpha-vmlinux"), initramfs.build(), limit=_LIMIT).directions
    often = {where: one for where, one in whole.counts.items() if one.executed >= _OFTEN}
    return Directions(whole.text, often, BOOT_NOTES)


def libraries(folder: Path, cpu: str, profiled: Path | None) -> tuple[dict[str, Path], str]:
    """The libc as it is, retuned by all passes but this one, and by all; what the pass did."""
    original = find("alpha-libc")
    image = load(original)
    profiled = profiled or KNOWN / f"{text_hash(image)[:16]}.txt"
    given = parse(profiled.read_bytes(), str(profiled), image)
    found = {"original": original}
    for label, passes in (("without", _others()), ("with", offered(Alpha()))):
        tuned = _tuned(image, cpu, given, passes)
        found[label] = folder / label / original.name
        found[label].parent.mkdir()
        found[label].write_bytes(tuned.data)
    return found, "\n".join(_told(tuned, of_kind(given.directions, MOVE)))


def booted(folder: Path, cpu: str, profiled: Path | None, timed: bool) -> Iterator[str]:
    """What the pass does for a kernel by the profile of a boot."""
    original = find("alpha-vmlinux")
    image = load(original)
    if profiled is None:
        profiled = folder / "boot"
        profiled.write_text(profile.boot(original, initramfs.build()).directions.written())
    given = parse(profiled.read_bytes(), str(profiled), image)
    tuned, counted = _tuned(image, cpu, given, offered(Alpha())), of_kind(given.directions, MOVE)
    yield from _told(tuned, counted)
    saved = sum((e.cycles or 0) * counted[e.address].executed for e in _own(tuned.edits))
    yield f"{round(saved):,} modelled cycles saved where they stand, as often as counted"
    if timed:
        both = folder / "without", folder / "with"
        both[0].write_bytes(_tuned(image, cpu, given, _others()).data)
        both[1].write_bytes(tuned.data)
        yield _calls_timed(both, cpu)


def _calls_timed(both: Sequence[Path], cpu: str) -> str:
    """Modelled cycles of some system calls of two kernels, once the caches know them."""
    recordings = undisturbed([system_calls(one, _EVERY) for one in both], load(both[0]))
    old, new = (
        traced.time(recording, one, cpu, UP1000, 2)[1].cycles
        for recording, one in zip(recordings, both, strict=True)
    )
    return (
        f"one in {_EVERY} system calls, where no interrupt came in either boot, "
        f"{recordings[0].executed:,} instructions: {new:,} / {old:,} modelled cycles = "
        f"{new / old:.4f}"
    )


def _others() -> tuple[str, ...]:
    """All passes but this one."""
    return tuple(name for name in offered(Alpha()) if name != Cmov.name)


def _tuned(image: Image, cpu: str, given: Profile, passes: tuple[str, ...]) -> Tuned:
    """The file retuned by some passes, with a profile."""
    options, jobs = Options(passes=passes), len(os.sched_getaffinity(0))
    return tune(image, Alpha(), CPUS[cpu], options, lambda *steps: None, given, jobs)


def _told(tuned: Tuned, counted: Mapping[int, Direction]) -> Iterator[str]:
    """How many of the recorded executions other passes left, and what became of these."""
    became, sites, hard = Counter[str](), Counter[str](), 0
    edits = ((edit.address, _MADE.get(edit.kind, _BRANCH)) for edit in _own(tuned.edits))
    for address, told in (*edits, *((skip.address, skip.reason) for skip in _own(tuned.skips))):
        one = counted[address]
        became[told] += one.executed
        sites[told] += 1
        hard += one.executed if _HARD * one.missed > one.executed else 0
    left, every = became.total(), sum(one.executed for one in counted.values())
    yield f"recorded: {every:,} conditional moves executed; other passes leave {left:,}, of which"
    for reason, number in became.most_common():
        yield f"{number / left:6.1%} {reason} ({sites[reason]} sites)"
    yield f"{hard / left:6.1%} are where more than one in {_HARD} is not foreseen"


def _own(found: Iterable[_Told]) -> Iterator[_Told]:
    return (one for one in found if one.technique == Cmov.name)


def report(found: Mapping[str, Path], cpu: str, names: Sequence[str], timed: bool) -> Iterator[str]:
    """The tables, as lines of Markdown."""
    labels = ("original", "without", "with")
    heads = [f"{what}, {one}" for what in ("instructions", "moves") for one in labels]
    yield f"| program | {' | '.join(heads)} |"
    yield "|---|" + "---:|" * 6
    total = dict.fromkeys(labels, 0)
    for name in names:
        counts = {label: programs.count(name, found[label], cpu) for label in labels}
        for label in labels:
            total[label] += counts[label].moves
        shown = [f"{counts[one].libc:,}" for one in labels]
        shown += [f"{counts[one].moves:,}" for one in labels]
        yield f"| {name} | {' | '.join(shown)} |"
    yield f"| together | | | | {' | '.join(f'{total[one]:,}' for one in labels)} |"
    if timed:
        yield ""
        yield "| modelled cycles, once again | without | with | |"
        yield "|---|---:|---:|---:|"
        for name in (name for name in names if name in ROUNDS):
            cycles = [_cycles(name, found[label], cpu) for label in ("without", "with")]
            yield f"| {name} | {cycles[0]:,} | {cycles[1]:,} | {cycles[1] / cycles[0]:.4f} |"


def _cycles(program: str, library: Path, cpu: str) -> int:
    recording = record(program, library, cpu, (ROUNDS[program],))
    return traced.time(recording, library, cpu, USUAL.get(cpu, UP1000), 2)[1].cycles


if __name__ == "__main__":
    sys.exit(main())
