"""Straight pieces of code on random states: do two of them do the same?

A second opinion on a proof that takes instructions as unknown functions: here they are what the
manual says, in groups that the machine checks.  Memory is everywhere and full of noise; registers
hold few addresses, so that accesses often meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from rewriter.core.concrete import Misaligned
from rewriter.core.groups import Slot
from rewriter.core.interpret import Memory, Unspecified
from rewriter.core.isa import Flow
from targets.ia64.fields import BUNDLE
from targets.ia64.machine.faults import MachineFault
from targets.ia64.machine.frames import Frame
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.state import State
from targets.ia64.registers import AR, BR, FR, GR, NAMES, NUMBERS, PR

# The addresses that registers hold.  As frame markers, too, they are possible ones: up to 96
# registers, none of them local.
_BASE, _STEP, _PLACES = 0x2000_0000_0000_0000, 16, 7
_WORD, _SCATTER, _MOST = 8, 0x9E3779B97F4A7C15, 7
_BACKING = 0x6000_0000_0000_0000
_LEAVES = (Flow.CALL, Flow.INDIRECT_CALL, Flow.RETURN)
_SMALL = tuple(NUMBERS[name] for name in ("ar.lc", "ar.ec"))
_PFS = NUMBERS["ar.pfs"]


def _place(number: int) -> int:
    """One of few addresses, or zero."""
    place = number % _PLACES
    return _BASE + _STEP * place if place else 0


class Everywhere(Memory):
    """Memory at every address; words that nobody wrote depend on their address and a seed, and
    most of them are addresses again."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._written: dict[int, int] = {}

    def _noise(self, address: int) -> int:
        number = (address // _WORD + self._seed) * _SCATTER % (1 << 64) >> 20
        word = _place(number >> 8) if number & _MOST else number * _SCATTER
        return word >> 8 * (address % _WORD) & 0xFF

    def read(self, address: int, size: int) -> bytes:
        written = self._written
        return bytes(
            written[at] if at in written else self._noise(at)
            for at in range(address, address + size)
        )

    def write(self, address: int, content: bytes) -> None:
        self._written.update(enumerate(content, address))

    @property
    def changed(self) -> dict[int, int]:
        """The bytes that are not what they were."""
        return {at: byte for at, byte in self._written.items() if byte != self._noise(at)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of a piece left behind: where control went (None: behind the piece), registers
    with their NaT bits, the bytes that changed, the events."""

    target: int | None
    registers: tuple[tuple[int, int], ...]
    memory: dict[int, int]
    events: tuple[tuple[object, ...], ...]


def outcome(slots: Sequence[Slot], seed: int) -> Outcome:
    """Runs a piece on the state of a seed.

    Registers are as they are before a call or a return names them anew.  Raises MachineFault,
    Misaligned and Unspecified as a run does.
    """
    memory = Everywhere(seed)
    processor = Processor(memory, _BACKING)
    state = processor.state
    _fill(state, Random(seed))
    end = (slots[-1].address & -BUNDLE) + BUNDLE
    processor.adopt(slots, end)
    leaving = {slot.address for slot in slots if slot.insn.op.flow in _LEAVES}
    following = {a.address: b.address for a, b in pairwise(slots)}
    at, target = slots[0].address, None
    registers = _registers(state)
    for step in processor.steps(at, end):
        target = step.target
        if at not in leaving or target is None:
            registers = _registers(state)
        if target is not None:
            break
        at = following.get(at, end)
    return Outcome(target, registers, memory.changed, tuple(state.events))


def _registers(state: State) -> tuple[tuple[int, int], ...]:
    nats = (*state.nat, *[0] * (len(state.r) - len(state.nat)))
    return tuple(zip(state.r, nats, strict=True))


def _fill(state: State, source: Random) -> None:
    state.reframe(Frame(sof=96))
    for register in range(GR + 1, FR):
        state.put(register, _place(source.getrandbits(16)))
    for register in range(FR + 2, PR):
        exponent = 0xFFFF + source.randrange(-8, 8)
        state.put_floating(register, exponent << 64 | 1 << 63 | source.getrandbits(63))
    for register in range(PR + 1, BR):
        state.put_predicate(register, source.getrandbits(1))
    for register in range(BR, AR):
        state.r[register] = _BASE + BUNDLE * source.randrange(1 << 20)
    for register in _SMALL:
        state.r[register] = source.randrange(4)
    state.r[_PFS] = Frame(sof=40, sol=20).value


def differences(
    old: Sequence[Slot], new: Sequence[Slot], live: int, seeds: Iterable[int]
) -> Iterator[str]:
    """What `new` does otherwise than `old`, on the states of `seeds`, if anything.

    `live` is the mask of the registers that count.  A state on which `old` faults says nothing.
    """
    for seed in seeds:
        try:
            expected = outcome(old, seed)
        except (MachineFault, Misaligned, Unspecified):
            continue
        try:
            found = outcome(new, seed)
        except (MachineFault, Misaligned, Unspecified) as fault:
            yield f"seed {seed}: {fault}"
            continue
        if found.target != expected.target:
            yield f"seed {seed}: goes to {found.target}, not to {expected.target}"
        for register, (mine, its) in enumerate(
            zip(found.registers, expected.registers, strict=True)
        ):
            if mine != its and live >> register & 1:
                yield f"seed {seed}: {NAMES[register]} is {mine[0]:#x}, not {its[0]:#x}"
        if found.memory != expected.memory:
            yield f"seed {seed}: other bytes in memory"
        if found.events != expected.events:
            yield f"seed {seed}: other events"
