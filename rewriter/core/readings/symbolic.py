"""The symbolic reading: registers and memory as terms over the state at the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.readings.machine import ByteOrder, Machine
from rewriter.core.terms.term import Term, Terms


@dataclass
class Symbolic(Machine):
    """A straight run from an unknown state.

    Memory is an array of naturally aligned cells, each as wide as a register: hardware traps
    on a misaligned access, so none crosses a cell (`unaligned` is of those that do not).  `code`
    addresses are relative to the unknown load address when `movable` holds.  `loaded` are the
    cells read, `stored` the stores in order (cell, value, memory afterwards, mask of the bytes
    that are written), `narrow` the accesses that trap when misaligned.  `events` are in order,
    with the memory that each sees; floating-point arithmetic, whose traps come late, sees none.
    """

    terms: Terms
    constants: dict[int, int]
    byteorder: ByteOrder
    movable: bool = True
    registers: dict[int, Term] = field(default_factory=dict)
    memory: Term = field(init=False)
    events: list[tuple[str, tuple[Term, ...], Term | None]] = field(default_factory=list)
    loaded: set[Term] = field(default_factory=set)
    stored: list[tuple[Term, Term, Term, Term]] = field(default_factory=list)
    narrow: set[tuple[Term, int]] = field(default_factory=set)
    control: tuple[Term, Term] | None = None

    def snapshot(self) -> Symbolic:
        """The state as it is now; the terms are shared."""
        now = self.__class__.__new__(self.__class__)
        now.terms, now.constants, now.byteorder = self.terms, self.constants, self.byteorder
        now.movable, now.memory, now.control = self.movable, self.memory, self.control
        now.width, now.cell, now._is_big = self.width, self.cell, self._is_big
        now.following, now._placed, now._accesses = self.following, self._placed, self._accesses
        now._base, now._low, now._high = self._base, self._low, self._high
        now._zero, now._eight = self._zero, self._eight
        now.registers = dict(self.registers)
        now.events, now.stored = list(self.events), list(self.stored)
        now.loaded, now.narrow = set(self.loaded), set(self.narrow)
        return now

    def __post_init__(self) -> None:
        self.memory = self.terms.make("mem", data="M")
        self._accesses: list[tuple[Term, Term, int]] = []
        self._placed = False
        self.following = 0
        self.width = self.terms.width
        self.cell = self.width // 8
        self._is_big = self.byteorder == "big"
        self._base = self.terms.var("load address") if self.movable else self.terms.const(0)
        self._low, self._high = self.const(self.cell - 1), self.const(-self.cell)
        self._zero, self._eight = self.const(0), self.const(3)

    def get(self, source: Reg | Term) -> Term:
        if not isinstance(source, Reg):
            return source
        value = self.registers.get(source)
        if value is None:
            fixed = self.constants.get(source)
            value = self.terms.var(f"r{source:d}") if fixed is None else self.terms.const(fixed)
            self.registers[source] = value
        return value

    def set(self, register: Reg, value: Term) -> None:
        if register not in self.constants:
            self.registers[register] = value

    def compute(
        self, insn: Insn, address: int, operands: tuple[Term, ...], results: tuple[Reg, ...]
    ) -> Mapping[int, Term]:
        """Executes what makes registers of operands and memory, once for the same ones.

        Runs over one store are much alike: the old code and the new, proposal after proposal.
        """
        computed, key = self.terms.computed, (id(insn), operands)
        known = computed.get(key)
        if known is None or (known[1] is not None and known[1] is not self.memory):
            self._accesses, self._placed = [], False
            self.execute(insn, address)
            made: Mapping[int, Term] = {r: self.get(r) for r in results}
            found = tuple(self._accesses)
            if not self._placed:  # elsewhere it may be another; the id is that of what is kept
                computed[key] = insn, self.memory if found else None, made, found
            return made
        _, _, made, accesses = known
        for accessed, place, size in accesses:
            self.loaded.add(place)
            if size > 1:
                self.narrow.add((accessed, size))
        self.registers.update(made)
        return made

    @property
    def reached(self) -> list[Term]:
        """The addresses accessed since the last value that was found again."""
        return [address for address, _, _ in self._accesses]

    # Memory -------------------------------------------------------------------------------

    def places(self, address: Term, size: int) -> tuple[Term, ...]:
        """What says where an access faults: the cell that it is in."""
        return (self.terms.and_(address, self._high),)

    def _place(self, address: Term, size: int) -> tuple[Term, Term]:
        """The cell's address, and the shift in bits of an access of `size` bytes in it."""
        if size > 1:
            self.narrow.add((address, size))
        place = self.terms.and_(address, self._high)
        self._accesses.append((address, place, size))
        if size == self.cell:
            return place, self._zero
        inside = self.terms.and_(address, self._low)
        if self._is_big:  # it is aligned: counted from the other end, that is
            inside = self.terms.xor(inside, self.const(self.cell - size))
        return place, self.terms.shl(inside, self._eight)

    def load(self, address: Term, size: int) -> Term:
        place, shift = self._place(address, size)
        self.loaded.add(place)
        value = self.terms.load(self.memory, place)
        if size == self.cell:
            return value
        return self.terms.and_(self.terms.lshr(value, shift), self.const((1 << 8 * size) - 1))

    def store(self, address: Term, value: Term, size: int) -> None:
        place, shift = self._place(address, size)
        mask = self.const(-1)
        if size < self.cell:
            mask = self.terms.shl(self.const((1 << 8 * size) - 1), shift)
            old = self.terms.load(self.memory, place)
            value = (old & ~mask) | self.terms.shl(self.zext(value, 8 * size), shift)
        self.memory = self.terms.make("store", self.memory, place, value)
        self.stored.append((place, value, self.memory, mask))

    # Control and events -------------------------------------------------------------------

    def branch(self, condition: Term, target: Term) -> None:
        self.control = (condition, target)

    def jump(self, target: Term) -> None:
        self.control = (self.terms.true, target)

    def opaque(self, name: str, *values: Term) -> Term:
        return self.terms.make("opaque", *values, data=name)

    def again(self, register: Reg) -> Term:
        return self.opaque("again", self.get(register))

    def event(self, name: str, *values: Term) -> None:
        self.events.append((name, values, self.memory))
        # What the world does to memory meanwhile depends on the same things on both sides.
        self.memory = self.terms.make("world", self.memory, *values, data=name)

    def observed(self, name: str, *values: Term) -> Term:
        # Events are compared one by one, so that with the same number is the same one.
        return self.opaque(name, self.const(len(self.events)), *values)

    def arithmetic(self, name: str, *values: Term) -> None:
        self.events.append((name, values, None))

    def conditional_store(self, address: Term, value: Term, size: int) -> Term:
        self._accesses.append((address, address, size))
        self.event("conditional store", address, self.zext(value, 8 * size), self.const(size))
        return self.terms.make("opaque", self.memory, data="lock held")

    # Arithmetic ---------------------------------------------------------------------------

    def const(self, value: int) -> Term:
        return self.terms.const(value)

    def code(self, address: int) -> Term:
        self._placed = True
        return self.terms.add(self._base, self.terms.const(address))

    def shl(self, value: Term, amount: Term) -> Term:
        return self.terms.shl(value, amount)

    def lshr(self, value: Term, amount: Term) -> Term:
        return self.terms.lshr(value, amount)

    def ashr(self, value: Term, amount: Term) -> Term:
        return self.terms.ashr(value, amount)

    def eq(self, a: Term, b: Term) -> Term:
        return self.terms.eq(a, b)

    def ult(self, a: Term, b: Term) -> Term:
        return self.terms.ult(a, b)

    def slt(self, a: Term, b: Term) -> Term:
        return self.terms.slt(a, b)

    def both(self, a: Term, b: Term) -> Term:
        return self.terms.band(a, b)

    def negate(self, condition: Term) -> Term:
        return self.terms.bnot(condition)

    def ite(self, condition: Term, a: Term, b: Term) -> Term:
        return self.terms.ite(condition, a, b)

    def umulh(self, a: Term, b: Term) -> Term:
        return self.terms.make("umulh", a, b)

    def ctpop(self, value: Term) -> Term:
        return self.terms.make("ctpop", value)

    def cttz(self, value: Term) -> Term:
        return self.terms.make("cttz", value)

    def ctlz(self, value: Term) -> Term:
        return self.terms.make("ctlz", value)
