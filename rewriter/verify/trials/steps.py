"""One case at a time on the built-in interpreter, which traps what an emulator lets pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from rewriter.contracts.contract import Case, Contract, Piece, Result, View, widen
from rewriter.core.isa.table import Table
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import (
    PREFETCH,
    AccessFault,
    Arithmetic,
    BadInstruction,
    Interpreter,
    LimitReached,
    Memory,
    Step,
    Stored,
    Way,
)
from rewriter.core.trials import PLAIN, Program, World
from rewriter.verify.trials.engines.sweep import Code, poison

_RETURN = 0x10  # where nothing is
_STACK = 0x2000  # bytes
_LIMIT = 2_000_000  # instructions
_LINE = 64  # bytes that a hint gives up at least
_BESIDE = b"\x5c"  # what fills a page beside the case


class Stores(Enum):
    """Where a routine may store."""

    INSIDE = "only to bytes that the contract has written"
    UNCHANGED = "also to bytes beside them, what they hold already"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call gave: the whole register of its result, and what the world saw, in order."""

    result: int
    events: tuple[tuple[object, ...], ...]


class _Stray(Exception):
    """A store where the routine may not store."""


class _CaseMemory(Memory):
    """Code and stack that stay, and regions that come and go with a case."""

    def keep(self) -> None:
        """What is mapped now stays."""
        self._kept = list(self._regions)

    def renew(self, pieces: Sequence[Piece], others: Sequence[Piece] = ()) -> None:
        """Only what stays, and these; others may only be read."""
        self._regions, self._near = list(self._kept), None
        for piece in pieces:
            self.map(piece.address, piece.data, execute=False)
        for piece in others:
            self.map(piece.address, piece.data, write=False, execute=False)


class Stepper:
    """Runs one routine on cases of one contract.

    A byte may be read when its page is in the same room as a byte of the case.  `ways` are the
    instructions that were executed in all cases so far, each with where control went from there
    (None: on); `outcome` is that of the last case.  Cases run in the worlds in turn.
    """

    def __init__(
        self,
        code: Code,
        contract: Contract,
        program: Program,
        table: Table,
        write_hints: Mapping[str, int],
        stores: Stores = Stores.INSIDE,
        arithmetic: Arithmetic | None = None,
        worlds: Sequence[World] = PLAIN,
    ) -> None:
        self.code, self.contract, self.program = code, contract, program
        self.worlds, self.cases = worlds, 0
        self.linkage, self.stores = program.linkage, stores
        effects = (name for world in worlds for name in world.effects)
        self.arithmetic, self.hints = arithmetic, {PREFETCH, *write_hints, *effects}
        self.resumes = dict(code.resumes)
        self.memory = _CaseMemory()
        for start, data in code.parts:
            self.memory.map(start, data)
        self.memory.map(program.stack - _STACK, _STACK + program.linkage.frame, execute=False)
        self.memory.keep()
        self.interpreter = Interpreter(
            table,
            self.memory,
            write_hints=write_hints,
            opaque=arithmetic.answer if arithmetic else None,
        )
        self.ways: set[Way] = set()
        self.outcome = Outcome(0, ())

    def trace(self, case: Case) -> list[Step]:
        """What the routine executes in a case, nothing checked but what traps."""
        self._prepare([self._page(piece) for piece in case.pieces], self.worlds[0])
        self.interpreter.registers.update(self._registers(case))
        return self.interpreter.run(self.code.entry, _RETURN, _LIMIT)

    def problem(self, case: Case) -> str:
        """What is wrong with the case; empty when nothing is."""
        pages = [self._page(piece) for piece in case.pieces]
        self._prepare(pages, self.worlds[self.cases % len(self.worlds)])
        self.cases += 1
        before = self._registers(case)
        self.interpreter.registers.update(before)
        self.interpreter.events.clear()
        view = View(case.pieces, self.interpreter.table.byteorder)
        wanted = self.contract.expected(view, case)
        stopped = self._run(view)
        if stopped and not case.promised:
            self.outcome = Outcome(0, (("fault",),))
            return ""
        if stopped:
            return stopped
        self.outcome = Outcome(self.interpreter.registers[self.linkage.result], self._events())
        changed = [r for r in self.linkage.preserved if self.interpreter.registers[r] != before[r]]
        if changed:
            return f"preserved registers {changed} changed"
        return self._outcome(case, pages, view, wanted)

    def _prepare(self, pages: Sequence[Piece], world: World) -> None:
        """Memory with these pages, on a machine of a world."""
        self.interpreter.effects = world.effects
        content = self.code.others(world.word, self.interpreter.table.byteorder)
        self.memory.renew(pages, [Piece(self.code.outside, content)] if content else ())

    def _page(self, piece: Piece) -> Piece:
        arena = self.program.arena
        room = (piece.address - arena.base) // (2 * arena.room)
        start = max(arena.start(room), piece.address & -arena.page)
        end = min(arena.end(room), piece.end + arena.page - 1 & -arena.page)
        data = piece.data.rjust(piece.end - start, _BESIDE).ljust(end - start, _BESIDE)
        return Piece(start, data)

    def _registers(self, case: Case) -> dict[int, int]:
        arguments = dict(zip(self.linkage.arguments, case.arguments, strict=False))
        back = {self.linkage.link: _RETURN, self.linkage.entry: self.code.entry}
        return {**self._filled, **arguments, **back}

    @cached_property
    def _filled(self) -> dict[int, int]:
        """What the registers hold in every case where neither arguments nor linkage say more."""
        mask = (1 << self.program.arena.width) - 1
        made = poison(self.program, self.code.shared).tolist()
        values = {register: register % 15 + 1 for register in self.linkage.preserved}
        values |= {register: value & mask for register, value in enumerate(made)}
        for register in self.interpreter.table.constants:
            values.pop(register, None)
        return values

    def _run(self, view: View) -> str:
        """Runs to the return, over faults that the routine answers; what stopped it before."""
        address, stored = self.code.entry, self._stored(view)
        try:
            while True:
                try:
                    self.interpreter.follow(address, _RETURN, _LIMIT, self.ways, stored)
                    return ""
                except AccessFault as fault:
                    if self.interpreter.pc not in self.resumes:
                        return f"{self._where()}: {fault}"
                    address = self.resumes[self.interpreter.pc]
                    self.ways.add((self.interpreter.pc, address))
        except (Misaligned, BadInstruction, LimitReached, _Stray) as trap:
            return f"{self._where()}: {trap}"

    def _events(self) -> tuple[tuple[object, ...], ...]:
        """What the world saw; hints aside, what they lose shows in the memory."""
        lasting = self.arithmetic.lasting if self.arithmetic else lambda event: True
        events = self.interpreter.events
        return tuple(e for e in events if e[0] not in self.hints and lasting(e))

    def _where(self) -> str:
        return f"at offset {self.interpreter.pc - self.code.entry:#x}"

    def _stored(self, view: View) -> Stored:
        """Raises where a routine may not store.

        Hints are no stores: what they lose shows in the memory afterwards.
        """
        if self.stores is Stores.UNCHANGED:
            return lambda access, size: None
        stack = self.program.stack
        low, high, written = stack - _STACK, stack + self.linkage.frame, view.written

        def stored(access: int, size: int) -> None:
            if size >= _LINE or low <= access < high:
                return
            if not any(first <= access and access + size <= end for first, end in written):
                raise _Stray(f"{size}-byte store to {access:#x}")

        return stored

    def _outcome(self, case: Case, pages: list[Piece], view: View, wanted: int | None) -> str:
        got, events = self.outcome.result, self.outcome.events
        if not case.promised or undefined(self.contract, wanted):
            return self._memory(case, pages, view)
        if events:
            return f"it does more than its contract says: {events[0][0]}"
        if self.contract.result is Result.UNDONE:
            assert wanted is not None
            return self._undone(case, pages, wanted)
        if not agrees(self.contract.result, got, wanted, self.program.arena.width):
            return f"the result is {got:#x}, not {wanted}"
        return self._memory(case, pages, view)

    def _undone(self, case: Case, pages: list[Piece], wanted: int) -> str:
        """What was done is a prefix: at least what it says, and no more than could be."""
        got, count = self.outcome.result, case.arguments[-1]
        if not wanted <= got <= count or (got and not wanted):
            return f"{got:#x} bytes are said to be left, {wanted} are"
        problem = ""
        for done in range(count - got, count - wanted + 1):
            view = View(case.pieces, self.interpreter.table.byteorder)
            self.contract.model(view, *case.arguments[:-1], done)
            found = self._memory(case, pages, view)
            if not found:
                return ""
            problem = problem or found
        return problem

    def _memory(self, case: Case, pages: list[Piece], view: View) -> str:
        for page, piece, after in zip(pages, case.pieces, view.after(), strict=True):
            at = piece.address - page.address
            want = page.data[:at] + after + page.data[at + len(after) :]
            got = self.memory.read(page.address, len(page.data))
            if got != want:
                first = next(n for n, (a, b) in enumerate(zip(got, want, strict=True)) if a != b)
                return (
                    f"memory at {page.address + first:#x} is {got[first]:#x}, not {want[first]:#x}"
                )
        return ""


def undefined(contract: Contract, wanted: int | None) -> bool:
    """Whether the model leaves a case open: what the original does is then what is wanted."""
    return wanted is None and contract.result is not Result.NOTHING


def agrees(result: Result, got: int, wanted: int | None, width: int) -> bool:
    """Whether a register of `width` bits has what the model gave, compared as the contract says."""
    if result is Result.NOTHING:
        return True
    assert wanted is not None
    mask = (1 << width) - 1
    if result is Result.QUAD:
        return got == wanted & mask
    if got != widen(got) & mask:
        return False
    if result is Result.SIGN:
        signed = got - (1 << width) if got >> width - 1 else got
        return (signed > 0) - (signed < 0) == wanted
    return got == widen(wanted) & mask


def unlike(contract: Contract, got: Outcome, original: Outcome) -> str:
    """What is different for a caller from what the original gave; nothing if nothing is.

    After a fault fewer bytes may be left than the original said, where more were done.
    """
    if got.events != original.events:
        return f"the world sees {got.events}, with the original {original.events}"
    if contract.result is Result.NOTHING or got.result == original.result:
        return ""
    if contract.result is Result.UNDONE and got.result < original.result:
        return ""
    return f"the result is {got.result:#x}, the original's {original.result:#x}"
