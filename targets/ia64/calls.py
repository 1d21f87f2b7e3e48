"""What the calling standard says of calls and returns in a shared library.

Itanium Software Conventions and Runtime Architecture Guide, chapters 5 and 8: nothing is passed in
a scratch register, and arguments are in no more than eight registers of the stack.  What a call's
code sees of the register stack is the architecture's (SDM vol. 1, 4.1): its caller's local
registers are out of its reach, and so are its own to the caller.

A caller of another file has another gp, and cannot use that with which code of this one returns.
A static chain (r15), results and what is no general register count as passed: gcc's nested
functions, and linkages written by hand, use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import NOWHERE, addresses
from rewriter.core.isa.instruction import Flow
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.bundling import Routine
from rewriter.core.target.calls import CallOrReturn
from targets.ia64.image import tables
from targets.ia64.image.facts import Facts
from targets.ia64.image.text import GP, Text
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import BR, GR, NAMES
from targets.ia64.standard import RETURNED

_CHAIN = GR + 15
_SCRATCH = register_mask(range(GR + 1, GR + 32)) & ~RETURNED & ~(1 << _CHAIN)
_EVERY = (1 << len(NAMES)) - 1
_ARGUMENTS = 8
_BEYOND_ARGUMENTS = register_mask(range(GR + 32 + _ARGUMENTS, GR + 128))
_LINK = BR  # b0
_TWICE = frozenset(("setjmp", "sigsetjmp", "savectx", "vfork", "getcontext", "swapcontext"))
"""Functions that may return again when others were called since: those that gcc knows by name,
and one whose context may be resumed more than once."""
_UNKNOWN = "setjmp"  # whatever a stub may lead to
_FLOWS = [op.flow for op in TABLE.rows]
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_ALLOC = TABLE.rows.index(TABLE.find("alloc"))
_IS_CALL = np.array([flow is Flow.CALL for flow in _FLOWS] + [False])
_IS_NOP = np.array([op.name.startswith("nop.") for op in TABLE.rows] + [False])
_OTHER_FRAMES = ("cover", "rfi", "br.ia")


@dataclass(frozen=True)
class StandardCalls:
    """The calls and returns of a library."""

    facts: Facts
    not_passed: int = _SCRATCH
    not_returned: int = _SCRATCH | 1 << GP

    def of(self, routine: Routine) -> Mapping[int, CallOrReturn]:
        """Those through b0, by the address of the slot."""
        return dict(self._of(routine))

    def _of(self, routine: Routine) -> Iterator[tuple[int, CallOrReturn]]:
        text, function = self.facts.text, routine.function
        sides = np.array((function.start, function.end), np.uint64)
        low, high = text.addresses.searchsorted(sides).tolist()
        found = _within(self._linked, low, high).tolist()
        flows = [_FLOWS[text.rows[at]] for at in found]
        targets = [int(text.targets[at]) for at in found]
        local = self._local(routine, low, high)
        called = {to for flow, to in zip(flows, targets, strict=True) if flow is Flow.CALL}
        again = not called.isdisjoint(self._twice)
        for at, flow, to in zip(found, flows, targets, strict=True):
            address = int(text.addresses[at])
            if flow is Flow.RETURN:
                unread = self.not_returned | self._hidden
                yield address, CallOrReturn(_EVERY & ~unread | routine.kept, True)
            elif flow in _CALLS and not again:
                is_known = flow is Flow.CALL and self._is_own(to)
                reads = _EVERY & ~self.not_passed & ~local | routine.kept
                yield address, CallOrReturn(reads, False, to if is_known else None)

    def _local(self, routine: Routine, low: int, high: int) -> int:
        """Registers that are local to a function, at positions [low, high), wherever it calls."""
        text = self.facts.text
        at = _within(self._allocs, low, high)
        if routine.stays or not len(at) or len(_within(self._strange, low, high)):
            return 0
        if text.transfers[low // SLOTS : at[0] // SLOTS + 1].any():
            return 0  # it may call before it has a frame
        locals_, rotating = (_operand(text, at, name) for name in ("sol", "sor"))
        if len(set(locals_.tolist())) > 1 or (rotating > locals_).any():
            return 0
        return register_mask(range(GR + 32, GR + 32 + int(locals_[0])))

    @cached_property
    def entered(self) -> frozenset[int]:
        """Starts of functions that code branches to, falls into, or calls the middle of."""
        text, starts = self.facts.text, addresses(f.start for f in self.facts.functions)
        if not len(starts):
            return frozenset()
        at = np.flatnonzero(text.targets != NOWHERE)
        to = text.targets[at]
        source, owner = (
            starts.searchsorted(places, side="right") for places in (text.addresses[at], to)
        )
        is_start = starts[np.maximum(owner, 1) - 1] == to
        crosses = np.where(_IS_CALL[text.rows[at]], ~is_start, source != owner)
        found = set(starts[owner[(owner > 0) & crosses] - 1].tolist())
        return frozenset(found.union(start for start in starts.tolist() if self._falls(start)))

    def _falls(self, start: int) -> bool:
        """Whether control may come to a function from the code before it."""
        text, bundle = self.facts.text, self.facts.text.index(start)
        while bundle:
            if int(text.starts[bundle]) - int(text.starts[bundle - 1]) != BUNDLE:
                return False
            bundle -= 1
            if not self._idle[bundle]:
                return not text.final[bundle]
            if self.facts.labelled[bundle]:
                return True
        return False

    @cached_property
    def direct(self) -> tuple[tuple[int, int], ...]:
        """All direct calls."""
        text = self.facts.text
        at = np.flatnonzero((text.targets != NOWHERE) & _IS_CALL[text.rows])
        return tuple(zip(text.addresses[at].tolist(), text.targets[at].tolist(), strict=True))

    @cached_property
    def _idle(self) -> NDArray[np.bool_]:
        """Bundles of nops."""
        return np.asarray(_IS_NOP[self.facts.text.rows].reshape(-1, SLOTS).all(axis=1))

    @cached_property
    def _linked(self) -> NDArray[np.int64]:
        """The positions of calls that link in b0, and of returns through it."""
        text = self.facts.text
        found = [np.empty(0, dtype=np.int64)]
        for number, op in enumerate(TABLE.rows):
            if op.flow in (*_CALLS, Flow.RETURN) and op.name != "rfi":
                at = text.of_row(number)
                name = "b2" if op.flow is Flow.RETURN else "b1"
                found.append(at[_operand(text, at, name, number) == _LINK])
        return np.sort(np.concatenate(found))

    @cached_property
    def _allocs(self) -> NDArray[np.int64]:
        return np.sort(self.facts.text.named("alloc"))

    @cached_property
    def _strange(self) -> NDArray[np.int64]:
        """The positions of what changes the frame otherwise."""
        return np.sort(self.facts.text.named(*_OTHER_FRAMES))

    @cached_property
    def _hidden(self) -> int:
        """Registers that no caller has behind a return: what it passes arguments in is of both.

        None if a frame of the file has more output registers than the standard has arguments.
        """
        frame, local = (_operand(self.facts.text, self._allocs, name) for name in ("sof", "sol"))
        return 0 if (frame - local > _ARGUMENTS).any() else _BEYOND_ARGUMENTS

    def _is_own(self, place: int) -> bool:
        """Whether a call to a place is to code of the file, and to no stub that leads elsewhere."""
        if self.facts.image.is_sectioned:
            return place not in self._stubs
        return place in self._starts

    @cached_property
    def _starts(self) -> frozenset[int]:
        return frozenset(function.start for function in self.facts.functions)

    @cached_property
    def _stubs(self) -> range:
        return self.facts.image.table(".plt")

    @cached_property
    def _twice(self) -> frozenset[int]:
        """Addresses of code that returns twice, or may lead to such."""
        image = self.facts.image
        named = {s.st_value for s in image.symbols if s.st_shndx and is_twice(s.name)}
        slots = {r.r_offset: r.symbol for r in image.relocations if r.r_type == tables.R_IPLTLSB}
        return frozenset(named).union(
            start
            for start in range(self._stubs.start, self._stubs.stop, BUNDLE)
            if is_twice(slots.get(self._slot(start), _UNKNOWN))
        )

    def _slot(self, stub: int) -> int:
        """The word of data from which a stub takes where it leads; -1 if it does not say that."""
        text, gp = self.facts.text, self.facts.gp
        bundle = text.index(stub)
        insn = None if bundle is None else text.insn(SLOTS * bundle)
        if gp is None or insn is None or insn.name != "addl" or insn.operand("r3") != GP:
            return -1
        return (gp + insn.operand("imm22")) % (1 << 64)


def standard_calls(facts: Facts) -> StandardCalls | None:
    """Those of a library; None of what is no library, or may call by another name what returns
    twice, or by a stub where no section says which code is one."""
    image = facts.image
    if image.e_type != tables.ET_DYN:
        return None
    for relocation in image.relocations:
        by_stub = relocation.r_type == tables.R_IPLTLSB and image.is_sectioned
        if not by_stub and is_twice(relocation.symbol):
            return None
    return StandardCalls(facts)


def is_twice(name: str) -> bool:
    """Whether a symbol is of a function that may return twice."""
    return name.partition("@")[0].lstrip("_") in _TWICE


def _within(ascending: NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
    first, last = np.searchsorted(ascending, (low, high))
    return ascending[first:last]


def _operand(text: Text, at: NDArray[np.int64], name: str, row: int = _ALLOC) -> NDArray[np.int64]:
    """The values of an operand of instructions of one row."""
    operand = next(o for o in TABLE.rows[row].format.operands if o.name == name)
    return TABLE.extract(text.words[at], operand)
