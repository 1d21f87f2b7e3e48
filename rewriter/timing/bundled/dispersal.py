"""Dispersal: which slots issue in one cycle, and through which ports.

A cycle takes slots in order until a stop, the last bundle that it may look at, a shape or an
instruction that ends it, or a slot for which no port is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.bundled_cpu import ANY, Bundled, BundledCpu, BundledTraits, IssueClass

STOP = "stop"
WINDOW = "bundles"
PORTS = "ports"
SHAPE = "shape"
APART = "pair of bundles"
KIND = "instruction"
END = "end"
_KEPT = 1 << 16  # answers

Asked = tuple[tuple[str, str, str, int], ...]
"""Per slot: class, unit, shape of its bundle ("" if not known) and its number."""


class Cycle(NamedTuple):
    """The slots that issue together with their traits and ports, and what ended the cycle.

    `ended` is `STOP` where the code says so, `END` at the end of the code; anything else is an
    implicit split.
    """

    slots: tuple[Slot, ...]
    traits: tuple[BundledTraits, ...]
    ports: tuple[str, ...]
    ended: str


class Located(NamedTuple):
    """A slot with what dispersal asks of it."""

    slot: Slot
    traits: BundledTraits
    bundle: int
    asked: tuple[str, str, str, int]
    last: bool


def disperse(cpu: BundledCpu, slots: Sequence[Slot]) -> Iterator[Cycle]:
    """The cycles of straight code, whose first slot begins one; whole bundles."""
    located = list(locate(cpu.issue, slots))
    at = 0
    while at < len(slots):
        cycle = next_cycle(cpu.issue, located, at, cpu.issue.dispersal.bundles.value)
        yield cycle
        at += len(cycle.slots)


def next_cycle(issue: Bundled, located: Sequence[Located], start: int, bundles: int) -> Cycle:
    """The cycle that begins at a slot, when it can look at so many bundles."""
    ports, ended = taken(issue, located, start, bundles)
    members = located[start : start + len(ports)]
    slots, traits = tuple([one.slot for one in members]), tuple([one.traits for one in members])
    return Cycle(slots, traits, ports, ended)


def taken(
    issue: Bundled, located: Sequence[Located], start: int, bundles: int
) -> tuple[tuple[str, ...], str]:
    """The ports of the slots that such a cycle takes, and what ended it."""
    end, ended = _extent(issue, located, start, bundles)
    asked = tuple([one.asked for one in located[start:end]])
    ports = assign(issue, asked)
    return ports, ended if len(ports) == len(asked) else PORTS


def fits(cpu: BundledCpu, members: Sequence[tuple[Insn, str]]) -> bool:
    """Whether instructions in slots of these units, in this order, find ports in one cycle.

    What bundles they stand in is not asked, nor whether a kind of instruction ends the cycle:
    `splits` says that.
    """
    asked = tuple((cpu.issue.traits(insn).sched, unit, "", 0) for insn, unit in members)
    return len(assign(cpu.issue, asked)) == len(asked)


def splits(cpu: BundledCpu, earlier: Insn, later: Insn) -> bool:
    """Whether the second never issues in the cycle of the first, in this order."""
    issue = cpu.issue
    one, other = issue.traits(earlier), issue.traits(later)
    _, begins, firsts = _splitting(issue, other.kinds)
    if _splitting(issue, one.kinds)[0] or begins or not one.kinds.isdisjoint(firsts):
        return True
    return one.unit != other.unit and one.unit in _closing(issue) and _is_busy(issue, one.sched)


def closes(cpu: BundledCpu, shape: str, is_busy: bool) -> bool:
    """Whether the cycle ends behind a bundle of a shape, with something in its last slot or not."""
    return _ends(cpu.issue, shape, is_busy)


def apart(cpu: BundledCpu, first: str, second: str) -> bool:
    """Whether bundles of two shapes, in this order, never share a cycle."""
    return (first, second) in cpu.issue.dispersal.apart


def _closing(issue: Bundled) -> set[str]:
    """The units of slots that end a bundle and, when there is something in them, the cycle."""
    return {shape[-1] for shape in issue.dispersal.ending | issue.dispersal.ending_if_busy}


def locate(issue: Bundled, slots: Sequence[Slot]) -> Iterator[Located]:
    """The place of each slot in its bundle."""
    size = issue.dispersal.bundle_bytes.value
    start = 0
    while start < len(slots):
        bundle = slots[start].address // size
        end = start + 1
        while end < len(slots) and slots[end].address // size == bundle:
            end += 1
        described = [issue.traits(slot.insn) for slot in slots[start:end]]
        shape = "".join([traits.unit for traits in described])
        for number, (slot, traits) in enumerate(zip(slots[start:end], described, strict=True)):
            asked = (traits.sched, traits.unit, shape, number)
            yield Located(slot, traits, bundle, asked, number == end - start - 1)
        start = end


def _ends(issue: Bundled, shape: str, is_busy: bool) -> bool:
    rules = issue.dispersal
    return shape in rules.ending or (is_busy and shape in rules.ending_if_busy)


def _is_busy(issue: Bundled, sched: str) -> bool:
    """Whether an instruction of the class counts as something in the last slot of a bundle."""
    return sched not in issue.dispersal.idle


def _extent(
    issue: Bundled, located: Sequence[Located], start: int, bundles: int
) -> tuple[int, str]:
    """Where the cycle that begins at `start` ends at the latest, ports aside, and why there."""
    apart = issue.dispersal.apart
    for at in range(start, len(located)):
        one = located[at]
        if at > start:
            before = located[at - 1]
            if one.bundle != before.bundle:
                bundles -= 1
                if not bundles:
                    return at, WINDOW
                if (before.asked[2], one.asked[2]) in apart:
                    return at, APART
            if _splits_at(issue, located, start, at):
                return at, KIND
        if one.slot.stop:
            return at + 1, STOP
        if one.last and at + 1 < len(located):
            sched, _, shape, _ = one.asked
            if _ends(issue, shape, _is_busy(issue, sched)):
                return at + 1, SHAPE
    return len(located), END


def _splits_at(issue: Bundled, located: Sequence[Located], start: int, at: int) -> bool:
    """Whether a kind of instruction ends the cycle that begins at `start` before slot `at`."""
    _, begins, pairs = _splitting(issue, located[at].traits.kinds)
    return (
        begins
        or _splitting(issue, located[at - 1].traits.kinds)[0]
        or any(kind in one.traits.kinds for kind in pairs for one in located[start:at])
    )


@lru_cache(maxsize=_KEPT)
def _splitting(issue: Bundled, kinds: frozenset[str]) -> tuple[bool, bool, tuple[str, ...]]:
    """Whether kinds end a cycle behind them, before them, and behind what other kinds.

    Two that must keep a distance never share a cycle.
    """
    rules = issue.dispersal
    apart = [pair for pair in issue.pairs if pair.cycles.value]
    ends = any(kinds & pair.earlier for pair in apart if ANY in pair.later)
    firsts = {kind for pair in apart if kinds & pair.later and ANY not in pair.later
              for kind in pair.earlier}  # fmt: skip
    firsts |= {first for first, second in rules.between if second in kinds}
    begins = ANY in firsts or not kinds.isdisjoint(rules.before)
    return ends or not kinds.isdisjoint(rules.after), begins, tuple(sorted(firsts - {ANY}))


@lru_cache(maxsize=_KEPT)
def assign(issue: Bundled, asked: Asked) -> tuple[str, ...]:
    """The ports of the longest beginning that finds some; at least the first slot does."""
    for count in range(len(asked), 1, -1):
        found = _ports(issue, asked[:count])
        if found is not None:
            return found
    return _ports(issue, asked[:1]) or ("",)


def _ports(issue: Bundled, asked: Asked) -> tuple[str, ...] | None:
    classes = [issue.class_of(one[0]) for one in asked]
    taken: dict[int, str] = {}
    used: set[str] = set()
    for at in sorted(range(len(asked)), key=lambda n: classes[n].rank.get(asked[n][1], 0)):
        allowed = _allowed(issue, classes[at], asked[at])
        free = [port for port in allowed if port not in used]
        if not free or (classes[at].all_ports and len(free) < len(allowed)):
            return None
        taken[at] = free[0]
        used.update(free if classes[at].all_ports else free[:1])
    return tuple(taken[at] for at in range(len(asked)))


def _allowed(
    issue: Bundled, described: IssueClass, asked: tuple[str, str, str, int]
) -> tuple[str, ...]:
    """The ports of a slot; the place decides for what is not idle."""
    sched, unit, shape, number = asked
    rules = issue.dispersal
    if _is_busy(issue, sched) and (shape, number) in rules.places:
        return rules.places[shape, number]
    return described.ports.get(unit, ())
