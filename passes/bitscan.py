"""Searches for a bit, where a chip without the count spelled them out."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

from passes.lib.searches import LOWEST, TESTS, Search, Searches
from passes.lib.steps import Change, OwnPass, Steps
from passes.lib.technique import Site, usable
from rewriter.core.code.dataflow import Trace, registers_of
from rewriter.core.edit import Rewrite
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.idioms import BitCounting, Step
from rewriter.core.target.protocol import Sequential, Target
from rewriter.core.terms.term import Term, rebuilt

_LEAST = 5  # instructions of a cascade of tests that is worth a look
_LEAST_COUNTING = 3  # of one that has a count in it
_NEAR = 4  # steps from a count to the end of a search
_LARGEST = 160  # nodes of a value that is looked at
_PROPOSALS = 12
_ADDENDS = 6  # of a sum that may have a search in it
_COUNTS = frozenset({"ctpop", "cttz", "ctlz"})
_PLAIN = frozenset({"add", "sub", "and", "or", "xor", "ashr", "lshr", "shl", "ite", *_COUNTS})
_LEAVES = frozenset({"var", "load", "opaque"})

Changes = tuple[tuple[int, Insn | None], ...]


class BitScan(OwnPass):
    """A cascade of tests, or of other counts, that looks for a bit becomes a count.

    Before    cmpbge zero,x,m; lda u,1(m); bic u,m,i; and i,0xcc,a; and i,0xf0,b; and i,0xaa,c;
              cmpult zero,a,a; cmpult zero,b,b; cmpult zero,c,c; addq a,a,a; s4addq b,a,b;
              addq b,c,k; extbl x,k,y; the same cascade on y & -y; s8addq k,y,r
              negq m,t; and m,t,i; and i,0xf0,a; and i,0xcc,b; and i,0xaa,c; cmovne a,4,a;
              cmovne b,2,b; cmovne c,1,c; addq a,b,a; addq p,c,r; addq r,a,r
              addi t,x,-1; andc t,t,x; popcntd r,t
    After     cttz x,r; and r,63,r
              cttz m,t; and t,7,t; addq p,t,r
              cnttzd r,x
    Requires  A CPU with the counts.  Nothing about x: what the cascade gives at zero comes out of
              the new steps.  Where that differs, nothing may read it.
    Proof     The block, for every input.  A cascade is found by what it computes from one value
              of the block (and a base that it is added to), never by how it is spelled.
    """

    name = "bitscan"
    change = Change.IN_PLACE

    def __init__(self) -> None:
        self._searches: dict[tuple[int, str, str], Searches] = {}

    def offered(self, target: Target) -> bool:
        """Where counts of bits were spelled out."""
        return target.sequential is not None and target.sequential.bit_counting is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.rewrites(self)

    def sites(self, trace: Trace, target: Sequential, cpu: Cpu) -> Iterator[Site]:
        """The searches of a block; of one within another, the outer that has a proposal."""
        counting = target.bit_counting
        if counting is None:
            return
        block = _Block(trace, counting, self._known(target, cpu, counting))
        found: dict[int, Site] = {}
        covered: set[int] = set()
        without: list[tuple[Site, set[int]]] = []
        for slot in block.candidates():
            if slot not in covered and (at := block.site(slot)) is not None:
                site, inner = at
                if site.proposals and not site.reason:
                    found[slot] = site
                    covered |= inner
                else:
                    without.append(at)
        for site, inner in without:
            if site.slot not in covered and inner.isdisjoint(found):
                found[site.slot] = site
                covered |= inner
        yield from (found[slot] for slot in sorted(found))

    def _known(self, target: Sequential, cpu: Cpu, counting: BitCounting) -> Searches:
        """The searches that a CPU has the instructions for."""
        table, (x, held, *_) = target.table, registers_of(target.spelling.SCRATCH)

        def has(step: Step) -> bool:
            insn = counting.step(step, x, held, held)
            return insn is not None and usable(cpu, [insn])

        key = table.width, target.name, cpu.name
        if key not in self._searches:
            self._searches[key] = Searches(table.width, has)
        return self._searches[key]


@dataclass(frozen=True, slots=True)
class _Found:
    """A slot's value as search(x), plus the value `base` where there is one; `but` for what."""

    what: Search | None
    x: Term
    but: str
    base: Term | None = None


@dataclass
class _Block:
    trace: Trace
    counting: BitCounting
    known: Searches

    def candidates(self) -> list[int]:
        """Slots that may end a search, the last first."""
        values = [self._value(slot) for slot in range(len(self.trace.insns))]
        tested = sum(v is not None and _is_test(v) for v in values) >= TESTS
        return [
            slot
            for slot in range(len(values) - 1, -1, -1)
            if (value := values[slot]) is not None
            and value.kind in _PLAIN
            and (tested or _counts(value) or _sums_up(value))
        ]

    def _value(self, slot: int) -> Term | None:
        """What a slot computes: of several results, such as with a carry, the first."""
        results = self.trace.results(slot)
        return results[min(results)] if results else None

    def site(self, slot: int) -> tuple[Site, set[int]] | None:
        """The site that ends at a slot, and the slots that it is made of."""
        value = self._value(slot)
        assert value is not None
        found = self._alone(slot, value) or self._with_base(slot, value)
        if not found:
            return None
        searches = [f for f in found if f.what is not None]
        if not searches:
            return Site(slot, LOWEST, (), found[0].but), self._feeders(slot, found[0])
        exact = [f for f in searches if not f.but] or searches
        sites = [(self._site(slot, f), self._feeders(slot, f)) for f in exact]
        first, inner = next((at for at in sites if at[0].proposals), sites[0])
        proposals = islice(chain.from_iterable(s.proposals for s, _ in sites), _PROPOSALS)
        return replace(first, proposals=tuple(proposals)), inner

    def _alone(self, slot: int, value: Term) -> list[_Found]:
        """The slot's value as a search of a value that it all comes from, the deepest first."""
        found = []
        for x, of_x in self._readings(value):
            if x.number not in self._held or self._is_short(slot, x):
                continue
            known = self.known.recognise(value, x) if of_x is None else self.known.recognise(*of_x)
            if known is not None and not self._is_as_short(slot, x, known.search):
                found.append(_Found(known.search, x, known.but))
        return found

    def _readings(self, value: Term) -> Iterator[tuple[Term, tuple[Term, Term] | None]]:
        """The values x that a value may be a search of, the deepest first.

        Where x - 1 is folded into a sum, all goes through that and not through x: with such an x
        comes the value as it is of a variable that stands for x, and the variable.
        """
        store = value.store
        for cut in reversed(_cuts(value)):
            yield cut, None
            if cut.kind == "add" and (next_ := store.add(cut, store.const(1))).number in self._held:
                x = store.var("x of a search")
                yield next_, (rebuilt(value, {cut.number: store.add(x, store.const(-1))}), x)

    def _is_short(self, slot: int, x: Term) -> bool:
        """Whether there are too few slots between x and a slot's value for a cascade."""
        value = self._value(slot)
        assert value is not None
        return self._has_no_more(slot, x, (_LEAST_COUNTING if _counts(value) else _LEAST) - 1)

    def _is_as_short(self, slot: int, x: Term, search: Search | None) -> bool:
        """Whether the slots between x and a slot's value are no more than a search's steps."""
        return search is not None and self._has_no_more(slot, x, len(search.steps))

    def _has_no_more(self, slot: int, x: Term, slots: int) -> bool:
        """Whether fewer than so many slots feed a slot from x on."""
        between = self.trace.sources(slot, frozenset(self._made.get(x.number, ())))
        return sum(1 for _ in islice(between, slots)) < slots

    def _with_base(self, slot: int, value: Term) -> list[_Found]:
        """The slot's value as a search added to something else."""
        if value.kind != "add":
            return []
        store, (parts, constant) = value.store, addends(value)
        found: list[_Found] = []
        for base in parts if 2 <= len(parts) <= _ADDENDS else ():
            rest = store.const(0)
            for addend in parts:
                rest = rest if addend is base else store.add(rest, addend)
            if any(v is rest for v in self.trace.operand[slot].values()):
                return []  # the search ends in an earlier slot
            moved = store.add(base, store.const(constant))
            found += [_Found(f.what, f.x, f.but, moved) for f in self._alone(slot, rest)]
        return found

    def _feeders(self, slot: int, found: _Found) -> set[int]:
        """The slots between x and the search's result."""
        ends = (found.x,) if found.base is None else (found.x, found.base)
        made = frozenset(chain.from_iterable(self._made.get(end.number, ()) for end in ends))
        return self.trace.slice(slot, made)

    @cached_property
    def _held(self) -> set[int]:
        """The values that slots read, by their numbers."""
        return {v.number for operands in self.trace.operand for v in operands.values()}

    @cached_property
    def _made(self) -> dict[int, list[int]]:
        """The slots that give a value, by its number."""
        found: dict[int, list[int]] = {}
        for slot in range(len(self.trace.insns)):
            if (value := self._value(slot)) is not None:
                found.setdefault(value.number, []).append(slot)
        return found

    # Proposals ----------------------------------------------------------------------------

    def _site(self, slot: int, found: _Found) -> Site:
        """The steps in slots of the cascade that nothing else needs, the last step at `slot`."""
        assert found.what is not None
        kind, inner = found.what.kind, self._feeders(slot, found)
        free = self.trace.only_for(slot, inner)
        made = islice(self._proposals(slot, found, found.what.steps, sorted(free)), _PROPOSALS)
        rewrites = tuple(Rewrite(slot, kind, changes, frozenset(inner)) for changes in made)
        reason = found.but or ("" if rewrites else self._kept(inner - free))
        return Site(slot, kind, rewrites, reason)

    def _proposals(
        self, slot: int, found: _Found, steps: tuple[Step, ...], free: list[int]
    ) -> Iterator[Changes]:
        result, known = self._target(slot), self.counting.COUNTED
        if not known >> result & 1:
            return
        count = len(steps) + (found.base is not None)
        for base in self._bases(found.base, slot, free) if len(free) >= count else ():
            for places, source in self._placed(found.x, slot, free, count):
                first, last = places[0], places[-1]
                for register in dict.fromkeys((result, *map(self._target, free))):
                    if known >> register & 1 and self._stays(register, first, last, free):
                        made = self._changes(places, steps, source, register, result, base)
                        if made is not None:
                            yield made if last == slot else (*made, (slot, None))

    def _placed(
        self, x: Term, slot: int, free: list[int], count: int
    ) -> Iterator[tuple[list[int], int]]:
        """Slots for so many steps, with a register that x is in at the first."""
        starts = self._starts(x, slot, free)
        for last in self._ends(slot, self._target(slot), free):
            for first, source in starts:
                places = [*[s for s in free if first <= s < last][: count - 1], last]
                if places[0] == first and len(places) == count:
                    yield places, source

    def _ends(self, slot: int, result: int, free: list[int]) -> Iterator[int]:
        """Where the last step may stand: in a slot, or in a free one from which the result stays.

        What is searched may be gone at the slot: `x & x-1` goes into x's register.
        """
        yield slot
        table, insns = self.trace.table, self.trace.insns
        for place in reversed(free):
            between = (insns[s] for s in range(place + 1, slot) if s not in free)
            if any((table.uses(i) | table.defs(i)) >> result & 1 for i in between):
                return
            yield place

    def _kept(self, slots: set[int]) -> str:
        names = self.trace.table.register_names
        read = sorted({names[self._target(s)] for s in slots if self.trace.escapes(s)})
        if not read:
            return "other code uses parts of the search" if slots else "no free register or place"
        return f"parts of the search may be read later: {', '.join(read)}"

    def _starts(self, x: Term, slot: int, free: list[int]) -> list[tuple[int, int]]:
        """Free slots with a register that x is in there, once what is free has gone."""
        readers = self._readers(x, [*free, slot])
        found: dict[tuple[int, int], None] = dict.fromkeys(readers)
        for reader, register in readers:
            for place in [s for s in (*free, slot) if s > reader]:
                if self._stays(register, reader, place, free):
                    found[place, register] = None
        return list(found)

    def _stays(self, register: int, first: int, last: int, free: list[int]) -> bool:
        """Whether only free slots from `first` to before `last` write a register."""
        table, insns = self.trace.table, self.trace.insns
        between = (s for s in range(first, last) if s not in free)
        return not any(table.defs(insns[s]) >> register & 1 for s in between)

    def _changes(
        self,
        places: list[int],
        steps: tuple[Step, ...],
        source: int,
        register: int,
        result: int,
        base: int | None,
    ) -> Changes | None:
        """The steps in their slots by way of `register`; None where that cannot be."""
        made: list[tuple[int, Insn | None]] = []
        held = source
        for place, step in zip(places, steps, strict=False):
            target = result if place == places[-1] else register
            insn = self.counting.step(step, source, held, target)
            if insn is None:
                return None
            made.append((place, insn))
            held = target
        if base is not None:
            if base == held:
                return None
            made.append((places[-1], self.counting.sum(base, held, result)))
        return tuple(made)

    def _readers(self, x: Term, slots: list[int]) -> list[tuple[int, int]]:
        """The slots that read x, with a register that it is in there, and that steps may name."""
        return [
            (slot, register)
            for slot in slots
            for register, value in self.trace.operand[slot].items()
            if value is x and self.counting.COUNTED >> register & 1
        ]

    def _bases(self, base: Term | None, slot: int, order: list[int]) -> list[int | None]:
        """The registers that hold the base, the one read last first."""
        if base is None:
            return [None]
        if not self._is_sum(slot):
            return []
        readers = self._readers(base, [slot, *reversed(order)])
        return list(dict.fromkeys(register for _, register in readers))

    def _is_sum(self, slot: int) -> bool:
        """Whether the slot adds two registers."""
        value, operands = self._value(slot), list(self.trace.operand[slot].values())
        return len(operands) == 2 and value is not None and value is operands[0] + operands[1]

    def _target(self, slot: int) -> int:
        return registers_of(self.trace.table.defs(self.trace.insns[slot]))[0]


def _counts(value: Term, depth: int = _NEAR) -> bool:
    """Whether a value is made from a count of bits, a few steps back."""
    if value.kind in _COUNTS:
        return True
    return depth > 0 and any(_counts(argument, depth - 1) for argument in value.args)


def _sums_up(value: Term) -> bool:
    """Whether a value is the top of a product by a constant: how parts of a word are summed up."""
    product = value.args[0] if value.kind in ("lshr", "and") else value
    product = product.args[0] if product.kind in ("lshr", "and") else product
    return product.kind == "mul" and product.args[1].kind == "const"


def _is_test(value: Term) -> bool:
    """Whether a value is chosen by a comparison of some bits of another with zero."""
    if value.kind != "ite" or value.args[0].kind not in ("eq", "ult"):
        return False
    a, b = value.args[0].args
    return _is_some_bits(a) or _is_some_bits(b)


def _is_some_bits(value: Term) -> bool:
    return value.kind in ("and", "lshr") and value.args[1].kind == "const"


def addends(value: Term) -> tuple[list[Term], int]:
    """What a sum adds up, and its constant; of one of too many, parts that are as many."""
    root, constant = value.store.linear(value)
    found: list[Term] = []
    stack = [root]
    while stack and len(found) + len(stack) <= _ADDENDS:  # one that doubles has very many
        top = stack.pop()
        if top.kind == "add" and top.args[1].kind != "const":
            stack.extend(top.args)
        else:
            found.append(top)
    return found + stack, constant


def _cuts(value: Term) -> list[Term]:
    """The values that everything unknown in `value` comes through, the nearest first.

    An argument has a smaller number than what is made of it, so the highest number still to
    be looked at is above all others: when it is the only one, all goes through it.
    """
    found: list[Term] = []
    terms = {value.number: value}
    queue = [-value.number]
    for _ in range(_LARGEST):
        if not queue:
            break
        top = terms[-heapq.heappop(queue)]
        if not queue and top is not value:
            found.append(top)
        if top.kind in _LEAVES:
            break
        for argument in top.args:
            if argument.number not in terms and argument.kind != "const":
                terms[argument.number] = argument
                heapq.heappush(queue, -argument.number)
    return found
