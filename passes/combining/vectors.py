"""Loads and stores of vectors whose halves were exchanged in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from passes.combining.held import Held
from passes.lib.technique import Site, usable
from rewriter.core.code.dataflow import Trace
from rewriter.core.edit import Rewrite
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.idioms import Combining
from rewriter.core.terms.term import Term

_KIND = "exchanged halves of a vector"
_SOURCES = 4  # registers that are tried

Changes = dict[int, Insn | None]


class Vectors:
    """The exchanges of a block."""

    def __init__(self, trace: Trace, held: Held, combining: Combining, cpu: Cpu) -> None:
        self.trace, self.held, self.combining, self.cpu = trace, held, combining, cpu

    def site(self, slot: int) -> Site | None:
        """What may be done about an exchange, which a slot may be."""
        if self.trace.insns[slot].name not in self.combining.EXCHANGES:
            return None
        found = tuple(self.trace.results(slot).items())
        register = found[0][0]
        if len(found) != 2 or self.combining.halves(register) != tuple(r for r, _ in found):
            return None
        other = tuple(value for _, value in reversed(found))
        if not self._exchanges(slot, other):
            return None
        made = [
            *self._stores(slot, register, other),
            *self._loads(slot, register, other),
            *self._alike(slot, register, other),
        ]
        rewrites = tuple(
            Rewrite(slot, _KIND, tuple(sorted(changes.items(), key=_first)), frozenset(feeders))
            for changes, feeders in made
            if usable(self.cpu, [insn for insn in changes.values() if insn is not None])
        )
        return Site(slot, _KIND, rewrites, "" if rewrites else self._reason(slot))

    def _exchanges(self, slot: int, other: tuple[Term, ...]) -> bool:
        """Whether a slot reads a vector with the other half first."""
        operand = self.trace.operand[slot]
        return any(
            tuple(operand.get(half) for half in self.combining.halves(register)) == other
            for register in operand
        )

    def _reason(self, slot: int) -> str:
        behind = "may be read later" if self.trace.escapes(slot) else "are read by more than stores"
        return f"the halves are not loaded here for this alone, and {behind}"

    def _alike(
        self, slot: int, register: int, halves: tuple[Term, ...]
    ) -> Iterator[tuple[Changes, set[int]]]:
        """Where both halves are the same an exchange is a copy: what makes them makes it."""
        if halves[0] is not halves[1]:
            return
        feeders = self.trace.slice(slot)
        for source in sorted(self.trace.only_for(slot, feeders), reverse=True):
            if tuple(self.trace.results(source).values()) == halves:
                made = self._into(self.trace.insns[source], register)
                if made is not None:
                    yield {source: made, slot: None}, feeders
                    yield {slot: made}, feeders
        if halves[0].kind == "const":
            made = self.combining.repeated(halves[0].value, register)
            if made is not None:
                yield {slot: made}, feeders

    def _into(self, insn: Insn, register: int) -> Insn | None:
        """The same instruction with another result; None where it cannot have that."""
        table = self.trace.table
        operands, (result,) = list(insn.operands), table.effects(insn.op).writes
        operands[result] = register
        made = Insn(insn.op, tuple(operands))
        try:
            table.encode(made)
        except ValueError:
            return None
        return made

    # Loads ----------------------------------------------------------------------------------

    def _loads(
        self, slot: int, register: int, other: tuple[Term, ...]
    ) -> Iterator[tuple[Changes, set[int]]]:
        """Loads of the exchanged halves, at the place of the load and at that of the exchange."""
        feeders = self.trace.slice(slot)
        for source in sorted(self.trace.only_for(slot, feeders), reverse=True):
            if tuple(self.trace.results(source).values()) == other:
                load = self.trace.insns[source]
                for place in (source, slot):
                    for insn in self._accesses(load, source, place, register, feeders):
                        yield {slot: None, place: insn}, feeders
                return

    def _accesses(
        self, access: Insn, at: int, place: int, data: int, feeders: set[int]
    ) -> Iterator[Insn]:
        """An access with exchanged halves: at a displacement from what is held, and as it was."""
        direct = self.combining.exchanging(access, data)
        if direct is None:
            return
        address = self._address(at)
        if address is not None:
            root, displacement = address.store.linear(address)
            for base in self.held.holders(root, place, ()):
                displaced = self.combining.exchanging_at(access, data, base, displacement)
                if displaced is not None:
                    yield displaced
                    break
        yield direct

    def _address(self, slot: int) -> Term | None:
        """Where an access goes: the sum of the general registers that it reads."""
        found = None
        for register, value in self.trace.operand[slot].items():
            if not self.combining.halves(register):
                found = value if found is None else found + value
        return found

    # Stores ---------------------------------------------------------------------------------

    def _stores(
        self, slot: int, register: int, other: tuple[Term, ...]
    ) -> Iterator[tuple[Changes, set[int]]]:
        """Stores of the halves as they were before the exchange, if only stores read it."""
        users = self.trace.users.get(slot, [])
        if self.trace.escapes(slot) or not users:
            return
        ways = [
            (None,)
            if self._is_back(user, slot, other)
            else self._stored(user, slot, register, other)
            for user in users
        ]
        if all(ways):
            feeders = self.trace.slice(slot) | {slot}
            for user in users:
                feeders |= self.trace.slice(user)
            for way in range(max(map(len, ways))):
                chosen = [found[min(way, len(found) - 1)] for found in ways]
                yield {slot: None, **dict(zip(users, chosen, strict=True))}, feeders

    def _is_back(self, user: int, slot: int, other: tuple[Term, ...]) -> bool:
        """Whether a slot exchanges the halves again, in a register that had them all the time."""
        results = self.trace.results(user)
        return tuple(results.values()) == other and all(
            self.held.value(register, user, {slot, user}) is value
            for register, value in results.items()
        )

    def _stored(
        self, user: int, slot: int, register: int, other: tuple[Term, ...]
    ) -> Sequence[Insn]:
        """What a slot may store instead of the exchanged halves; nothing if it is no such store."""
        store = self.trace.insns[user]
        reads = {r for r, at in self.trace.definition[user].items() if at == slot}
        if user not in self.trace.stored or not reads <= set(self.combining.halves(register)):
            return ()
        found: list[Insn] = []
        for source in self._holding(other, user, {slot}):
            found += self._accesses(store, user, user, source, set())
        return found[: 2 * _SOURCES]

    def _holding(self, halves: tuple[Term, ...], slot: int, gone: set[int]) -> Iterator[int]:
        """The vectors that have such halves before a slot."""
        for register in self.held.holders(halves[0], slot, gone):
            mates = self.combining.halves(register)
            is_first = mates[:1] == (register,)
            if is_first and self.held.value(mates[1], slot, gone) is halves[1]:
                yield register


def _first(change: tuple[int, Insn | None]) -> int:
    return change[0]
