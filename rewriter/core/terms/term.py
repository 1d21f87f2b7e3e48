"""Hash-consed terms: the symbolic values of the table's meanings.

A `Terms` store makes each distinct term once, so equal terms are the same object, and folds
what needs no thought: constants, neutral elements, added constants, the low bits of a sum under
a low mask, a sign that a mask, a shift or a comparison hides.  Each folding rule is proved by Z3
in the tests.  What remains different is for the prover.

Kinds: const, var, add, sub, mul, and, or, xor, not, shl, lshr, ashr, umulh, ctpop, cttz, ctlz,
ite (values); eq, ult, slt, band, bnot, true, false (conditions); mem, store, write, world
(memories; a world is what an event left); load (value of a memory cell), read (bytes of memory,
wherever they stand); opaque (uninterpreted).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import TypeAlias

from rewriter.core.readings.extents import Extent

_SUMMED = frozenset({"or", "add", "ite", "read"})
"""Kinds whose values may be so small that a mask leaves all of them, though none was masked."""


class Term:
    """One term.  `data` is a constant's value, a variable's name, an opaque function's name.

    Constants alone have a `value`, which is their `data`.
    """

    __slots__ = ("args", "data", "kind", "number", "store", "value")

    value: int

    def __init__(
        self, store: Terms, kind: str, args: tuple[Term, ...], data: int | str, number: int
    ) -> None:
        self.store = store
        self.kind = kind
        self.args = args
        self.data = data
        self.number = number

    def __add__(self, other: Term) -> Term:
        return self.store.add(self, other)

    def __sub__(self, other: Term) -> Term:
        return self.store.sub(self, other)

    def __mul__(self, other: Term) -> Term:
        return self.store.mul(self, other)

    def __and__(self, other: Term) -> Term:
        return self.store.and_(self, other)

    def __or__(self, other: Term) -> Term:
        return self.store.or_(self, other)

    def __xor__(self, other: Term) -> Term:
        return self.store.xor(self, other)

    def __invert__(self) -> Term:
        return self.store.not_(self)

    def __repr__(self) -> str:
        return self.text()

    def text(self, depth: int = 5) -> str:
        """The term as an s-expression; what lies deeper is left out (a shared term may be huge)."""
        if self.kind == "const":
            return f"{self.value:#x}"
        if self.kind == "var":
            return str(self.data)
        if depth == 0:
            return ".."
        inner = " ".join(a.text(depth - 1) for a in self.args)
        name = f"{self.kind}:{self.data}" if self.data != "" else self.kind
        return f"({name} {inner})" if inner else name

    def walk(self) -> Iterator[Term]:
        """Every distinct term below and including this one, each behind one that it is part of."""
        return iter(reached((self,)).values())


Computed: TypeAlias = tuple[
    object, Term | None, Mapping[int, Term], tuple[tuple[Term, Term, int], ...]
]
"""What makes values, the memory that it finds if it loads, the values by register, and what it
accesses."""


class Terms:
    """A store of terms for registers of `width` bits.

    In a `with` statement it ends there, and its terms at once: they and it hold one another, and
    a collection of garbage that has to find all of them costs more than making them.  `computed`
    is for what is found again: what instructions made of terms.
    """

    __deletable__ = ("_constants", "_tables", "computed", "false", "true")

    def __init__(self, width: int) -> None:
        self.width = width
        self.ones = (1 << width) - 1
        self._tables: defaultdict[str, dict[tuple[object, ...], Term]] = defaultdict(dict)
        self._numbers = count()
        self._constants: dict[int, Term] = {}
        self.computed: dict[tuple[int, tuple[Term, ...]], Computed] = {}
        self.true = self.make("true")
        self.false = self.make("false")

    def __enter__(self) -> Terms:
        return self

    def __exit__(self, *_: object) -> None:
        # Nothing can be made or folded any more.
        del self._tables, self._constants, self.computed, self.true, self.false

    def make(self, kind: str, *args: Term, data: int | str = "") -> Term:
        """The term of this kind, without folding."""
        table = self._tables[kind]
        key = (data, *args) if data else args
        term = table.get(key)
        if term is None:
            term = table[key] = Term(self, kind, args, data, next(self._numbers))
        return term

    def const(self, value: int) -> Term:
        """A constant, modulo two to the power of the width."""
        value &= self.ones
        term = self._constants.get(value)
        if term is None:
            term = Term(self, "const", (), value, next(self._numbers))
            self._constants[value] = term
            term.value = value
        return term

    def var(self, name: str) -> Term:
        """A free value."""
        return self.make("var", data=name)

    def _signed(self, value: int) -> int:
        return value - (1 << self.width) if value >> (self.width - 1) else value

    def _commutative(self, kind: str, a: Term, b: Term) -> Term:
        # A constant goes last, so that every rule need look in one place only.
        if a.kind == "const" or (b.kind != "const" and a.number > b.number):
            a, b = b, a
        return self.make(kind, a, b)

    # Values -------------------------------------------------------------------------------

    def add(self, a: Term, b: Term) -> Term:
        """a + b, with added constants gathered."""
        if a.kind == "const":
            a, b = b, a
        if b.kind == "const":
            if a.kind == "const":
                return self.const(a.value + b.value)
            if b.value == 0:
                return a
            if a.kind == "add" and a.args[1].kind == "const":
                return self.add(a.args[0], self.const(a.args[1].value + b.value))
            return self.make("add", a, b)
        # (x + c) + y = (x + y) + c, so that a constant displacement is always outermost.
        for first, second in ((a, b), (b, a)):
            if first.kind == "add" and first.args[1].kind == "const":
                return self.add(self.add(first.args[0], second), first.args[1])
        return self._commutative("add", a, b)

    def sub(self, a: Term, b: Term) -> Term:
        """a - b."""
        if b.kind == "const":
            return self.add(a, self.const(-b.value))
        if a is b:
            return self.const(0)
        if b.kind == "add" and b.args[1].kind == "const":
            return self.add(self.sub(a, b.args[0]), self.const(-b.args[1].value))
        if a.kind == "add" and a.args[1].kind == "const":
            return self.add(self.sub(a.args[0], b), a.args[1])
        return self.make("sub", a, b)

    def mul(self, a: Term, b: Term) -> Term:
        """a * b; a power of two is a shift."""
        if a.kind == "const":
            a, b = b, a
        if b.kind == "const":
            if a.kind == "const":
                return self.const(a.value * b.value)
            if b.value == 0:
                return b
            if b.value.bit_count() == 1:
                return self.shl(a, self.const(b.value.bit_length() - 1))
        return self._commutative("mul", a, b)

    def and_(self, a: Term, b: Term) -> Term:
        """a & b; under a low mask, only the low bits of an added constant remain, and no sign."""
        if a.kind == "const":
            a, b = b, a
        if a is b:
            return a
        if b.kind == "const":
            mask = b.value
            if a.kind == "const":
                return self.const(a.value & mask)
            if mask == 0:
                return b
            if mask == self.ones:
                return a
            if a.kind == "and" and a.args[1].kind == "const":
                return self.and_(a.args[0], self.const(a.args[1].value & mask))
            if a.kind in _SUMMED and mask & (mask + 1) == 0 and most(a) <= mask:
                return a
            if mask & (mask + 1) == 0 and a.kind == "add" and a.args[1].kind == "const":
                added = a.args[1].value
                if added > mask:
                    return self.and_(self.add(a.args[0], self.const(added & mask)), b)
            if a.kind in ("lshr", "ashr") and a.args[1].kind == "const":
                kept = self.ones >> a.args[1].value
                if a.kind == "lshr" and mask & kept == kept:
                    return a
                if a.kind == "ashr" and mask <= kept:
                    return self.and_(self.lshr(*a.args), b)
        return self._commutative("and", a, b)

    def or_(self, a: Term, b: Term) -> Term:
        """a | b."""
        if a.kind == "const":
            a, b = b, a
        if a is b:
            return a
        if b.kind == "const":
            if a.kind == "const":
                return self.const(a.value | b.value)
            if b.value == 0:
                return a
            if b.value == self.ones:
                return b
        return self._commutative("or", a, b)

    def xor(self, a: Term, b: Term) -> Term:
        """a ^ b."""
        if a.kind == "const":
            a, b = b, a
        if a is b:
            return self.const(0)
        if b.kind == "const":
            if a.kind == "const":
                return self.const(a.value ^ b.value)
            if b.value == 0:
                return a
            if b.value == self.ones:
                return self.not_(a)
        return self._commutative("xor", a, b)

    def not_(self, a: Term) -> Term:
        """~a."""
        if a.kind == "const":
            return self.const(~a.value)
        return a.args[0] if a.kind == "not" else self.make("not", a)

    def shl(self, a: Term, amount: Term) -> Term:
        """a << amount."""
        if amount.kind == "const":
            if amount.value == 0:
                return a
            if amount.value >= self.width:
                return self.const(0)
            if a.kind == "const":
                return self.const(a.value << amount.value)
            if a.kind == "shl" and a.args[1].kind == "const":
                total = a.args[1].value + amount.value
                return (
                    self.shl(a.args[0], self.const(total)) if total < self.width else self.const(0)
                )
            if (whole := self._shifted_out(a, amount.value)) is not None:
                return self.shl(whole, amount)
        if a.kind == "const" and a.value == 0:
            return a
        return self.make("shl", a, amount)

    def _shifted_out(self, a: Term, amount: int) -> Term | None:
        """What has the same low bits as `a`, where a shift left by `amount` leaves no other."""
        kept = self.ones >> amount
        if a.kind == "and" and a.args[1].kind == "const" and a.args[1].value & kept == kept:
            return a.args[0]
        if a.kind == "ashr" and a.args[0].kind == "shl" and a.args[0].args[1] is a.args[1]:
            known = a.args[1]  # x << n >> n, the sign extension of a part of x
            return a.args[0].args[0] if known.kind == "const" and known.value <= amount else None
        return None

    def lshr(self, a: Term, amount: Term) -> Term:
        """a >> amount, logical."""
        if amount.kind == "const":
            if amount.value == 0:
                return a
            if a.kind == "const":
                return self.const(a.value >> amount.value)
            if a.kind == "shl" and a.args[1] is amount:
                return self.and_(a.args[0], self.const(self.ones >> amount.value))
        if a.kind == "const" and a.value == 0:
            return a
        return self.make("lshr", a, amount)

    def ashr(self, a: Term, amount: Term) -> Term:
        """a >> amount, arithmetic."""
        if amount.kind == "const":
            if amount.value == 0:
                return a
            if a.kind == "const":
                return self.const(self._signed(a.value) >> amount.value)
            if a.kind == "ashr" and a.args[1].kind == "const":
                total = min(a.args[1].value + amount.value, self.width - 1)
                return self.ashr(a.args[0], self.const(total))
            if a.kind == "shl" and a.args[1] is amount:
                part = a.args[0]
                if part.kind == "lshr" and part.args[1] is amount:
                    return self.ashr(part.args[0], amount)
        return self.make("ashr", a, amount)

    def unsigned(self, a: Term) -> Term:
        """The part of a word that `a` is the sign extension of, without its sign; else `a`."""
        shifted = a.kind == "ashr" and a.args[1].kind == "const"
        return self.lshr(*a.args) if shifted else a

    def ite(self, condition: Term, a: Term, b: Term) -> Term:
        """a if condition else b."""
        if condition is self.true or a is b:
            return a
        if condition is self.false:
            return b
        if condition.kind == "bnot":
            return self.make("ite", condition.args[0], b, a)
        return self.make("ite", condition, a, b)

    # Memories -----------------------------------------------------------------------------

    def load(self, memory: Term, place: Term) -> Term:
        """The cell at `place`, past stores that are certainly elsewhere or just there."""
        while memory.kind == "store":
            if memory.args[1] is place:
                return memory.args[2]
            if not self._apart(memory.args[1], place):
                break
            memory = memory.args[0]
        return self.make("load", memory, place)

    def _apart(self, a: Term, b: Term) -> bool:
        """Whether cell addresses x + c & -cell and x + d & -cell differ for every x."""
        if not (a.kind == b.kind == "and" and a.args[1] is b.args[1] and a.args[1].kind == "const"):
            return False
        cell = (1 << self.width) - a.args[1].value
        (root, c), (other, d) = self.linear(a.args[0]), self.linear(b.args[0])
        return root is other and cell <= (c - d) & self.ones <= self.ones + 1 - cell

    def read(self, memory: Term, address: Term, extent: Extent) -> Term:
        """Bytes at `address`, past writes that are certainly elsewhere, or of one that has all."""
        root, place = self._located(address)
        while memory.kind == "write":
            _, other, value = memory.args
            base, start = self._located(other)
            if base is not root:
                break
            written, first = Extent.of(memory.data), place - start & self.ones
            if first + extent.size <= written.size and written.order == extent.order:
                return self._part(value, written, first, extent)
            if first < written.size or first + extent.size > self.ones + 1:
                break
            memory = memory.args[0]
        return self.make("read", memory, address, data=extent.data)

    def _located(self, address: Term) -> tuple[Term, int]:
        """An address as (root, displacement); constants are all reached from nothing."""
        if address.kind == "const":
            return self.const(0), address.value
        return self.linear(address)

    def _part(self, value: Term, written: Extent, first: int, part: Extent) -> Term:
        """Bytes of a value that was written, from the `first` in memory on."""
        lowest = first if written.order == "little" else first + part.size - 1
        found = self.lshr(value, self.const(written.significance(lowest)))
        return self.and_(found, self.const(part.mask))

    # Conditions ---------------------------------------------------------------------------

    def boolean(self, value: bool) -> Term:
        """True or false."""
        return self.true if value else self.false

    def eq(self, a: Term, b: Term) -> Term:
        """a == b; a sign extension equals a constant if the part of it does."""
        if a is b:
            return self.true
        if a.kind == "const":
            a, b = b, a
        if b.kind == "const":
            if a.kind == "const":
                return self.false
            if a.kind == "ashr" and a.args[1].kind == "const" and a.args[1].value < self.width:
                part = self.ones >> a.args[1].value
                extended = self._signed(b.value) >> (part.bit_length() - 1)
                if extended not in (0, -1):
                    return self.false
                return self.eq(self.lshr(*a.args), self.const(b.value & part))
        return self._commutative("eq", a, b)

    def ult(self, a: Term, b: Term) -> Term:
        """a < b, unsigned."""
        if a is b or (b.kind == "const" and b.value == 0):
            return self.false
        if a.kind == "const":
            if b.kind == "const":
                return self.boolean(a.value < b.value)
            if a.value == 0:
                return self.bnot(self.eq(b, a))
        return self.make("ult", a, b)

    def slt(self, a: Term, b: Term) -> Term:
        """a < b, signed."""
        if a is b:
            return self.false
        if a.kind == "const" and b.kind == "const":
            return self.boolean(self._signed(a.value) < self._signed(b.value))
        return self.make("slt", a, b)

    def bnot(self, a: Term) -> Term:
        """not a."""
        if a in (self.true, self.false):
            return self.boolean(a is self.false)
        return a.args[0] if a.kind == "bnot" else self.make("bnot", a)

    def band(self, a: Term, b: Term) -> Term:
        """a and b."""
        if self.false in (a, b):
            return self.false
        if a is self.true or a is b:
            return b
        return a if b is self.true else self.make("band", a, b)

    def rebuild(self, term: Term, args: tuple[Term, ...]) -> Term:
        """The term of the same kind over other arguments, folded anew."""
        if args == term.args:
            return term
        if term.kind not in _FOLDING:
            if term.kind == "read":
                return self.read(args[0], args[1], Extent.of(term.data))
            return self.make(term.kind, *args, data=term.data)
        folded: Term = getattr(self, _FOLDING[term.kind])(*args)
        return folded

    # Reading ------------------------------------------------------------------------------

    def linear(self, term: Term) -> tuple[Term, int]:
        """`term` as (root, signed displacement)."""
        if term.kind == "add" and term.args[1].kind == "const":
            return term.args[0], self._signed(term.args[1].value)
        return term, 0

    def bits(self, term: Term) -> int:
        """An upper bound of how many low bits of `term` can be set."""
        return most(term).bit_length()


_DEPTH = 12
"""Of a term's arguments, and theirs: what lies deeper may be anything."""


def most(term: Term, depth: int = _DEPTH) -> int:
    """An upper bound of a value, read without a sign."""
    kind, args, ones = term.kind, term.args, term.store.ones
    if kind == "const":
        return term.value
    if kind not in _OF_TWO or not depth:
        if kind == "read":
            return min(Extent.of(term.data).mask, ones)
        return _shifted(term, depth) if kind in ("lshr", "shl") and depth else ones
    first = most(args[-2], depth - 1)  # an `ite` has a condition before its values
    if first == ones and kind != "and":
        return ones
    second = most(args[-1], depth - 1)
    if kind == "and":
        return min(first, second)
    if kind == "add":
        return min(first + second, ones)
    larger = max(first, second)
    return larger if kind == "ite" else (1 << larger.bit_length()) - 1


_OF_TWO = frozenset({"and", "or", "xor", "add", "ite"})


def _shifted(term: Term, depth: int) -> int:
    """The same for a shift."""
    value, amount = term.args
    if amount.kind != "const":
        return term.store.ones
    bound = most(value, depth - 1)
    shifted = bound >> amount.value if term.kind == "lshr" else bound << amount.value
    return min(shifted, term.store.ones)


def reached(terms: Iterable[Term]) -> dict[int, Term]:
    """Every distinct term below and including some, by number."""
    found = {term.number: term for term in terms}
    stack = list(found.values())
    while stack:
        for term in stack.pop().args:
            if term.number not in found:
                found[term.number] = term
                stack.append(term)
    return found


def rebuilt(
    term: Term, done: dict[int, Term], aliases: Mapping[int, Term] = MappingProxyType({})
) -> Term:
    """The term over replaced parts, folded anew; `done` maps numbers, and is added to.

    What has an alias, by its number as it was or as it is rebuilt, becomes that.
    """
    stack = [term]
    while stack:
        top = stack[-1]
        missing = [x for x in top.args if x.number not in done]
        if top.number in done:
            stack.pop()
        elif missing:
            stack.extend(missing)
        else:
            built = top.store.rebuild(top, tuple(done[x.number] for x in top.args))
            done[top.number] = aliases.get(built.number, aliases.get(top.number, built))
            stack.pop()
    return done[term.number]


_FOLDING = {
    **{kind: kind for kind in ("add", "sub", "mul", "xor", "shl", "lshr", "ashr", "ite")},
    **{kind: kind for kind in ("eq", "ult", "slt", "band", "bnot", "load")},
    "and": "and_",
    "or": "or_",
    "not": "not_",
}
"""The method that folds each kind."""
