"""What a rebuild for POWER9 or POWER10 gains on loops with idioms, and how much of it `patch` gets.

    python benchmarks/ppc_rebuild.py [--cpu power9] [--level=-O2] [--loops] [LOOP...]

gcc compiles `fixtures/ppc/idioms.c` for POWER8, and for the newer chip; what is compiled for POWER8
is retuned for it.  All three run under qemu, must print the same, and each instruction that they
execute is counted.  For each kind of idiom: the executed instructions of the loops compiled for
POWER8, of these the parts that are left retuned and rebuilt, and how much of what the rebuild gains
is recovered, each loop counting by its share of its own instructions; with `--loops` each loop too.
Last all loops together: with the same weight for each, then the same without those that the
rebuild does more by vectors, which no pass makes of other code, and by what they execute.
Exit status 1 where less than half is recovered, or a retuned loop executes more.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import targets
from benchmarks.whole_programs import retuned
from fixtures.inputs import Missing, tool
from fixtures.ppc_counts import counted
from rewriter.elf.image import load
from targets.ppc.registers import VSR

SOURCE = Path(__file__).resolve().parents[1] / "fixtures" / "ppc" / "idioms.c"
CPUS, LEVELS = ("power9", "power10"), ("-O2", "-O3")
_HELPED = {"one_mixed": "constant", "one_counted": "constant"}
_ROW = "{:22} {:>10} {:>8} {:>8} {:>10}"
_FUNCTION = 2  # STT_FUNC
_MORE = 0.05  # of a loop's instructions


@dataclass(frozen=True)
class Loop:
    """Executed instructions of a loop: compiled for POWER8, the same retuned, and rebuilt.

    `vectors` is which part of them is vector code in the first and in the last.
    """

    name: str
    kind: str
    old: int
    retuned: int
    rebuilt: int
    vectors: tuple[float, float]

    @property
    def gained(self) -> float:
        """What retuning gains, as a part of what was executed."""
        return 1 - self.retuned / self.old

    @property
    def possible(self) -> float:
        """What the rebuild gains."""
        return 1 - self.rebuilt / self.old

    @property
    def is_vectorized(self) -> bool:
        """Whether the rebuild does more of it by vectors."""
        return self.vectors[1] - self.vectors[0] > _MORE


def kinds() -> dict[str, str]:
    """Which idiom each loop is written for."""
    found = re.findall(r"^KIND\((\w+), (\w+)\)", SOURCE.read_text("ascii"), re.MULTILINE)
    return {name: kind for kind, name in found} | _HELPED


def compiled(cpu: str, level: str, folder: Path) -> Path:
    """The loops compiled for a CPU."""
    program = folder / f"idioms-{cpu}"
    command = (tool("powerpc64le-linux-gnu-gcc"), level, f"-mcpu={cpu}", SOURCE, "-o", program)
    subprocess.run(command, check=True)
    return program


@dataclass(frozen=True)
class Ran:
    """What a program prints, and the instructions, and those of vectors, that functions execute."""

    printed: bytes
    executed: Counter[str]
    vectors: Counter[str]

    def part(self, name: str) -> float:
        """Which part of a function's instructions is vector code."""
        return self.vectors[name] / self.executed[name]


def executed(program: Path, cpu: str) -> Ran:
    """A program's run."""
    image = load(program)
    target = targets.of(image).sequential
    assert target is not None
    listing = target.listing(image)
    functions = sorted((s.st_value, s.name) for s in image.symbols if s.st_type == _FUNCTION)
    starts = [start for start, _ in functions]
    printed, counts = counted(program, cpu)
    found, vectors = Counter[str](), Counter[str]()
    for offset, count in counts.items():
        address = image.address_of(offset)
        name = functions[bisect_right(starts, address) - 1][1]
        found[name] += count
        insn = listing.insn(listing.index(address))
        assert insn is not None, "what is executed is an instruction"
        if (target.table.uses(insn) | target.table.defs(insn)) >> VSR:
            vectors[name] += count
    return Ran(printed, found, vectors)


def loops(cpu: str, level: str) -> Iterator[Loop]:
    """All loops; RuntimeError where a program prints something else."""
    with tempfile.TemporaryDirectory() as folder:
        first, last = (compiled(one, level, Path(folder)) for one in ("power8", cpu))
        ran = [executed(one, cpu) for one in (first, retuned(first, cpu), last)]
    if len({one.printed for one in ran}) > 1:
        raise RuntimeError(f"the loops print something else for {cpu}")
    for name, kind in kinds().items():
        vectors = ran[0].part(name), ran[2].part(name)
        old, new, rebuilt = (one.executed[name] for one in ran)
        yield Loop(name, kind, old, new, rebuilt, vectors)


def recovered(found: Sequence[Loop]) -> float:
    """How much of what the rebuild gains, the same weight for each loop."""
    return sum(loop.gained for loop in found) / sum(loop.possible for loop in found)


def table(found: Sequence[Loop], each: bool) -> Iterator[str]:
    """A row for each kind, and for each loop if they are wanted; then all."""
    yield _ROW.format("loops", "POWER8", "retuned", "rebuilt", "recovered")
    by_kind: Mapping[str, list[Loop]] = {loop.kind: [] for loop in found}
    for loop in found:
        by_kind[loop.kind].append(loop)
    for kind, some in by_kind.items():
        yield _row(f"{kind} ({len(some)})", some)
        yield from (_row(f"  {loop.name}", [loop]) for loop in some if each)
    yield _row(f"all ({len(found)})", found)
    others = [loop for loop in found if not loop.is_vectorized]
    if 0 < len(others) < len(found):
        yield _row(f"not by vectors ({len(others)})", others)
    old, new, rebuilt = (
        sum(getattr(loop, name) for loop in found) for name in ("old", "retuned", "rebuilt")
    )
    yield _ROW.format(
        "by execution",
        *(f"{old:,}", f"{new / old:.4f}", f"{rebuilt / old:.4f}"),
        f"{(old - new) / (old - rebuilt):.3f}",
    )


def _row(what: str, found: Sequence[Loop]) -> str:
    gained, possible = (
        sum(getattr(loop, name) for loop in found) / len(found) for name in ("gained", "possible")
    )
    share = f"{recovered(found):.3f}" if possible else "-"
    old = f"{sum(loop.old for loop in found):,}"
    return _ROW.format(what, old, f"{1 - gained:.4f}", f"{1 - possible:.4f}", share)


def main() -> int:
    """Exit status 0 where half is recovered everywhere, and no loop executes more."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", action="append", choices=CPUS)
    parser.add_argument("--level", action="append", choices=LEVELS)
    parser.add_argument("--loops", action="store_true", help="each loop, too")
    parser.add_argument("names", nargs="*", metavar="LOOP", help="these loops only")
    options = parser.parse_args()
    enough = True
    try:
        for cpu in options.cpu or CPUS:
            for level in options.level or LEVELS:
                found = list(loops(cpu, level))
                chosen = [loop for loop in found if loop.name in (options.names or [loop.name])]
                print(f"{cpu}, gcc {level}", *table(chosen, options.loops), "", sep="\n")
                enough &= recovered(chosen) >= 0.5
                enough &= all(loop.retuned <= loop.old for loop in chosen)
    except Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
