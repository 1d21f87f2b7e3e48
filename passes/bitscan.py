"""Searches for a bit, where a chip without bit counts spelled them out as cascades of tests."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Any

from passes.technique import Site
from rewriter.core.cpu import Cpu
from rewriter.core.edit import Rewrite
from rewriter.core.evaluate import Evaluator
from rewriter.core.isa import Insn
from rewriter.core.term import Term
from rewriter.core.trace import Trace, registers_of

_WIDTH = 64  # of the counts in the table below
_LEAST = 5  # instructions of a cascade that is worth a look
_TESTS = 3  # of some bits against zero: what every cascade has
_LARGEST = 160  # nodes of a value that is looked at
_PROPOSALS = 12
_ADDENDS = 6  # of a sum that may have a search in it
_PLAIN = frozenset({"add", "sub", "and", "or", "xor", "ashr", "lshr", "shl", "ite"})
_LEAVES = frozenset({"var", "load", "opaque"})


# What a search may be ------------------------------------------------------------------------

Step = tuple[str, int | None]
Changes = tuple[tuple[int, Insn | None], ...]


@dataclass(frozen=True, slots=True)
class Search:
    """A function of one value x: a chain of steps, each with a literal or None.

    `cmoveq` looks at x itself; every other step at what the one before it gave.
    """

    kind: str
    steps: tuple[Step, ...]

    def __call__(self, x: int) -> int:
        value = x
        for name, literal in self.steps:
            value = _MEANINGS[name](value, literal or 0, x) % (1 << _WIDTH)
        return value


_MEANINGS: dict[str, Callable[[int, int, int], int]] = {
    "cttz": lambda v, n, x: (v & -v).bit_length() - 1 if v else _WIDTH,
    "ctlz": lambda v, n, x: _WIDTH - v.bit_length(),
    "ctpop": lambda v, n, x: v.bit_count(),
    "not": lambda v, n, x: ~v,
    "and": lambda v, n, x: v & n,
    "bis": lambda v, n, x: v | n,
    "xor": lambda v, n, x: v ^ n,
    "addq": lambda v, n, x: v + n,
    "subq": lambda v, n, x: v - n,
    "srl": lambda v, n, x: v >> n,
    "cmoveq": lambda v, n, x: v if x else n,
}

_LOWEST, _CLEAR = "search for the lowest bit", "search for the lowest clear bit"
_HIGHEST = "search for the highest bit"
# The counts are 64 for zero (Alpha Architecture Handbook v4, 4.13); what a cascade gives then
# comes out of the steps after them.  Of rows that do the same the first counts.
SEARCHES = (
    #      kind      steps                                                       at zero
    Search(_LOWEST, (("cttz", None),)),  # 64
    Search(_HIGHEST, (("ctlz", None),)),  # 64
    Search("count of the bits", (("ctpop", None),)),  # 0
    Search(_LOWEST, (("cttz", None), ("and", 7))),  # 0
    Search(_LOWEST, (("cttz", None), ("and", 63))),  # 0
    Search(_LOWEST, (("cttz", None), ("cmoveq", 0))),  # 0, one more at others: ffs
    Search(_LOWEST, (("cttz", None), ("addq", 1), ("cmoveq", 0))),  # 0
    Search("search for the lowest byte", (("cttz", None), ("srl", 3))),  # 8
    Search("search for the lowest byte", (("cttz", None), ("srl", 3), ("and", 7))),  # 0
    Search("search for the lowest byte", (("cttz", None), ("and", 56))),  # 0
    Search(_LOWEST, (("and", 255), ("cttz", None), ("and", 7))),  # 0
    Search(_CLEAR, (("not", None), ("cttz", None))),  # 0
    Search(_CLEAR, (("not", None), ("cttz", None), ("and", 63))),  # 0, and at ~0
    Search(_CLEAR, (("not", None), ("cttz", None), ("and", 7))),  # 0, and at 0xff
    Search(_HIGHEST, (("ctlz", None), ("xor", 63))),  # 127
    Search(_HIGHEST, (("bis", 1), ("ctlz", None), ("xor", 63))),  # 0
    Search(_HIGHEST, (("and", 255), ("bis", 1), ("ctlz", None), ("xor", 63))),  # 0
    Search(_HIGHEST, (("ctlz", None), ("not", None), ("addq", 65))),  # 0: 64 - ctlz
    Search(_HIGHEST, (("ctlz", None), ("not", None), ("and", 63))),  # 63: 63 - ctlz modulo 64
)


def _words() -> tuple[int, ...]:
    generator = random.Random(_WIDTH)
    bits = [1 << i for i in range(_WIDTH)]
    masks = [(1 << i) - 1 for i in range(1, _WIDTH + 1)]
    dense = [generator.getrandbits(_WIDTH) for _ in range(24)]
    sparse = [a & b << n for n, (a, b) in enumerate(pairwise(dense))]
    shifted = [word << 2 * n for n, word in enumerate(dense)]
    every = [*range(16), *bits, *masks, *dense, *sparse, *shifted]
    return tuple(dict.fromkeys(word % (1 << _WIDTH) for word in every))


_WORDS = _words()
_BYTES = tuple(range(256))
_PROBES = {True: (1, 2, 8, 64), False: (1, 2, 8, 64, 1 << 20, 1 << 61)}

Behaviour = tuple[int, ...]


def _behaviour(function: Callable[[int], int], inputs: tuple[int, ...]) -> tuple[int, Behaviour]:
    """What a function gives at 1, and at `inputs` relative to that."""
    first = function(1)
    return first, tuple((function(x) - first) % (1 << _WIDTH) for x in inputs)


class _Known:
    """The searches by what they do on some inputs."""

    def __init__(self, inputs: tuple[int, ...]) -> None:
        self.inputs = inputs
        self._rows: dict[Behaviour, tuple[int, Search]] = {}
        for search in SEARCHES:
            first, behaviour = _behaviour(search, inputs)
            if len(set(behaviour)) > 1:  # not where all these inputs are the same to it
                self._rows.setdefault(behaviour, (first, search))

    def find(self, function: Callable[[int], int]) -> Search | None:
        """The search that does the same, with a constant added where they differ by one."""
        first = function(1)
        left = list(self._rows.items())
        for at, x in enumerate(self.inputs):
            given = (function(x) - first) % (1 << _WIDTH)
            left = [row for row in left if row[0][at] == given]
            if not left:
                return None
        _, (known, search) = left[0]
        more = (first - known) % (1 << _WIDTH)
        if more < 256:
            added: tuple[Step, ...] = (("addq", more),) if more else ()
        elif (less := -more % (1 << _WIDTH)) < 256:
            added = (("subq", less),)
        else:
            return None
        return Search(search.kind, (*search.steps, *added))


def _stages(inputs: tuple[int, ...]) -> tuple[_Known, ...]:
    """The searches by what they do on one bit, on one or none, on all but zero, and on all."""
    one = tuple(x for x in inputs if x.bit_count() == 1)
    nonzero = tuple(x for x in inputs if x)
    return tuple(map(_Known, (one, (0, *one), nonzero, inputs)))


# The pass ------------------------------------------------------------------------------------


class BitScan:
    """A cascade of tests that looks for a bit becomes a count.

    Before    cmpbge zero,x,m; lda u,1(m); bic u,m,i; and i,0xcc,a; and i,0xf0,b; and i,0xaa,c;
              cmpult zero,a,a; cmpult zero,b,b; cmpult zero,c,c; addq a,a,a; s4addq b,a,b;
              addq b,c,k; extbl x,k,y; the same cascade on y & -y; s8addq k,y,r
              negq m,t; and m,t,i; and i,0xf0,a; and i,0xcc,b; and i,0xaa,c; cmovne a,4,a;
              cmovne b,2,b; cmovne c,1,c; addq a,b,a; addq p,c,r; addq r,a,r
    After     cttz x,r; and r,63,r
              cttz m,t; and t,7,t; addq p,t,r
    Requires  CIX.  Nothing about x: what the cascade gives at zero comes out of the new steps.
    Proof     The block, for every input.  A cascade is found by what it computes from one value
              of the block (and a base that it is added to), never by how it is spelled.
    """

    name = "bitscan"
    needs = frozenset({"CIX"})

    def __init__(self) -> None:
        self._probes = {byte: _Known(inputs) for byte, inputs in _PROBES.items()}
        self._known: dict[tuple[Any, ...], Search | str | None] = {}
        self._stages = {byte: _stages(inputs) for byte, inputs in ((True, _BYTES), (False, _WORDS))}

    def sites(self, trace: Trace, spelling: Any, cpu: Cpu) -> Iterator[Site]:
        """The searches of a block; of one within another, the outer that has a proposal."""
        if trace.terms.width != _WIDTH:
            return
        block = _Block(trace, spelling, self)
        found: dict[int, Site] = {}
        covered: set[int] = set()
        without: list[tuple[Site, set[int]]] = []
        for slot in block.candidates():
            if slot not in covered and (at := block.site(slot)) is not None:
                site, inner = at
                if site.proposals:
                    found[slot] = site
                    covered |= inner
                else:
                    without.append(at)
        for site, inner in without:
            if site.slot not in covered and inner.isdisjoint(found):
                found[site.slot] = site
                covered |= inner
        yield from (found[slot] for slot in sorted(found))

    def recognise(self, value: Term, x: Term) -> Search | str | None:
        """The search that a value is of x, or what it nearly is; remembered by its shape."""
        byte, single = value.store.bits(x) <= 8, _has_one_bit(x)
        key = (byte, single, *_shape(value, x))
        if key not in self._known:
            self._known[key] = self._find(_Function(value, x), byte, single)
        return self._known[key]

    def _find(self, function: _Function, byte: bool, single: bool) -> Search | str | None:
        """As `recognise`; x may be known to be a `byte`, and to have at most a `single` bit."""
        if self._probes[byte].find(function) is None:
            return None
        one, one_or_none, nonzero, every = self._stages[byte]
        if one.find(function) is None:
            return None
        if (search := (one_or_none if single else every).find(function)) is not None:
            return search
        if len({function(x) for x in one.inputs}) < _TESTS:
            return None
        if single or nonzero.find(function) is not None:
            return "differs at zero only"
        return "a search only where a single bit is set, which the block does not show"


@dataclass(frozen=True, slots=True)
class _Found:
    """A slot's value as search(x), plus the value `base` where there is one."""

    what: Search | str
    x: Term
    base: Term | None = None


@dataclass
class _Block:
    trace: Trace
    spelling: Any
    known: BitScan

    def candidates(self) -> list[int]:
        """Slots that may end a search, the last first."""
        if sum(v is not None and _is_test(v) for v in self.trace.value) < _TESTS:
            return []
        return [
            slot
            for slot in range(len(self.trace.insns) - 1, -1, -1)
            if (value := self.trace.value[slot]) is not None and value.kind in _PLAIN
        ]

    def site(self, slot: int) -> tuple[Site, set[int]] | None:
        """The site that ends at a slot, and the slots that it is made of."""
        value = self.trace.value[slot]
        assert value is not None
        found = self._alone(slot, value) or self._with_base(slot, value)
        if not found:
            return None
        searches = [f for f in found if isinstance(f.what, Search)]
        if not searches:
            return Site(slot, _LOWEST, (), str(found[0].what)), self._feeders(slot, found[0])
        sites = [(self._site(slot, f), self._feeders(slot, f)) for f in searches]
        first, inner = next((at for at in sites if at[0].proposals), sites[0])
        proposals = islice(chain.from_iterable(s.proposals for s, _ in sites), _PROPOSALS)
        return replace(first, proposals=tuple(proposals)), inner

    def _alone(self, slot: int, value: Term) -> list[_Found]:
        """The slot's value as a search of a value that it all comes from, the deepest first."""
        found = []
        for x in reversed(_cuts(value)):
            if len(self._feeders(slot, _Found("", x))) < _LEAST - 1:
                continue
            what = self.known.recognise(value, x)
            if what is not None:
                found.append(_Found(what, x))
        return found

    def _with_base(self, slot: int, value: Term) -> list[_Found]:
        """The slot's value as a search added to something else."""
        if value.kind != "add":
            return []
        store, (addends, constant) = value.store, _addends(value)
        found: list[_Found] = []
        for base in addends if 2 <= len(addends) <= _ADDENDS else ():
            rest = store.const(0)
            for addend in addends:
                rest = rest if addend is base else store.add(rest, addend)
            if any(v is rest for v in self.trace.operand[slot].values()):
                return []  # the search ends in an earlier slot
            moved = store.add(base, store.const(constant))
            found += [_Found(f.what, f.x, moved) for f in self._alone(slot, rest)]
        return found

    def _feeders(self, slot: int, found: _Found) -> set[int]:
        """The slots between x and the search's result."""
        ends = (found.x,) if found.base is None else (found.x, found.base)
        made = frozenset(chain.from_iterable(self._made.get(end.number, ()) for end in ends))
        return self.trace.slice(slot, made)

    @cached_property
    def _made(self) -> dict[int, list[int]]:
        """The slots that give a value, by its number."""
        found: dict[int, list[int]] = {}
        for slot, value in enumerate(self.trace.value):
            if value is not None:
                found.setdefault(value.number, []).append(slot)
        return found

    # Proposals ----------------------------------------------------------------------------

    def _site(self, slot: int, found: _Found) -> Site:
        """The steps in slots of the cascade that nothing else needs, the last step at `slot`."""
        assert isinstance(found.what, Search)
        kind, inner = found.what.kind, self._feeders(slot, found)
        free = self._only_for(slot, inner)
        made = islice(self._proposals(slot, found, found.what.steps, sorted(free)), _PROPOSALS)
        rewrites = tuple(Rewrite(slot, kind, changes, frozenset(inner)) for changes in made)
        return Site(slot, kind, rewrites, "" if rewrites else self._kept(inner - free))

    def _proposals(
        self, slot: int, found: _Found, steps: tuple[Step, ...], free: list[int]
    ) -> Iterator[Changes]:
        result = self._target(slot)
        count = len(steps) + (found.base is not None)
        for base in self._bases(found.base, slot, free) if len(free) > count else ():
            for first, source in self._starts(found.x, slot, free):
                places = [*[s for s in free if s >= first][: count - 1], slot]
                if places[0] != first or len(places) < count:
                    continue
                for register in dict.fromkeys((result, *map(self._target, free))):
                    if self._stays(register, first, slot, free):
                        made = self._changes(places, steps, source, register, result, base)
                        if made is not None:
                            yield made

    def _only_for(self, slot: int, inner: set[int]) -> set[int]:
        """The feeders whose results nothing but the slot uses."""
        found: set[int] = set()
        for feeder in sorted(inner, reverse=True):
            users = self.trace.users.get(feeder, ())
            if found.issuperset(set(users) - {slot}) and not self.trace.escapes(feeder):
                found.add(feeder)
        return found

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
        for place, (name, literal) in zip(places, steps, strict=False):
            target = result if place == places[-1] else register
            if name == "cmoveq" and (target != held or source == held):
                return None  # it changes what it is given, and looks at x as well
            made.append((place, self._step(name, literal, source, held, target)))
            held = target
        if base is not None:
            if base == held:
                return None
            made.append((places[-1], self._sum(places[-1], base, held, result)))
        return tuple(made)

    def _step(self, name: str, literal: int | None, x: int, held: int, target: int) -> Insn:
        insn: Insn
        if literal is not None:
            insn = self.spelling.immediate(name, x if name == "cmoveq" else held, literal, target)
        elif name == "not":
            insn = self.spelling.negated(held, target)
        else:
            insn = self.spelling.count(name, held, target)
        return insn

    def _sum(self, slot: int, base: int, held: int, result: int) -> Insn:
        """target = base + held, spelled as the sum that stands at the slot."""
        return Insn(self.trace.insns[slot].op, (base, held, result))

    def _readers(self, x: Term, slots: list[int]) -> list[tuple[int, int]]:
        """The slots that read x, with a register that it is in there."""
        return [
            (slot, register)
            for slot in slots
            for register, value in self.trace.operand[slot].items()
            if value is x
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
        value, operands = self.trace.value[slot], list(self.trace.operand[slot].values())
        return len(operands) == 2 and value is not None and value is operands[0] + operands[1]

    def _target(self, slot: int) -> int:
        return registers_of(self.trace.table.defs(self.trace.insns[slot]))[0]


@dataclass(frozen=True, slots=True)
class _Function:
    """A value as a function of one that it is made from."""

    value: Term
    x: Term

    def __call__(self, content: int) -> int:
        result: int = Evaluator({}, lambda _: 0, _known={self.x.number: content})(self.value)
        return result


def _is_test(value: Term) -> bool:
    """Whether a value is chosen by a comparison of some bits of another with zero."""
    if value.kind != "ite" or value.args[0].kind not in ("eq", "ult"):
        return False
    a, b = value.args[0].args
    return _is_some_bits(a) or _is_some_bits(b)


def _is_some_bits(value: Term) -> bool:
    return value.kind in ("and", "lshr") and value.args[1].kind == "const"


def _shape(value: Term, x: Term) -> tuple[Any, ...]:
    """What makes `value` from x, with nothing of what x is: its nodes in order."""
    number, nodes, stack = {x.number: 0}, [], [value]
    while stack:
        top = stack[-1]
        missing = [a for a in top.args if a.number not in number]
        if top.number not in number and missing:
            stack.extend(missing)
            continue
        stack.pop()
        if top.number not in number:
            number[top.number] = len(number)
            nodes.append((top.kind, top.data, *(number[a.number] for a in top.args)))
    return tuple(nodes)


def _has_one_bit(value: Term) -> bool:
    """Whether a value shows that it has at most one bit set: x & -x, (x + 1) & ~x."""
    if value.kind != "and":
        return False
    store, one = value.store, value.store.const(1)
    a, b = value.args
    return any(
        y is store.sub(store.const(0), x) or (x is store.add(z, one) and y is store.not_(z))
        for x, y in ((a, b), (b, a))
        for z in y.args[:1]
    )


def _addends(value: Term) -> tuple[list[Term], int]:
    """What a sum adds up, and its constant."""
    root, constant = value.store.linear(value)
    found, stack = [], [root]
    while stack:
        top = stack.pop()
        if top.kind == "add" and top.args[1].kind != "const":
            stack.extend(top.args)
        else:
            found.append(top)
    return found, constant


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
