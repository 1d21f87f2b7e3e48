"""How often control goes on elsewhere in a kernel's boot, before and after `layout`, and at best.

    python benchmarks/layout_boot.py [--kernel alpha-vmlinux] [--cpu ev67] [--passes layout]
                                     [--profile FILE] [--most N]

The kernel (alpha-vmlinux, ppc32-vmlinux or ppc64el-vmlinux) is retuned by the passes with a
profile: FILE, or what `retune profile --initrd` counts in a boot whose /init asks for one operation
at a time, a hundred times, and then for LMBench's on files (`fixtures/operations.py`).  Beside it
stands the kernel by the passes but `layout`, the original where there are none.  Measured is
another boot, with the tests' initial file system (`fixtures/initramfs.py`): both start alike, and
then run different programs.  The consoles must be the same, and `retune revert` must give the
original back.

Printed is a line as by `benchmarks/layout.py`, without cycles, of the kernel's code but for
functions that only wait, and which part of it is executed in code that the profile's boot did not
come to; then the functions with most transfers above the bound, `--most` of each kind.  The kernel
has the instruction cache to itself.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.booted import boots_of, low_and_high, observed
from benchmarks.layout import HEAD, Retuned, instruction_cache, row, sequential_of
from benchmarks.layout_bound import Bound, Executed, counts, more_by_function
from benchmarks.operations import KERNELS
from fixtures import initramfs, operations
from fixtures.guests import GUESTS
from fixtures.inputs import Missing, cache_dir, find, write_aside
from passes.layout import ByProfile
from rewriter.analysis.program import Program, analyse
from rewriter.difftest.boot.compare import tried
from rewriter.difftest.boot.kernel import kernel
from rewriter.difftest.boot.machine import Boot
from rewriter.elf.manifest import detach
from rewriter.identify.profiles.directions import BRANCH, parse

RETUNE = Path(sys.executable).with_name("retune")
_MORE = 100  # times as often as it is marked each operation is done for a profile


@dataclass(frozen=True)
class Booting:
    """A kernel that is booted with an initial file system."""

    path: Path
    cpu: str
    initrd: Path

    @cached_property
    def program(self) -> Program:
        """Its code."""
        one = kernel(self.path.read_bytes(), self.path.name)
        return analyse(one.image, sequential_of(one.image))

    def under(self, plugin: str, sizes: Mapping[str, int]) -> tuple[Boot, bytes]:
        """A boot, and what a plugin says of the kernel's code."""
        one = kernel(self.path.read_bytes(), self.path.name)
        low, high = low_and_high(one.image)
        text = {"text": f"{low:#x}-{high:#x}"}
        return observed(one, self.cpu, self.initrd, plugin, {**text, **sizes})

    def ran(self) -> tuple[Boot, Executed]:
        """A boot, and what it executes of functions that do not only wait."""
        one = kernel(self.path.read_bytes(), self.path.name)
        done, text = self.under("transfers", {})
        found = counts(self.program, text, low_and_high(one.image)[0])
        for start, end in one.waits:
            found[:, slice(*self.program.listing.span(start, end))] = 0
        return done, Executed(self.program, *found)

    @property
    def missed(self) -> int:
        """How many lines of its code are not in the instruction cache when they are fetched."""
        cache = instruction_cache(self.program.target.cpus[self.cpu])
        sizes = {name: getattr(cache, name).value for name in ("size", "ways", "line")}
        return int(self.under("fetched", sizes)[1].split()[1])


def profile_of(original: Path, initrd: Path) -> Path:
    """Which way the branches of a kernel go in a boot: counted once for each pair of files."""
    digest = hashlib.sha256(original.read_bytes() + initrd.read_bytes()).hexdigest()
    path = cache_dir("profiles") / f"boot-{digest[:16]}.txt"

    def make(aside: Path) -> None:
        command = (
            RETUNE,
            "profile",
            original,
            "--initrd",
            initrd,
            "--timeout",
            "1800",
            "-o",
            aside,
        )
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return path if path.is_file() else write_aside(path, make)


def unseen(run: Executed, profile: Path) -> float:
    """Which part of the passes of branches is of branches that a profile does not have."""
    known = {at for kind, at in parse(profile.read_text("ascii"), "").counts if kind == BRANCH}
    ways = run.directions()
    total = sum(one.executed for one in ways.values())
    return sum(one.executed for at, one in ways.items() if at not in known) / total


def lines(before: Booting, after: Booting, profile: Path, most: int) -> Iterator[str]:
    """What is printed of a kernel without a profile, and by one."""
    (one, old), (other, new) = before.ran(), after.ran()
    if different := tried(one, other, boots_of(before.program.image)).difference:
        raise RuntimeError(f"{after.path} prints something else: {different[0]}")
    bound = Bound(old, old.program.target.cpus[before.cpu])
    edits = detach(after.path.read_bytes())[1].edits
    ordered = {edit.address for edit in edits if edit.technique == ByProfile.name}
    misses = [one.missed for one in (before, after)]
    yield row(before.path.name, old, new, bound, ordered, misses)
    yield ""
    yield f"{len(ordered)} functions are in another order; reverted, the consoles are the same"
    yield f"passes of branches that the profile does not have: {unseen(old, profile):.4f}"
    for what, functions in more_by_function(bound, new, ordered).items():
        for function, more in functions[:most]:
            yield f"{more / old.taken:.4f} above the bound, {what}: {function.name}"


def reverted(original: Path, path: Path) -> None:
    """RuntimeError where a retuned kernel does not come back byte for byte."""
    with tempfile.TemporaryDirectory() as folder:
        back = Path(folder) / "back"
        subprocess.run((RETUNE, "revert", path, "-o", back), check=True, stdout=subprocess.DEVNULL)
        if back.read_bytes() != original.read_bytes():
            raise RuntimeError(f"{path} is not reverted to the same bytes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured and is as it must be, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kernel", default="alpha-vmlinux", choices=KERNELS)
    parser.add_argument("--cpu", default="ev67")
    parser.add_argument("--passes", default=ByProfile.name, metavar="LIST")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--most", type=int, default=0, metavar="N")
    given = parser.parse_args(arguments)
    try:
        original, guest = find(given.kernel), GUESTS[KERNELS[given.kernel]]
        profile = given.profile or profile_of(original, operations.build(guest, _MORE))
        passes = tuple(given.passes.split(","))
        made, alone = Retuned(original, given.cpu, passes), passes == (ByProfile.name,)
        paths = (original if alone else made.without(), made.by(profile))
        reverted(original, paths[-1])
        before, after = (Booting(one, given.cpu, initramfs.build(guest)) for one in paths)
        print(f"| {' | '.join(HEAD)} |\n|" + "---|" * len(HEAD))
        for line in lines(before, after, profile, given.most):
            print(line, flush=True)
    except (Missing, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
