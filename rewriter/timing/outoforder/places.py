"""What never changes about an instruction where it stands, looked up once for each address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu, OutOfOrder, Sched, Traits
from rewriter.timing.described import CONTROL, NotDescribed, sched_of, traits_of

_NEITHER = "E"
_WORD = 4


@dataclass(slots=True)
class Place:
    """One instruction at one address.

    `reads` are needed to issue, `late` only to issue the second time.  `queues` has one entry for
    each time it is issued: whether that is from the floating-point queue.  `stage` is the first
    pipeline stage, counted from fetch, in which it can retire.
    """

    insn: Insn
    address: int
    traits: Traits
    sched: Sched
    name: str
    pipes: tuple[str, ...]
    then: tuple[str, ...]
    reads: tuple[int, ...]
    late: tuple[int, ...]
    writes: tuple[int, ...]
    latency: int
    stage: int
    control: bool
    queues: tuple[bool, ...]


def letter(cpu: Cpu, pipeline: OutOfOrder, insn: Insn) -> str:
    """Upper, lower, or either half of the integer unit, as the slotting rule writes it.

    Data in a fetch block is slotted too; which way, no manual says.
    """
    if not insn.op.sched:
        raise NotDescribed("data stands beside the code of a fetch block")
    sched = sched_of(cpu, traits_of(cpu, insn))
    pipes = set(sched.then or sched.pipes)
    if pipes and pipes <= set(pipeline.window.upper):
        return "U"
    if pipes and pipes <= set(pipeline.window.lower):
        return "L"
    return _NEITHER


class Places:
    """The places of an out-of-order CPU's trace: pipes depend on the whole fetch block."""

    def __init__(self, cpu: Cpu, pipeline: OutOfOrder, text: Mapping[int, Insn]) -> None:
        self._cpu, self._pipeline, self._text = cpu, pipeline, text
        self._block = cpu.fetch_block.value
        self._places: dict[int, Place] = {}
        self._slots: dict[int, str] = {}

    def at(self, address: int, insn: Insn) -> Place:
        """The place of an instruction."""
        place = self._places.get(address)
        if place is None:
            place = self._places[address] = self._make(address, insn)
        return place

    def slots(self, block: int) -> str:
        """The halves that a block's instructions go to, the lowest address first.

        An instruction that is not known counts as one that can go to either.
        """
        found = self._slots.get(block)
        if found is None:
            letters = [self._letter(block + offset) for offset in range(0, self._block, _WORD)]
            pattern = "".join(reversed(letters))
            found = self._pipeline.window.slotting(pattern)[::-1]
            self._slots[block] = found
        return found

    def _letter(self, address: int) -> str:
        insn = self._text.get(address)
        if insn is None:
            return _NEITHER
        return letter(self._cpu, self._pipeline, insn)

    def _make(self, address: int, insn: Insn) -> Place:
        traits = traits_of(self._cpu, insn)
        sched = sched_of(self._cpu, traits)
        window = self._pipeline.window
        half = self.slots(address & -self._block)[address % self._block // _WORD]
        allowed = window.upper if half == "U" else window.lower
        reads = list(zip(traits.reads, traits.roles, strict=True))
        stage = sched.retire or window.retire_stage
        integer = {*window.upper, *window.lower}
        return Place(
            *(insn, address, traits, sched, traits.sched),
            pipes=_narrowed(sched.pipes, allowed),
            then=_narrowed(sched.then, allowed),
            reads=tuple(r for r, role in reads if role not in sched.late),
            late=tuple(r for r, role in reads if role in sched.late),
            writes=traits.writes,
            latency=sched.latency.value,
            stage=stage.value,
            control=traits.flow in CONTROL,
            queues=tuple(not set(p) <= integer for p in (sched.pipes, sched.then) if p),
        )


def _narrowed(pipes: tuple[str, ...], allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Of pipes in both halves only the half that the block's slotting gives."""
    return tuple(p for p in pipes if p in allowed) or pipes
