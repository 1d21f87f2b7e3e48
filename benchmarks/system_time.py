"""Where a kernel's system time goes while programs are compiled, by the model in the article's
machines.

    python benchmarks/system_time.py [--retuned FILE] [--kept] [--every N --length N] [--write]

The real Alpha kernel boots with an initial file system that compiles three files with one, two and
four jobs (`fixtures/building.py`).  Recorded is what runs in the kernel between programs: `length`
successive ways into it of each `every`.  These follow one another on the model of an ev67 with one
state of the caches, in each machine: cycles, and those of the known routines.  With --retuned the
same of a kernel that `patch` wrote, and how much less it takes; --kept takes the original's figures
as they were written.  Addresses of hints, which the emulator does not tell, follow from what is
accessed beside them (`hinted.py`).  --write keeps the figures, and the sizes of all calls of the
routines since /init, for `bench --suite article`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import boot_calls, traced, traced_boot
from benchmarks.hinted import hinted
from fixtures import building
from fixtures.inputs import Missing, find
from fixtures.trace import Recording
from rewriter.contracts.calls import COMPILING, compiling
from rewriter.core.readings.interpret import Step
from rewriter.difftest.boot.kernel import kernel
from rewriter.elf.image import load
from rewriter.timing.model import chip
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import CS20, SYSTEMS, UP1000

MACHINES = (UP1000.name, CS20.name)
REST = "the rest"
_INPUT, _CPU, _STARTS = "alpha-vmlinux", "ev67", "run_init_process"
_EVERY, _LENGTH = 200, 5
_PART = 50_000  # steps that are timed at once
_WORD, _DEEP = 4, 64  # bytes of an instruction; calls that are remembered


@dataclass(frozen=True)
class Taken:
    """What the recorded part takes: cycles and instructions by routine, and how often each was
    called."""

    cycles: Counter[str]
    instructions: Counter[str]
    calls: Counter[str]

    @property
    def whole(self) -> int:
        """All cycles."""
        return sum(self.cycles.values())


@dataclass
class Calls:
    """Whose what is executed is: from the entry of a known routine to the return to its caller,
    wherever its code stands."""

    entries: Mapping[int, str]
    inside: str | None = None
    _backs: list[int] = field(default_factory=list)
    _until: int = 0

    def owner(self, step: Step) -> str:
        """Of the next instruction."""
        if self._backs and step.address == self._backs[-1]:
            self._backs.pop()
        if self.inside is not None and step.address == self._until:
            self.inside = None
        name = self.entries.get(step.address)
        if name is not None and self.inside is None and self._backs:
            self.inside, self._until = name, self._backs[-1]
        if step.insn.op.flow.links and self.inside is None:
            self._backs = [*self._backs[-_DEEP:], step.address + _WORD]
        return self.inside or REST


def taken(recording: Recording, path: Path, machine: str, entries: Mapping[int, str]) -> Taken:
    """Of a recording in a machine."""
    image = load(path)
    text = traced.Text(image, TABLE)
    one = chip(CPUS[_CPU], SYSTEMS[machine], text)
    steps = traced.steps(recording, traced.extent(image), TABLE, text.base)
    found, calls = Taken(Counter(), Counter(), Counter()), Calls(entries)
    while part := hinted(list(islice(steps, _PART)), TABLE):
        before = -1
        for step, moment in zip(part, one.run(part).timeline, strict=True):
            outside, owner = calls.inside is None, calls.owner(step)
            found.cycles[owner] += moment.retire - before
            found.instructions[owner] += 1
            found.calls[owner] += outside and owner != REST
            before = moment.retire
    return found


def sampled(path: Path, every: int, length: int) -> dict[str, Taken]:
    """What a kernel takes in each machine."""
    known = boot_calls.routines(kernel(path.read_bytes(), path.name))
    recording = traced_boot.system_time(path, building.build(), every, length, building.DONE)
    entries = {one.start: one.name for one in known}
    return {machine: taken(recording, path, machine, entries) for machine in MACHINES}


def document(path: Path, found: Mapping[str, Taken], every: int, length: int) -> dict[str, object]:
    """What is kept."""
    booted = kernel(path.read_bytes(), path.name)
    since = next(booted.image.code_address(s) for s in booted.image.symbols if s.name == _STARTS)
    with tempfile.TemporaryDirectory() as folder:
        calls = boot_calls.called(booted, Path(folder), building.build(), since)
    one = found[MACHINES[0]]
    return {
        "source": "a boot of the real generic Alpha kernel, Linux 6.1, that compiles three files"
        " with tcc, with one, two and four jobs, in qemu-system-alpha: benchmarks/system_time.py",
        "kernel_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "recorded": f"{length} of each {every} ways into the kernel, on the model of {_CPU}",
        "instructions": sum(one.instructions.values()),
        "executed": _ordered(one.instructions),
        "called": _ordered(one.calls),
        "machines": {
            machine: {"cycles": each.whole, "routines": _ordered(each.cycles)}
            for machine, each in found.items()
        },
        "calls": boot_calls.groups(calls),
    }


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    every = sorted(counts.items(), key=lambda item: -item[1])
    return {name: count for name, count in every if count and name != REST}


def told(found: Mapping[str, Taken]) -> Iterator[str]:
    """A table for each machine: the routines, the most cycles first."""
    for machine, each in found.items():
        executed = sum(each.instructions.values())
        yield (
            f"{machine}: {executed:,} instructions, {each.whole:,} cycles"
            f" = {each.whole / executed:.2f} each"
        )
        yield "| routine | calls | instructions | of all | cycles | of all | cycles a call |"
        yield "|---|---:|---:|---:|---:|---:|---:|"
        for name, cycles in sorted(each.cycles.items(), key=lambda item: -item[1]):
            calls, instructions = each.calls.get(name, 0), each.instructions[name]
            yield (
                f"| {name} | {calls or '-'} | {instructions} | {instructions / executed:.2%} |"
                f" {cycles} | {cycles / each.whole:.2%} | {cycles / calls if calls else 0:.0f} |"
            )
        yield ""


def compared(old: Mapping[str, Taken], new: Mapping[str, Taken]) -> Iterator[str]:
    """What a retuned kernel takes less: each routine's calls, and the rest.

    Two boots do not come to the same calls in the recorded parts; so those of the original are
    counted, at what they take in the one and in the other.
    """
    yield "| machine | routine | cycles a call | retuned | left |"
    yield "|---|---|---:|---:|---:|"
    for machine, before in old.items():
        after, whole = new[machine], before.cycles[REST] - new[machine].cycles[REST]
        for name, calls in before.calls.most_common():
            if after.calls[name]:
                was, now = before.cycles[name] / calls, after.cycles[name] / after.calls[name]
                whole += round(calls * (was - now))
                yield f"| {machine} | {name} | {was:.0f} | {now:.0f} | {now / was:.3f} |"
        rest = before.cycles[REST], after.cycles[REST]
        yield f"| {machine} | {REST}, all of it | {rest[0]} | {rest[1]} | {rest[1] / rest[0]:.3f} |"
        fallen = whole / before.whole
        yield f"{machine}: it falls by {fallen:.1%}, old/new - 1 = {fallen / (1 - fallen):.1%}"


def kept() -> dict[str, Taken]:
    """The original's figures, as they were written."""
    counted = compiling()
    found = dict[str, Taken]()
    for machine, spent in counted.machines.items():
        rest = {REST: spent.cycles - sum(spent.routines.values())}
        executed = {REST: counted.instructions - sum(counted.executed.values())}
        found[machine] = Taken(
            Counter({**spent.routines, **rest}),
            Counter({**counted.executed, **executed}),
            Counter(counted.called),
        )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything could be measured, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--retuned", type=Path, help="a kernel that patch wrote")
    parser.add_argument("--every", type=int, default=_EVERY)
    parser.add_argument("--length", type=int, default=_LENGTH)
    parser.add_argument("--kept", action="store_true", help="the original's figures as written")
    parser.add_argument("--write", action="store_true", help="keep it as the product's data")
    options = parser.parse_args(arguments)
    try:
        original = find(_INPUT)
        old = kept() if options.kept else sampled(original, options.every, options.length)
        print("\n".join(told(old)), flush=True)
        if options.write:
            written = document(original, old, options.every, options.length)
            COMPILING.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
        if options.retuned is not None:
            new = sampled(options.retuned, options.every, options.length)
            print("\n".join((*told(new), *compared(old, new))), flush=True)
    except (Missing, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
