"""Loads that would be replayed for a narrower store before them get their value another way."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from passes.lib.conflicts import Conflict, Suspects, conflicts, narrow, window_of
from passes.lib.insert import Declined, Finder, Insertion, Setting, Slots, cycles
from passes.lib.steps import Change, OwnPass, Steps
from rewriter.analysis.program import Program
from rewriter.core.code.dataflow import registers_of, run, written
from rewriter.core.code.program import Function
from rewriter.core.code.superblock import Superblock
from rewriter.core.edit import Evidence
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.plural import counted
from rewriter.core.target.protocol import Sequential, Target
from rewriter.core.terms.term import Term
from rewriter.verify.walk.equivalence import Comparison, Different

_KIND = "load of a narrower store"


class Replay(OwnPass):
    """A quadword's load behind the store of one of its longwords takes only the other from memory.

    Before    lda t0,16            After    lda t0,16
              stl t0,24(sp)                 stl t0,24(sp)
              ...                           ...
              ldq a3,24(sp)                 ldl a3,28(sp)
                                            sll a3,32,a3
                                            lda a3,16(a3)
    Requires  A place on the stack, where no other thread stores; the stored value a constant, or
              still in its register and another one free, in one straight stretch; room for what
              comes in.  (gcc passes every va_list so, and the chip replays the old load.)
    Proof     The code up to the load and with what stands in its place, executed symbolically.

    Made where the model of the CPU says that the straight code gets faster.
    """

    name = "replay"
    change = Change.ROOM

    def offered(self, target: Target) -> bool:
        """Where a load may be made of halves."""
        return target.sequential is not None and target.sequential.joining is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.inserts(self)

    def finder(self, program: Program, setting: Setting) -> Finder:
        """What finds the sites of functions."""
        return _Replayed(self, program, setting).found

    def insertions(
        self, superblock: Superblock, setting: Setting, slots: Slots
    ) -> Iterator[Insertion | Declined]:
        """The sites of a superblock."""
        addresses = superblock.addresses()
        now = [slots.get(at, insn) for at, insn in zip(addresses, superblock.insns, strict=True)]
        if not any(insn is not None and narrow(insn.op, setting.target) for insn in now):
            return
        for conflict in conflicts(
            now, setting.target, window_of(setting.cpu, superblock.insns[0].size)
        ):
            if conflict.sure:
                yield _forwarded(setting, addresses, now, dict(superblock.leaving), conflict)


class _Replayed:
    """Finds the sites of functions; a superblock is made only where one is."""

    def __init__(self, replay: Replay, program: Program, setting: Setting) -> None:
        self.replay, self.program, self.setting = replay, program, setting
        self.suspects = Suspects(program.listing, setting.target)
        self.reach = window_of(setting.cpu, program.listing.table.size)

    def found(self, function: Function, slots: Slots) -> Iterator[Insertion | Declined]:
        """The sites of a function."""
        here = self.program.listing.span(function.start, function.end)
        if self.suspects.narrow(*here) and (slots or self.suspects.within(*here)):
            changed = sorted(slots)
            wanted = partial(self._meet, slots, changed)
            for block in self.program.superblocks(function, wanted):
                yield from self.replay.insertions(block, self.setting, slots)

    def _meet(self, slots: Slots, changed: Sequence[int], first: int, last: int) -> bool:
        """Whether anything at positions [first, last) may be a site; `changed` are the slots."""
        listing = self.program.listing
        at = bisect_left(changed, int(listing.addresses[first])) if changed else 0
        touched = at < len(changed) and changed[at] <= int(listing.addresses[last - 1])
        if not touched and not self.suspects.within(first, last):
            return False
        insns, places = listing.insns_at(first, last), listing.addresses[first:last].tolist()
        now = [slots.get(at, insn) for at, insn in zip(places, insns, strict=True)]
        return any(c.sure for c in conflicts(now, self.setting.target, self.reach))


def _forwarded(
    setting: Setting,
    addresses: Sequence[int],
    now: Sequence[Insn | None],
    exits: Mapping[int, int],
    conflict: Conflict,
) -> Insertion | Declined:
    load, at = now[conflict.load], addresses[conflict.load]
    assert load is not None
    if at in setting.locked:
        return Declined(_KIND, at, "between load-locked and store-conditional")
    if not _on_stack(setting.target, load):
        return Declined(_KIND, at, "another thread may store all that it loads at once")
    joining = setting.target.joining
    if joining is None:
        return Declined(_KIND, at, "the machine has no short way to make the value")
    known = _stored(setting, addresses, now, conflict.store)
    source = _kept(setting.target, now, conflict)
    if known is None and source is None:
        return Declined(_KIND, at, "the value stored is gone")
    spare = _spare(setting.target, now, conflict.load, exits)
    insns = joining.joined(load, conflict.distance, known, source, spare)
    if insns is None:
        return Declined(_KIND, at, "no short way to make the value, or no free register")
    before, after = _around(now, conflict, (load,)), _around(now, conflict, insns)
    took, takes = cycles(before, setting), cycles(after, setting)
    if takes >= took:
        return Declined(_KIND, at, "not faster in the model")
    try:
        evidence = _proved(setting, addresses, now, conflict.load, insns)
    except Different as different:
        return Declined(_KIND, at, different.what)
    said = f"{counted(took, 'cycle')} became {takes} in the model of {setting.cpu.name}"
    detail = f"{said}: no replay trap"
    saves = Fraction(took - takes)
    return Insertion(_KIND, at, insns, replace(evidence, detail=detail), saves)


def _on_stack(target: Sequential, load: Insn) -> bool:
    """Whether a load is from the stack, where nobody else stores."""
    place = target.spelling.address(load)
    return place is not None and place[0] == target.stack


def _stored(
    setting: Setting, addresses: Sequence[int], now: Sequence[Insn | None], store: int
) -> int | None:
    """The constant that a slot stores, if it is one."""
    target, insn = setting.target, now[store]
    assert insn is not None
    source = insn.operands[0]
    if source in target.table.constants:
        return target.table.constants[source]
    terms = target.table.terms()
    ran = run(target.table, terms, now[: store + 1], addresses[: store + 1], ())
    reads = registers_of(target.table.uses(insn))
    value: Term = ran.operand[store][reads.index(source)]
    return value.value if value.kind == "const" else None


def _kept(target: Sequential, now: Sequence[Insn | None], conflict: Conflict) -> int | None:
    """The register whose value was stored, if it still has that at the load."""
    store = now[conflict.store]
    assert store is not None
    source = store.operands[0]
    if source in target.table.constants or not target.table.uses(store) >> source & 1:
        return None
    between = written(target.table, now[conflict.store + 1 : conflict.load])
    return None if between >> source & 1 else source


def _spare(
    target: Sequential, now: Sequence[Insn | None], load: int, exits: Mapping[int, int]
) -> int | None:
    """A register that is written behind a slot before anything reads it."""
    table, first = target.table, now[load]
    assert first is not None
    read = table.defs(first) | table.uses(first)
    for slot in range(load + 1, len(now)):
        insn = now[slot]
        if insn is not None:
            read |= table.uses(insn)
            free = table.defs(insn) & ~read & target.spelling.SCRATCH
            if free:
                return registers_of(free)[0]
            read |= table.defs(insn)
        read |= exits.get(slot, 0)
    return None


def _around(now: Sequence[Insn | None], conflict: Conflict, insns: Sequence[Insn]) -> list[Insn]:
    """Straight code from the store to behind the load, with something in the load's place."""
    before = [insn for insn in now[conflict.store : conflict.load] if insn is not None]
    after: list[Insn] = []
    for insn in now[conflict.load + 1 :]:
        if insn is None or insn.op.flow is not Flow.NEXT:
            break
        after.append(insn)
    return [*before, *insns, *after]


def _proved(
    setting: Setting,
    addresses: Sequence[int],
    now: Sequence[Insn | None],
    load: int,
    insns: Sequence[Insn],
) -> Evidence:
    """Both ways do the same from the superblock's start to the load; raises Different."""
    target = setting.target
    terms = target.table.terms()
    behind = range(addresses[load] + 1, addresses[load] + len(insns))
    places = [*addresses[: load + 1], *behind]
    old: list[Insn | None] = [*now[: load + 1]]
    new: list[Insn | None] = [*now[:load], *insns]
    before, after = (
        run(target.table, terms, way, places[: len(way)], ()).state for way in (old, new)
    )
    comparison = Comparison(setting.prover, terms, target.table.register_names)
    spare = written(target.table, insns) & ~written(target.table, [now[load]])
    comparison.check(before, after, written(target.table, old) & ~spare)
    return comparison.evidence()
