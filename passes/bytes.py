"""Narrow loads, stores and sign extensions, where a chip without them spelled them out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from passes.lib.shapes import Narrow, Shapes, cell_load, unmasked
from passes.lib.steps import Change, OwnPass, Steps
from passes.lib.technique import LOADED_BEFORE, UNRELATED, Site
from rewriter.core.code.dataflow import Trace, registers_of
from rewriter.core.edit import Rewrite
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.idioms import Idioms, NarrowMemory
from rewriter.core.target.protocol import Sequential, Target
from rewriter.core.terms.term import Term

_NAMES = {1: "byte", 2: "word"}


class Bytes(OwnPass):
    """A byte or word inside a cell becomes one access of its own.

    Before    ldq_u t,d(p); extbl t,q,r            with q = p + d modulo 8
              ldq_u t,d(p); extqh t,q,u; sra u,56,r      with q = p + d + 1 modulo 8
              ldq_u t,d(p); insbl v,q,i; mskbl t,q,m; bis i,m,s; stq_u s,d(p)
                                              where ldq_u may be on each of the ways to the block
              sll v,56,t; sra t,56,r
    After     ldbu r,d(p)
              ldbu r,d(p); sextb r,r       without sextb where nothing reads the sign
              stb v,d(p)
              sextb v,r
    Requires  BWX.  For words, an aligned address: the compiler's idiom for an aligned word shows
              it, and the idiom for an unaligned one (with extwh, inswh or mskwh of the same
              address in the block) is left alone.
    Proof     The block, for every input; the accessed quadwords stay the same.
    """

    name = "bytes"
    change = Change.IN_PLACE

    def __init__(self) -> None:
        self._shapes: dict[int, Shapes] = {}

    def offered(self, target: Target) -> bool:
        """Where narrow accesses were spelled out."""
        return target.sequential is not None and target.sequential.narrow_memory is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.rewrites(self)

    def sites(self, trace: Trace, target: Sequential, cpu: Cpu) -> Iterator[Site]:
        """The narrow accesses of a block."""
        shapes = self._shapes.setdefault(trace.cell, Shapes(trace.cell))
        spelling, narrow = target.spelling, target.narrow_memory
        if narrow is None:
            return
        block = _Block(trace, spelling, narrow, shapes)
        for slot, (insn, value) in enumerate(zip(trace.insns, trace.value, strict=True)):
            if insn.op.name in spelling.CELL_ACCESSES:
                if value is None:
                    yield from block.store_sites(slot)
            elif value is not None and value.kind in _NARROWED:
                yield from block.load_sites(slot, value)


_NARROWED = ("and", "ashr", "lshr")
"""Kinds of a value that may be a part of another."""


@dataclass
class _Block:
    trace: Trace
    spelling: Idioms
    narrow: NarrowMemory
    shapes: Shapes

    # Loads --------------------------------------------------------------------------------

    def load_sites(self, slot: int, value: Term) -> Iterator[Site]:
        load = cell_load(value, self.trace.cell)
        narrow, related = self.shapes.narrow(value, load) if load is not None else (None, False)
        extended = _sign_extended(value) if narrow is None else None
        if (narrow is None and extended is None) or self._is_move(slot, value):
            return
        if load is not None and narrow is not None and related:
            yield self._load_site(slot, load, narrow)
        elif narrow is not None:
            yield Site(slot, _kind(narrow), (), UNRELATED)
        elif extended is not None:
            yield self._extension_site(slot, value, *extended)

    def _is_move(self, slot: int, value: Term) -> bool:
        return any(operand is value for operand in self.trace.operand[slot].values())

    def _load_site(self, slot: int, load: Term, narrow: Narrow) -> Site:
        kind = _kind(narrow)
        address = unmasked(load.args[1], self.trace.cell)
        assert address is not None
        if narrow.size > 1 and self._crosses(address):
            return Site(slot, kind, (), "unaligned access")
        feeders = self.trace.slice(slot)
        source = next((s for s in sorted(feeders) if self._reads(s, load)), None)
        if source is None:
            return Site(slot, kind, (), "the load is not in the block")
        make, from_ = self._signed_loads if narrow.signed else self._plain_loads, frozenset(feeders)
        proposals = tuple(
            Rewrite(slot, kind, changes, from_, self._aligned(changes, narrow))
            for changes in make(slot, source, sorted(feeders), narrow.size)
        )
        return Site(slot, kind, proposals)

    def _reads(self, slot: int, load: Term) -> bool:
        """Whether a slot loads from the place of a cell load, whatever it keeps of it."""
        insn, terms = self.trace.insns[slot], self.trace.terms
        if not self.trace.table.effects(insn.op).loads:
            return False
        spelled = self.spelling.address(insn)
        if spelled is None:
            return False
        if self.trace.value[slot] is load:
            return True
        base, displacement = spelled
        address = self.trace.operand[slot].get(base)
        if address is None:
            return False
        place = load.args[1]
        return terms.and_(address + terms.const(displacement), place.args[1]) is place

    def _address(self, slot: int) -> tuple[int, int]:
        """Base and displacement of an access that is known to have them."""
        spelled = self.spelling.address(self.trace.insns[slot])
        assert spelled is not None, self.trace.insns[slot]
        return spelled

    def _aligned(self, changes: Changes, narrow: Narrow) -> frozenset[int]:
        return (
            frozenset(s for s, insn in changes if insn is not None)
            if narrow.size > 1
            else frozenset()
        )

    def _target(self, slot: int) -> int:
        return registers_of(self.trace.table.defs(self.trace.insns[slot]))[0]

    def _plain_loads(
        self, slot: int, source: int, feeders: list[int], size: int
    ) -> Iterator[Changes]:
        base, displacement = self._address(source)
        result, temporary = self._target(slot), self._target(source)
        early = self.narrow.narrow_load(size, result, base, displacement)
        yield ((source, early), (slot, None))
        yield ((slot, early),)
        for between in reversed([f for f in feeders if f > source]):
            yield ((between, early), (slot, None))
        kept = self.narrow.narrow_load(size, temporary, base, displacement)
        yield ((source, kept), (slot, self.spelling.move(temporary, result)))

    def _signed_loads(
        self, slot: int, source: int, feeders: list[int], size: int
    ) -> Iterator[Changes]:
        base, displacement = self._address(source)
        result, temporary = self._target(slot), self._target(source)
        places = (source, *reversed([f for f in feeders if f > source]))
        for place in places:
            # Enough where nothing reads the sign: the byte is stored again, or masked.
            load = self.narrow.narrow_load(size, result, base, displacement)
            yield ((place, load),) if place == slot else ((place, load), (slot, None))
        for place in places:
            between = self._target(place)
            for register in dict.fromkeys((between, temporary, result)):
                load = self.narrow.narrow_load(size, register, base, displacement)
                yield ((place, load), (slot, self.narrow.sign_extend(size, register, result)))

    def _extension_site(self, slot: int, whole: Term, size: int, inner: Term) -> Site:
        result, terms = self._target(slot), self.trace.terms
        shifted, amount = whole.args[0], whole.args[1]
        feeders = self.trace.slice(slot)
        sources = dict.fromkeys(
            register
            for feeder in (slot, *sorted(feeders, reverse=True))
            for register, value in self.trace.operand[feeder].items()
            if value is inner or terms.shl(value, amount) is shifted
        )
        kind = f"sign extension of a {_NAMES[size]}"
        changes = (((slot, self.narrow.sign_extend(size, s, result)),) for s in sources)
        return Site(slot, kind, tuple(Rewrite(slot, kind, c, frozenset(feeders)) for c in changes))

    # Stores -------------------------------------------------------------------------------

    def store_sites(self, slot: int) -> Iterator[Site]:
        if slot not in self.trace.stored:
            return
        place, value = self.trace.stored[slot]
        found = _merged(value, place, self.trace.cell)
        if found is None:
            before = (one for one in _kept(value, place, self.trace.cell) if one[2].kind == "var")
            yield from (Site(slot, _stored(one[0], one[3]), (), LOADED_BEFORE) for one in before)
            return
        size, inner = found
        kind = _stored(size, inner)
        address = unmasked(place, self.trace.cell)
        if size > 1 and address is not None and self._crosses(address):
            yield Site(slot, kind, (), "unaligned access")
            return
        yield self._store_site(slot, kind, size, inner)

    def _store_site(self, slot: int, kind: str, size: int, inner: Term | None) -> Site:
        base, displacement = self._address(slot)
        feeders = self.trace.slice(slot)
        aligned = frozenset({slot}) if size > 1 else frozenset()

        def rewrite(source: int | None, *others: tuple[int, Insn | None]) -> Rewrite:
            store = self.narrow.narrow_store(size, source, base, displacement)
            return Rewrite(slot, kind, ((slot, store), *others), frozenset(feeders), aligned)

        if inner is None:
            return Site(slot, kind, (rewrite(None),))
        sources = self._holders(slot, inner, size)
        proposals = [rewrite(register) for register, _ in sources]
        for register, at in sources:
            if at != slot:
                # The value's register is written again before the store: keep a copy.
                copy = self._target(at)
                proposals.append(rewrite(copy, (at, self.spelling.move(register, copy))))
        return Site(slot, kind, tuple(proposals))

    def _holders(self, slot: int, inner: Term, size: int) -> list[tuple[int, int]]:
        """Registers that hold the stored value, and a slot among the feeders that reads them."""
        store = inner.store
        mask = store.const((1 << 8 * size) - 1)
        found: dict[tuple[int, int], None] = {}
        for feeder in sorted(self.trace.slice(slot), reverse=True):
            for register, value in self.trace.operand[feeder].items():
                if value is inner or store.and_(value, mask) is store.and_(inner, mask):
                    found[register, feeder] = None
        return list(found)

    def _crosses(self, address: Term) -> bool:
        """Whether the block handles the part of the access beyond its cell."""
        root, _ = address.store.linear(address)
        for slot, insn in enumerate(self.trace.insns):
            values = self.trace.operand[slot].values() if insn.name in self.narrow.CROSSING else ()
            if any(value.store.linear(value)[0] is root for value in values):
                return True
        return False


Changes = tuple[tuple[int, Insn | None], ...]


def _kind(narrow: Narrow) -> str:
    return f"{'signed ' if narrow.signed else ''}{_NAMES[narrow.size]} load"


def _stored(size: int, inner: Term | None) -> str:
    return f"{_NAMES[size]} store" if inner is not None else f"zero {_NAMES[size]} store"


def _sign_extended(value: Term) -> tuple[int, Term] | None:
    """(bytes, x) when the value is x's low bytes, sign-extended by two shifts."""
    if value.kind != "ashr" or value.args[1].kind != "const":
        return None
    inner = value.args[0]
    if inner.kind != "shl" or inner.args[1] is not value.args[1]:
        return None
    size = (value.store.width - value.args[1].value) // 8
    return (size, inner.args[0]) if value.args[1].value % 8 == 0 and size in _NAMES else None


def _merged(value: Term, place: Term, cell: int) -> tuple[int, Term | None] | None:
    """(size, what) when `value` is the cell at `place` with one narrow field replaced.

    `what` is None for zeros.
    """
    for size, shift, other, field in _kept(value, place, cell):
        if other.kind != "load" or other.args[1] is not place:
            continue
        if field is None:
            return size, None
        inner = _shifted(field, shift, size)
        if inner is not None:
            return size, inner
    return None


def _kept(value: Term, place: Term, cell: int) -> Iterator[tuple[int, Term, Term, Term | None]]:
    """(size, shift, what, field) where `value` is something but for a narrow field of the place.

    The field is at the shift; None where it is zero.
    """
    store, address = value.store, unmasked(place, cell)
    if address is None:
        return
    shift = store.shl(store.and_(address, store.const(cell - 1)), store.const(3))
    for size in _NAMES:
        hole = store.not_(store.shl(store.const((1 << 8 * size) - 1), shift))
        for kept, field in ((value, None), *_halves(value)):
            if kept.kind == "and" and hole in kept.args:
                yield size, shift, kept.args[0 if kept.args[1] is hole else 1], field


def _halves(value: Term) -> tuple[tuple[Term, Term], ...]:
    return (
        ((value.args[0], value.args[1]), (value.args[1], value.args[0]))
        if value.kind == "or"
        else ()
    )


def _shifted(field: Term, shift: Term, size: int) -> Term | None:
    """x when the field is x's low bytes at the shift, and nothing else."""
    store = field.store
    if field.kind != "shl" or field.args[1] is not shift:
        return None
    inner = field.args[0]
    mask = (1 << 8 * size) - 1
    if inner.kind == "and" and inner.args[1].kind == "const" and inner.args[1].value == mask:
        return inner.args[0] if store.bits(inner) == 8 * size else inner
    return inner if store.bits(inner) <= 8 * size else None
