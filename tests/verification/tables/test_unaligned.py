"""Accesses that may stand anywhere, in either order of bytes: all readings and the prover agree.

The oracles are Python's own bytes (`Flat`) and Z3's arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.core.isa.registers import Reg
from rewriter.core.readings.batched import Batched
from rewriter.core.readings.concrete import Concrete
from rewriter.core.readings.extents import extent
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.readings.symbolic import Symbolic
from rewriter.core.readings.unaligned import Unaligned
from rewriter.core.terms.evaluate import Evaluator
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.terms.lower import Lowering, Node
from rewriter.verify.terms.noise import Noise

ORDERS: tuple[ByteOrder, ...] = ("little", "big")
WIDTHS = (32, 64)
EVERY = list(product(WIDTHS, ORDERS))
ROOTS = 2  # registers that hold addresses
NEAR = tuple(range(-9, 10))

Access = tuple[bool, int, int, int]
"""Whether it stores; which register its address is reached from, and how far; its size."""


@dataclass
class Flat:
    """A machine whose memory is Python's: a byte at each address, modulo two to the width."""

    width: int
    order: ByteOrder
    roots: Sequence[int] = ()
    held: dict[int, int] = field(default_factory=dict)

    def get(self, register: Reg) -> int:
        """An address."""
        return self.roots[register]

    def const(self, value: int) -> int:
        """A number."""
        return value

    def byte(self, address: int) -> int:
        """What is there."""
        return self.held.get(address, address * 37 & 0xFF)

    def places(self, address: int, size: int) -> list[int]:
        """The addresses of the bytes of an access."""
        return [(address + n) % (1 << self.width) for n in range(size)]

    def load(self, address: int, size: int) -> int:
        """A number there."""
        return int.from_bytes(bytes(map(self.byte, self.places(address, size))), self.order)

    def store(self, address: int, value: int, size: int) -> None:
        """The low bytes of a number."""
        content = (value % (1 << 8 * size)).to_bytes(size, self.order)
        self.held |= zip(self.places(address, size), content, strict=True)


@st.composite
def accesses(draw: st.DrawFn, width: int) -> list[Access]:
    """Loads and stores near two addresses."""
    sizes = [size for size in (1, 2, 4, 8) if size <= width // 8]
    near = st.integers(0, ROOTS - 1), st.sampled_from(NEAR), st.sampled_from(sizes)
    return draw(st.lists(st.tuples(st.booleans(), *near), min_size=2, max_size=8))


def bases(width: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Addresses: near each other, and around the end of all addresses."""
    end = st.integers(-8, 8).map(lambda n: n % (1 << width))
    return st.tuples(*[end | st.integers(0x1000, 0x1008)] * ROOTS)


def performed(machine: Any, drawn: Sequence[Access]) -> list[Any]:
    """What the loads give; stores put what was loaded last, or the address, into memory."""
    found: list[Any] = []
    for stores, root, distance, size in drawn:
        address = machine.get(Reg(root)) + machine.const(distance)
        if stores:
            machine.store(address, found[-1] if found else address, size)
        else:
            found.append(machine.load(address, size))
    return found


def concretely(width: int, order: ByteOrder, roots: Sequence[int], drawn: Sequence[Access]) -> bool:
    """Whether the concrete reading gives what plain memory does, and leaves it so."""
    flat = Flat(width, order, roots)
    machine = Concrete(
        width=width,
        byteorder=order,
        aligned=False,
        registers=dict(enumerate(roots)),
        initial_byte=Flat(width, order).byte,
    )
    same = performed(machine, drawn) == performed(flat, drawn)
    return same and flat.held.items() <= machine.memory.items()


def symbolically(
    width: int, order: ByteOrder, roots: Sequence[int], drawn: Sequence[Access]
) -> bool:
    """The same of the symbolic one, and of the bytes that it says are touched."""
    flat, machine = Flat(width, order, roots), Unaligned(Terms(width), {}, order)
    values = {f"r{number}": root for number, root in enumerate(roots)}
    evaluate = Evaluator(values, Flat(width, order).byte)
    same = list(map(evaluate, performed(machine, drawn))) == performed(flat, drawn)
    after = evaluate(machine.memory)
    touched = {
        place
        for _, root, distance, size in drawn
        for place in flat.places(roots[root] + distance, size)
    }
    return (
        same
        and all(after.read(at) == byte for at, byte in flat.held.items())
        and set(map(evaluate, machine.loaded)) == touched
    )


@pytest.mark.parametrize("reading", [concretely, symbolically])
@pytest.mark.parametrize(("width", "order"), EVERY)
@settings(max_examples=50)
@given(data=st.data())
def test_the_readings_do_what_memory_does(
    reading: Callable[..., bool], width: int, order: ByteOrder, data: st.DataObject
) -> None:
    drawn, roots = data.draw(accesses(width)), data.draw(bases(width))
    assert reading(width, order, roots, drawn)


@pytest.mark.parametrize(("width", "order"), EVERY)
@settings(max_examples=30)
@given(data=st.data())
def test_lanes_do_what_memory_does(width: int, order: ByteOrder, data: st.DataObject) -> None:
    lanes, room = 5, 64
    drawn = data.draw(accesses(width))
    kind = np.dtype(f"u{width // 8}")
    base = np.arange(lanes, dtype=kind) * kind.type(0x1000) - kind.type(32)  # the first wraps
    rows = [
        [Flat(width, order).byte((int(at) + n) % (1 << width)) for n in range(room)] for at in base
    ]
    machine = Batched(
        lanes,
        np.array(rows, dtype=np.uint8),
        base,
        registers={Reg(n): base + kind.type(32 + n) for n in range(ROOTS)},
        width=width,
        byteorder=order,
        aligned=False,
    )
    found = performed(machine, drawn)
    for lane, at in enumerate(base.tolist()):
        flat = Flat(width, order, [at + 32, at + 33])
        assert [int(value[lane]) for value in found] == performed(flat, drawn)
        for place, byte in flat.held.items():
            assert machine.memory[lane, (place - at) % (1 << width)] == byte


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=40)
@given(data=st.data())
def test_aligned_cells_hold_bytes_in_either_order(order: ByteOrder, data: st.DataObject) -> None:
    drawn = [
        (stores, root, distance * size, size)
        for stores, root, distance, size in data.draw(accesses(32))
    ]
    roots = (0x1000, 0x1008)
    flat, machine = Flat(32, order, roots), Symbolic(Terms(32), {}, order)

    def cell(address: int) -> int:
        return Flat(32, order).load(address, 4)

    evaluate = Evaluator({"r0": roots[0], "r1": roots[1]}, cell)
    assert list(map(evaluate, performed(machine, drawn))) == performed(flat, drawn)
    after = evaluate(machine.memory)
    for at in flat.held:
        assert after.read(at & -4).to_bytes(4, order)[at % 4] == flat.held[at]


# What the store of terms folds, and what the prover decides, against arrays of Z3 ---------------


def array_of(term: Term, width: int) -> Any:
    """A term over Z3's arrays of bytes: an own lowering, so that no mistake is made twice."""
    of = [array_of(arg, width) for arg in term.args]
    if term.kind == "const":
        return z3.BitVecVal(term.value, width)
    if term.kind == "var":
        return z3.BitVec(str(term.data), width)
    if term.kind == "mem":
        return z3.Array("M", z3.BitVecSort(width), z3.BitVecSort(8))
    if term.kind in ("write", "read"):
        size, order = str(term.data).split()
        weights = range(int(size)) if order == "little" else reversed(range(int(size)))
        if term.kind == "write":
            memory, address, value = of
            for n, weight in enumerate(weights):
                memory = z3.Store(
                    memory, address + n, z3.Extract(8 * weight + 7, 8 * weight, value)
                )
            return memory
        found = z3.BitVecVal(0, width)
        for n, weight in enumerate(weights):
            byte = z3.Select(of[0], of[1] + n)
            found = found | z3.ZeroExt(width - 8, byte) << (8 * weight)
        return found
    plain = {"add": lambda a, b: a + b, "and": lambda a, b: a & b, "lshr": z3.LShR}
    return plain[term.kind](*of)


def differ(a: Any, b: Any) -> Any:
    solver = z3.Solver()
    solver.add(a != b)
    return solver.check()


def reads(width: int, order: ByteOrder, distance: int) -> list[tuple[Term, Term]]:
    """Reads behind a write: folded, and not."""
    found, terms = [], Terms(width)
    x, v, memory = terms.var("x"), terms.var("v"), terms.make("mem", data="M")
    sizes = [size for size in (1, 2, 4, 8) if size <= width // 8]
    for written, size in product(sizes, sizes):
        address = terms.add(x, terms.const(distance))
        after = terms.make("write", memory, x, v, data=extent(written, order).data)
        part = extent(size, order)
        folded = terms.read(after, address, part)
        found.append((folded, terms.make("read", after, address, data=part.data)))
    return found


@pytest.mark.parametrize(("width", "order"), EVERY)
def test_what_a_read_finds_of_a_write(width: int, order: ByteOrder) -> None:
    folds = 0
    for distance in NEAR:
        for folded, plain in reads(width, order, distance):
            if folded is not plain:
                folds += 1
                assert differ(array_of(folded, width), array_of(plain, width)) == z3.unsat
    assert folds > 100


def test_constant_addresses_are_told_apart() -> None:
    terms = Terms(32)
    memory, word = terms.make("mem", data="M"), extent(4, "big")
    there = terms.make("write", memory, terms.const(0x1000), terms.var("v"), data=word.data)
    assert terms.read(there, terms.const(0x1004), word).args[0] is memory
    assert terms.read(there, terms.const(0x1002), word).args[0] is there
    assert terms.read(there, terms.const(0x1000), word) is terms.var("v")


@st.composite
def claims(draw: st.DrawFn, width: int) -> tuple[Term, Term]:
    """Two numbers that are read near two addresses after some writes there."""
    terms = Terms(width)
    roots, values = [terms.var("x"), terms.var("y")], [terms.var("v")]
    memories = [terms.make("mem", data="M")]
    order = draw(st.sampled_from(ORDERS))
    for _ in range(draw(st.integers(2, 5))):
        address = draw(st.sampled_from(roots)) + terms.const(draw(st.integers(-3, 3)))
        data = extent(draw(st.sampled_from((1, 2, 4))), order).data
        memory = draw(st.sampled_from(memories[-2:]))
        if draw(st.booleans()):
            value = draw(st.sampled_from(values))
            memories.append(terms.make("write", memory, address, value, data=data))
        values.append(terms.make("read", memories[-1], address, data=data))
    return values[-1], draw(st.sampled_from(values))


@pytest.mark.parametrize("width", WIDTHS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_bytes_are_what_arrays_give(width: int, data: st.DataObject) -> None:
    a, b = data.draw(claims(width))
    parts = sorted({t.number: t for root in (a, b) for t in root.walk()}.items())
    numbers = {number: n for n, (number, _) in enumerate(parts)}
    nodes: list[Node] = [
        ("?", "mem" if t.kind == "mem" else width)
        if t.kind in ("var", "mem")
        else (t.kind, t.data, *(numbers[arg.number] for arg in t.args))
        for _, t in parts
    ]
    lowering = Lowering(width, width // 8)
    done, solver = lowering.lower(nodes), z3.Solver(ctx=lowering.context)
    solver.add(done[numbers[a.number]] != done[numbers[b.number]])
    assert solver.check() == differ(array_of(a, width), array_of(b, width))


@pytest.mark.parametrize("width", WIDTHS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_lane_of_noise_is_one_evaluation(width: int, data: st.DataObject) -> None:
    roots = data.draw(claims(width))
    noise, known = Noise(32, width), dict[int, Any]()
    for part in sorted(
        {t.number: t for r in roots for t in r.walk()}.values(), key=lambda t: t.number
    ):
        if part.kind == "var":
            known[part.number] = noise.value(str(part.data), width)
        elif part.kind == "mem":
            known[part.number] = noise.memory("M")
        else:
            args = [known[arg.number] for arg in part.args]
            known[part.number] = noise.apply(part.kind, part.data, args)
    for lane in (0, 9, 31):
        values = {name: int(noise.value(name, width)[lane]) for name in "xyv"}

        def byte(address: int, lane: int = lane) -> int:
            every = np.full(32, address, dtype=np.uint64)
            return int(noise.memory("M").read(every)[lane]) & 0xFF

        evaluate = Evaluator(values, byte)
        for root in roots:
            found = known[root.number]
            assert int(found[lane if len(found) > 1 else 0]) == evaluate(root)
