"""Times what a library or a kernel executed: a recording becomes steps for the engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from fixtures.trace import ENTERED, LEFT, NO_ACCESS, Recording
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.table import Table
from rewriter.core.readings.interpret import Step
from rewriter.core.readings.recorder import Recorder
from rewriter.core.target.cpu import Cpu, System
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image, load
from rewriter.timing.described import CONTROL
from rewriter.timing.engine import Chip
from rewriter.timing.model import chip
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE

BASE = 0x6000000000
"""Where each library is timed, wherever it was loaded: the same places compete for cache sets.

What is not linked at 0, a kernel, is timed where it is linked.
"""

_WORD = 4
_PART = 50_000  # steps that are timed at once: what an engine remembers of each takes a kilobyte


@dataclass
class Spent:
    """What a run took: modelled cycles, by cause and by the offset of what retired.

    `instructions` is how often each offset was executed.  Both have what stands elsewhere, the
    calls and returns into the library, under `ELSEWHERE`.
    """

    cycles: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    places: Counter[int] = field(default_factory=Counter)
    instructions: Counter[int] = field(default_factory=Counter)


ELSEWHERE = -1


def time(
    recording: Recording, library: Path, cpu: str, system: System, times: int = 1
) -> list[Spent]:
    """The whole recording so many times, from empty caches on."""
    return list(spent([recording] * times, load(library), TABLE, CPUS[cpu], system))


def spent(
    recordings: Iterable[Recording], image: Image, table: Table, cpu: Cpu, system: System
) -> Iterator[Spent]:
    """What some recordings of a library took, one after the other, the first from empty caches."""
    text, size = Text(image, table), extent(image)
    one, inside = chip(cpu, system, text), range(text.base, text.base + size)
    for recording in recordings:
        yield _run(one, steps(recording, size, table, text.base), inside)


def linked(image: Image) -> int:
    """The lowest address that is loaded: 0 in a library."""
    return min(s.p_vaddr for s in image.segments if s.p_type == PT_LOAD)


def extent(image: Image) -> int:
    """Bytes that the image takes in memory, from its base on."""
    ends = (s.p_vaddr + s.p_memsz for s in image.segments if s.p_type == PT_LOAD)
    return max(ends) - linked(image)


def _run(one: Chip, left: Iterator[Step], inside: range) -> Spent:
    """In parts: the pipeline is filled anew for each."""
    spent = Spent()
    while part := list(islice(left, _PART)):
        result = one.run(part)
        spent.cycles += result.cycles
        spent.causes.update(result.breakdown)
        before = -1
        for moment in result.timeline:
            within = moment.address in inside
            place = moment.address - inside.start if within else ELSEWHERE
            spent.instructions[place] += 1
            spent.places[place] += moment.retire - before
            before = moment.retire
    return spent


def steps(recording: Recording, size: int, table: Table, base: int = BASE) -> Iterator[Step]:
    """The steps of what was recorded, with the calls and returns by which it was entered.

    Its `size` bytes are moved to `base`.  An access that the recording has no address of (a hint:
    qemu does nothing for it) is none.  The last instruction, which ends the program, is left out,
    and so is firmware's return to a kernel, whose words are of no program.
    """
    moves = range(recording.base, recording.base + size)
    known: dict[int, _Kind | None] = {}
    for (place, access, word, kind), (after, *_, kind_after) in pairwise(
        recording.records.tolist()
    ):
        if kind == LEFT:
            continue
        address = place if kind == ENTERED else base + place
        then = after if kind_after == LEFT else base + after
        if word not in known:
            known[word] = _kind(table, word)
        what = known[word]
        if what is None:
            assert kind == ENTERED, hex(word)
            continue
        target = then if what.jumps or then != address + _WORD else None
        if access == NO_ACCESS:
            yield Step(address, what.insn, None, 0, False, target)
        else:
            moved = access - recording.base + base if access in moves else access
            yield Step(address, what.insn, moved, what.size, what.stores, target)


class _Kind(NamedTuple):
    """An instruction, how many bytes it loads or stores, and whether it always jumps."""

    insn: Insn
    size: int
    stores: bool
    jumps: bool


def _kind(table: Table, word: int) -> _Kind | None:
    insn = table.decode(word)
    if insn is None:
        return None
    machine = Recorder(table.width)
    insn.op.does(machine, *insn.operands)
    return _Kind(insn, machine.size, machine.stores, insn.op.flow in CONTROL - {Flow.BRANCH})


class Text(Mapping[int, Insn]):
    """The instructions of an image where it is timed, decoded when they are asked for."""

    def __init__(self, image: Image, table: Table) -> None:
        self._image, self._table = image, table
        self._ranges = image.executable_ranges()
        self._linked = linked(image)
        self.base = self._linked or BASE

    def __getitem__(self, address: int) -> Insn:
        place = address - self.base + self._linked
        if not any(start <= place < end for start, end in self._ranges):
            raise KeyError(address)
        word = int.from_bytes(self._image.read(place, _WORD), self._image.byteorder)
        insn = self._table.decode(word)
        if insn is None:
            raise KeyError(address)
        return insn

    def __iter__(self) -> Iterator[int]:
        moved = self.base - self._linked
        for start, end in self._ranges:
            yield from range(moved + start, moved + end, _WORD)

    def __len__(self) -> int:
        return sum((end - start) // _WORD for start, end in self._ranges)
