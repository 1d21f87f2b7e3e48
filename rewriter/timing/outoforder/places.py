"""What never changes about an instruction where it stands, looked up once for each address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import REMEMBERED
from rewriter.core.target.cpu import Cpu, OutOfOrder, Traits
from rewriter.timing.described import CONTROL, Bypasses, NotDescribed, sched_of, traits_of

_UPPER, _LOWER, _NEITHER = "U", "L", "E"
_WORD = 4
_ANY = ""  # no chip of this kind is known to have a bypass to one operand alone


@dataclass(slots=True)
class Place:
    """An instruction in one half of the integer unit.

    It goes to the first of `pipes` that is free soonest, and then to one of `then` `after` cycles
    later at least; `busy` is for how long it keeps its `unit`, if it does.  `reads` are needed to
    issue, `late` only to issue the second time; `special` are, by class of producers, latencies to
    it that are not their usual ones.  `queues` has one entry for each time it is issued:
    whether that is from the floating-point queue.  `stage` is the first pipeline stage, counted
    from fetch, in which it can retire.
    """

    traits: Traits
    name: str
    pipes: tuple[str, ...]
    then: tuple[str, ...]
    reads: tuple[int, ...]
    late: tuple[int, ...]
    writes: tuple[int, ...]
    special: Mapping[str, int]
    latency: int
    after: int
    split: bool
    unit: str
    busy: int
    stage: int
    control: bool
    conditional: bool
    queues: tuple[bool, ...]
    barrier: bool
    write_hint: bool


class Halves:
    """What an instruction is in either half of the integer unit, and which one it goes to.

    What was asked is kept.
    """

    def __init__(self, cpu: Cpu, pipeline: OutOfOrder) -> None:
        self._cpu, self._pipeline, self._bypasses = cpu, pipeline, Bypasses(pipeline)
        self._places: dict[Insn, tuple[Place, Place]] = {}
        self._letters: dict[Insn, str] = {}
        self._blocks: dict[tuple[Insn | None, ...], str] = {}

    def letter(self, insn: Insn) -> str:
        """Upper, lower, or either half, as the slotting rule writes it.

        Data in a fetch block is slotted too; which way, no manual says.
        """
        found = self._letters.get(insn)
        if found is None:
            if len(self._letters) == REMEMBERED:
                self._letters.clear()
            found = self._letters[insn] = self._letter(insn)
        return found

    def _letter(self, insn: Insn) -> str:
        if not insn.op.sched:
            raise NotDescribed("data stands beside the code of a fetch block")
        sched = sched_of(self._cpu, traits_of(self._cpu, insn))
        pipes, window = set(sched.then or sched.pipes), self._pipeline.window
        if pipes and pipes <= set(window.upper):
            return _UPPER
        return _LOWER if pipes and pipes <= set(window.lower) else _NEITHER

    def block(self, insns: Sequence[Insn | None]) -> str:
        """The halves that a whole block's instructions go to, the lowest address first; what is
        not known goes to either."""
        key = tuple(insns)
        found = self._blocks.get(key)
        if found is None:
            if len(self._blocks) == REMEMBERED:
                self._blocks.clear()
            letters = [_NEITHER if insn is None else self.letter(insn) for insn in reversed(key)]
            found = self._blocks[key] = self._pipeline.window.slotting("".join(letters))[::-1]
        return found

    def places(self, insn: Insn) -> tuple[Place, Place]:
        """The instruction in the upper half, and in the lower."""
        found = self._places.get(insn)
        if found is None:
            if len(self._places) == REMEMBERED:
                self._places.clear()
            window = self._pipeline.window
            found = self._made(insn, window.upper), self._made(insn, window.lower)
            self._places[insn] = found
        return found

    def _made(self, insn: Insn, allowed: tuple[str, ...]) -> Place:
        traits = traits_of(self._cpu, insn)
        sched, pipeline = sched_of(self._cpu, traits), self._pipeline
        window = pipeline.window
        reads = list(zip(traits.reads, traits.roles, strict=True))
        stage = sched.retire or window.retire_stage
        integer = {*window.upper, *window.lower}
        return Place(
            *(traits, traits.sched),
            pipes=self._narrowed(sched.pipes, allowed),
            then=self._narrowed(sched.then, allowed),
            reads=tuple(r for r, role in reads if role not in sched.late),
            late=tuple(r for r, role in reads if role in sched.late),
            writes=traits.writes,
            special=self._bypasses.to(traits.sched, _ANY),
            latency=sched.latency.value,
            after=sched.after.value if sched.after else 0,
            split=sched.split,
            unit=sched.unit,
            busy=sched.busy.value if sched.busy else 0,
            stage=stage.value,
            control=traits.flow in CONTROL,
            conditional=traits.flow.conditional,
            queues=tuple(not set(p) <= integer for p in (sched.pipes, sched.then) if p),
            barrier=traits.sched in pipeline.barriers,
            write_hint=traits.sched in pipeline.write_hints,
        )

    def _narrowed(self, pipes: tuple[str, ...], allowed: tuple[str, ...]) -> tuple[str, ...]:
        """Of pipes in both halves only the half that the block's slotting gives, in order."""
        prefer = self._pipeline.window.prefer
        found = [p for p in pipes if p in allowed] or pipes
        return tuple(sorted(found, key=lambda pipe: (pipe not in prefer, pipe)))


class Places:
    """The places of an out-of-order CPU's trace: pipes depend on the whole fetch block."""

    def __init__(self, halves: Halves, block: int, text: Mapping[int, Insn]) -> None:
        self._halves, self._block, self._text = halves, block, text
        self._places: dict[int, Place] = {}
        self._slots: dict[int, str] = {}

    def at(self, address: int, insn: Insn) -> Place:
        """The place of an instruction."""
        place = self._places.get(address)
        if place is None:
            upper, lower = self._halves.places(insn)
            half = self.slots(address & -self._block)[address % self._block // _WORD]
            place = self._places[address] = upper if half == _UPPER else lower
        return place

    def slots(self, block: int) -> str:
        """The halves that a block's instructions go to, the lowest address first."""
        found = self._slots.get(block)
        if found is None:
            insns = [self._text.get(block + offset) for offset in range(0, self._block, _WORD)]
            found = self._slots[block] = self._halves.block(insns)
        return found
