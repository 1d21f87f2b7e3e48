"""Straight pieces of code on random states: do two of them do the same?

A second opinion on a proof that takes instructions as unknown functions: here they are what the
manual says, in groups that the machine checks.  Memory is everywhere and full of noise; registers
hold few addresses, so that accesses often meet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from types import MappingProxyType

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Flow
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import Memory, Unspecified
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.machine.faults import MachineFault
from targets.ia64.machine.frames import Frame
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.state import NATVAL, State
from targets.ia64.registers import AR, BR, FR, GR, NAMES, NUMBERS, PR

# The addresses that registers hold.  As frame markers, too, they are possible ones: up to 96
# registers, none of them local.
_BASE, _STEP, _PLACES = 0x2000_0000_0000_0000, 16, 7
_WORD, _SCATTER, _MOST = 8, 0x9E3779B97F4A7C15, 7
_BACKING = 0x6000_0000_0000_0000
_LEAVES = (Flow.CALL, Flow.INDIRECT_CALL, Flow.RETURN)
_SMALL = tuple(NUMBERS[name] for name in ("ar.lc", "ar.ec"))
_PFS = NUMBERS["ar.pfs"]
_CLEAN, _WHOLE = 4, 16  # one state in so many has NaTs, in one register of so many


def _place(number: int) -> int:
    """One of few addresses, or zero."""
    place = number % _PLACES
    return _BASE + _STEP * place if place else 0


def _value(source: Random) -> int:
    """An address, or now and then any number that can be one."""
    if source.randrange(_WHOLE) == 0:
        return source.getrandbits(61) * _WORD
    return _place(source.getrandbits(16))


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
    with their NaT bits, the bytes that changed, the events, how often each access was made.

    `reached` is the address at which control goes on, None for that of a caller or a callee: then
    `leaves` is that of the slot at which it left.
    """

    target: int | None
    reached: int | None
    leaves: int | None
    registers: tuple[tuple[int, int], ...]
    memory: dict[int, int]
    events: tuple[tuple[object, ...], ...]
    accesses: Mapping[tuple[int, int, bool], int]


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
    accesses: Counter[tuple[int, int, bool]] = Counter()
    for step in processor.steps(at, end):
        target = step.target
        if step.access is not None and step.size:
            accesses[step.access, step.size, step.store] += 1
        if at not in leaving or target is None:
            registers = _registers(state)
        if target is not None:
            break
        at = following.get(at, end)
    reached: int | None = end if target is None else target
    leaves = at if target is not None and at in leaving else None
    if leaves is not None:
        reached = None
    return Outcome(
        target, reached, leaves, registers, memory.changed, tuple(state.events), accesses
    )


def _registers(state: State) -> tuple[tuple[int, int], ...]:
    nats = (*state.nat, *[0] * (len(state.r) - len(state.nat)))
    return tuple(zip(state.r, nats, strict=True))


def _fill(state: State, source: Random) -> None:
    state.reframe(Frame(sof=96))
    for register in range(GR + 1, FR):
        state.put(register, _value(source))
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
    if source.randrange(_CLEAN) == 0:
        _spoil(state, source)


def _spoil(state: State, source: Random) -> None:
    """Some registers get a NaT."""
    for register in (*range(GR + 1, FR), *range(FR + 2, PR)):
        if source.randrange(_WHOLE) == 0:
            if register < FR:
                state.nat[register] = 1
            else:
                state.put_floating(register, NATVAL)


def _told(slots: Sequence[Slot], seed: int) -> Outcome | str:
    """The outcome from the state of a seed, or the fault that there is instead."""
    try:
        return outcome(slots, seed)
    except (MachineFault, Misaligned, Unspecified) as fault:
        return str(fault)


class Trial:
    """A piece's outcomes from the states of seeds, to hold others against.

    A state on which the piece faults says nothing: `told` has the others.
    """

    def __init__(self, old: Sequence[Slot], seeds: Iterable[int]) -> None:
        found = ((seed, _told(old, seed)) for seed in seeds)
        self.told = {seed: what for seed, what in found if isinstance(what, Outcome)}

    @classmethod
    def of(cls, old: Sequence[Slot], count: int) -> Trial:
        """On so many states, or on those of three times as many that say something."""
        trial = cls(old, ())
        for seed in range(3 * count):
            if len(trial.told) < count and isinstance(what := _told(old, seed), Outcome):
                trial.told[seed] = what
        return trial

    def differences(
        self,
        new: Sequence[Slot],
        live: int,
        place: Callable[[int], int] = int,
        at: Mapping[int, int] = MappingProxyType({}),
        left: Mapping[int, int] = MappingProxyType({}),
    ) -> Iterator[str]:
        """What `new` does otherwise, if anything.

        `live` is the mask of the registers that count where control leaves, `at` has it by the
        address to which it goes, where that is another, `left` by the slot of a call or a return.
        `place` gives the address in the old code that one of the new code stands for.
        """
        for seed, expected in self.told.items():
            found = _told(new, seed)
            if isinstance(found, str):
                yield f"seed {seed}: {found}"
                continue
            if found.target is not None:
                found = replace(found, target=place(found.target))
            counts = live
            if expected.reached is not None:
                counts = at.get(expected.reached, live)
            elif expected.leaves is not None:
                counts = left.get(expected.leaves, live)
            for what in _otherwise(expected, found, counts):
                yield f"seed {seed}: {what}"


def _otherwise(expected: Outcome, found: Outcome, live: int) -> Iterator[str]:
    if found.target != expected.target:
        yield f"goes to {found.target}, not to {expected.target}"
    pairs = zip(found.registers, expected.registers, strict=True)
    for register, (mine, its) in enumerate(pairs):
        if mine != its and live >> register & 1:
            nats = " with another NaT bit" if mine[1] != its[1] else ""
            yield f"{NAMES[register]} is {mine[0]:#x}, not {its[0]:#x}{nats}"
    if found.memory != expected.memory:
        yield "other bytes in memory"
    if found.events != expected.events:
        yield "other events"
    if found.accesses != expected.accesses:
        yield "other accesses"


def differences(
    old: Sequence[Slot], new: Sequence[Slot], live: int, seeds: Iterable[int]
) -> Iterator[str]:
    """What `new` does otherwise than `old`, on the states of `seeds`, if anything.

    `live` is the mask of the registers that count.
    """
    return Trial(old, seeds).differences(new, live)
