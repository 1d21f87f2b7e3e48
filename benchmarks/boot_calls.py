"""What a kernel's boot asks of its known routines: calls, sizes and alignments, counted.

`.venv/bin/python benchmarks/boot_calls.py [--write]` boots the real Alpha kernel with the test's
initial file system, twice. In the first boot the emulator counts what each routine executes, in the
second it prints the registers where a routine is entered and where a search comes back. Printed is
how often each routine is called, and its share of the kernel's instructions; `--write` keeps it in
`rewriter/contracts/calls.json`, which the placement of routines and `retune kit` read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures import initramfs
from fixtures.inputs import Missing, find
from rewriter.contracts import CONTRACTS
from rewriter.contracts.calls import KEPT
from rewriter.difftest import executed
from rewriter.difftest.boot.kernel import FIRMWARE, KERNEL, USER, WAIT, Kernel, kernel
from rewriter.difftest.boot.machine import Boot, Ending, Setup, boot
from rewriter.difftest.executed import Plugin, compiled
from targets.alpha.boots import BOOTS

INPUT, LIMIT = "alpha-vmlinux", 900.0
COPIES = frozenset({"__copy_user", "memcpy", "memmove"})
FILLS = frozenset({"__clear_user", "memset"})
PAGES = frozenset({"clear_page", "copy_page"})
SEARCHES = frozenset({"strlen", "strchr", "memchr"})
"""What is known of a call from its registers; a string's length only from what comes back."""

Owners = Sequence[tuple[int, str]]
_ENTERED = re.compile(rb"Trace 0: \S+ \[[0-9a-f]+/([0-9a-f]{16})/")
_REGISTER = re.compile(rb"(\w+) +([0-9a-f]{16})")
_REGISTERS = frozenset({b"a0", b"a1", b"a2", b"v0", b"ra", b"sp"})
_PAGE = 8192


@dataclass(frozen=True)
class Routine:
    """A known routine of the kernel: its addresses."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Log(Plugin):
    """Not a plugin: the emulator prints the registers at some addresses, to a file."""

    addresses: frozenset[int] = frozenset()

    def options(self, owners: Owners) -> tuple[str, ...]:
        """What the emulator is told; blocks are not chained, or it would not see each entry."""
        ranges = ",".join(f"{address:#x}+4" for address in sorted(self.addresses))
        return ("-d", "exec,cpu,nochain", "-dfilter", ranges, "-D", str(self.path))

    def executed(self, owners: Owners) -> Mapping[str, int]:
        """Nothing: this boot is not counted."""
        return {}

    def states(self) -> Iterator[tuple[int, dict[str, int]]]:
        """(address, registers) in the order of time."""
        address, registers = 0, dict[str, int]()
        with self.path.open("rb") as lines:
            for line in lines:
                if entered := _ENTERED.match(line):
                    if registers:
                        yield address, registers
                    address, registers = int(entered[1], 16), {}
                else:
                    found = _REGISTER.findall(line)
                    registers |= {n.decode(): int(v, 16) for n, v in found if n in _REGISTERS}
        if registers:
            yield address, registers


@dataclass(frozen=True)
class Counting(Plugin):
    """The plugin that counts instructions, told of the routines too."""

    routines: tuple[Routine, ...] = ()

    def options(self, owners: Owners) -> tuple[str, ...]:
        """As for whom else it counts."""
        return super().options(self._owners(owners))

    def executed(self, owners: Owners) -> Mapping[str, int]:
        """Instructions by owner, each routine one."""
        return super().executed(self._owners(owners))

    def _owners(self, owners: Owners) -> Owners:
        every = dict(owners)
        every |= {r.end: KERNEL for r in self.routines if r.end not in every}
        every |= {r.start: r.name for r in self.routines}
        return sorted(every.items())


@dataclass
class Calls:
    """Calls by routine and point, as they are read from a log; with `since`, those that come after
    control was at this address the last time."""

    routines: Mapping[int, str]
    since: int | None = None
    points: dict[str, Counter[tuple[int, ...]]] = field(default_factory=dict)
    unfinished: list[tuple[str, dict[str, int]]] = field(default_factory=list)

    def read(self, log: Log) -> None:
        """Everything that a boot printed."""
        for address, registers in log.states():
            if address == self.since:
                self.points.clear()
                self.unfinished.clear()
            elif address in self.routines:
                self._enter(self.routines[address], registers)
            else:
                self._back(address, registers)

    def _enter(self, name: str, at: dict[str, int]) -> None:
        if name in SEARCHES:
            self.unfinished.append((name, at))
        elif name in COPIES:
            self._count(name, at["a2"], at["a0"] % 8, at["a1"] % 8)
        elif name in FILLS:
            self._count(name, at["a1" if name == "__clear_user" else "a2"], at["a0"] % 8)
        else:
            self._count(name)

    def _back(self, address: int, after: dict[str, int]) -> None:
        """A search that was called from here is over; those that it interrupted are not."""
        for place, (name, before) in reversed(list(enumerate(self.unfinished))):
            if (before["ra"], before["sp"]) == (address, after["sp"]):
                del self.unfinished[place:]
                found = after["v0"]
                if name == "strlen":
                    self._count(name, found, before["a0"] % 8)
                elif found:
                    self._count(name, found - before["a0"] + 1, before["a0"] % 8)
                elif name == "memchr":
                    self._count(name, before["a2"], before["a0"] % 8)
                return

    def _count(self, name: str, *point: int) -> None:
        self.points.setdefault(name, Counter())[point] += 1


def routines(image: Kernel) -> tuple[Routine, ...]:
    """The kernel's routines that have contracts, by their symbols."""
    found = {
        image.image.code_address(symbol): Routine(
            symbol.name,
            image.image.code_address(symbol),
            image.image.code_address(symbol) + symbol.st_size,
        )
        for symbol in image.image.symbols
        if symbol.name in CONTRACTS and symbol.st_size
    }
    return tuple(found[start] for start in sorted(found))


def callers(log: Log, entries: Mapping[int, str]) -> frozenset[int]:
    """Where the searches of a log come back."""
    return frozenset(
        registers["ra"] for address, registers in log.states() if entries.get(address) in SEARCHES
    )


def booted(image: Kernel, plugin: Plugin, folder: Path, initrd: Path) -> Boot:
    """One boot; RuntimeError unless it powers off."""
    setup = Setup(BOOTS.machine, BOOTS.memory, BOOTS.parameters, initrd.read_bytes())
    done = boot(image, BOOTS, setup, plugin, LIMIT, folder)
    if done.ending is not Ending.OFF:
        raise RuntimeError(f"{image.name}: {done.account}")
    return done


def recorded(image: Kernel, folder: Path) -> tuple[Mapping[str, int], Calls]:
    """Instructions by owner, and the calls, of a boot with the test's initial file system."""
    known, initrd = routines(image), initramfs.build()
    plugin = compiled(folder, executed.SOURCE)
    counted = booted(image, Counting(plugin.path, known), folder, initrd).executed or {}
    return counted, called(image, folder, initrd)


def called(image: Kernel, folder: Path, initrd: Path, since: int | None = None) -> Calls:
    """The calls of a boot, or of what comes after control was at `since`."""
    entries = {routine.start: routine.name for routine in routines(image)}
    wanted = frozenset(entries) | ({since} if since is not None else set())
    log = Log(folder / "log", wanted)
    booted(image, log, folder, initrd)
    full = Log(folder / "log", wanted | callers(log, entries))
    booted(image, full, folder, initrd)
    calls = Calls(entries, since)
    calls.read(full)
    return calls


def grouped(points: Counter[tuple[int, ...]]) -> list[tuple[tuple[int, ...], int]]:
    """(the most frequent point of a group, its calls), the calls of a group being alike.

    Alike are sizes of as many bits, whose ends are both aligned to eight bytes or not.
    """
    groups: dict[tuple[int, bool], Counter[tuple[int, ...]]] = {}
    for point, calls in points.items():
        size, *ends = point or (0,)
        key = min(size, _PAGE).bit_length(), len(set(ends)) <= 1 and not any(ends)
        groups.setdefault(key, Counter())[point] += calls
    alike = [(each.most_common(1)[0][0], each.total()) for each in groups.values()]
    return sorted(alike, key=lambda group: (-group[1], group[0]))


def document(counted: Mapping[str, int], calls: Calls, data: bytes) -> dict[str, object]:
    """What is kept."""
    names = set(calls.routines.values())
    within = {name: count for name, count in counted.items() if name in names and count}
    return {
        "source": "one boot of the real generic Alpha kernel, Linux 6.1, with the test's initial"
        " file system, in qemu-system-alpha: benchmarks/boot_calls.py",
        "kernel_sha256": hashlib.sha256(data).hexdigest(),
        "instructions": whole(counted),
        "executed": dict(sorted(within.items(), key=lambda item: -item[1])),
        "calls": groups(calls),
    }


def groups(calls: Calls) -> dict[str, list[list[int]]]:
    """The calls of each routine as they are kept: those that are alike are one entry."""
    known = COPIES | FILLS | PAGES | SEARCHES
    return {
        name: [[*point, number] for point, number in grouped(points)]
        for name, points in sorted(calls.points.items())
        if name in known
    }


def whole(counted: Mapping[str, int]) -> int:
    """The kernel's instructions, without what only waits."""
    return sum(n for name, n in counted.items() if name not in (USER, FIRMWARE, WAIT))


def report(kept: Mapping[str, object], calls: Calls, counted: Mapping[str, int]) -> None:
    """The table."""
    every = whole(counted)
    print(f"kernel's instructions, without what only waits: {every}")
    print("routine\tinstructions\tshare\tcalls\tmost frequent (size, ends mod 8): calls")
    executed_ = kept["executed"]
    assert isinstance(executed_, dict)
    for name, number in executed_.items():
        points = calls.points.get(name, Counter())
        often = "; ".join(f"{point}: {count}" for point, count in points.most_common(3))
        print(f"{name}\t{number}\t{number / every:.2%}\t{points.total()}\t{often}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep it as the product's data")
    options = parser.parse_args()
    try:
        data = find(INPUT).read_bytes()
        image = kernel(data, INPUT)
        with tempfile.TemporaryDirectory() as folder:
            counted, calls = recorded(image, Path(folder))
    except (Missing, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    kept = document(counted, calls, data)
    report(kept, calls, counted)
    if options.write:
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
