"""Loads and stores with their bytes in the other order, where these were turned in registers."""

from __future__ import annotations

from collections.abc import Iterator

from passes.combining.chains import Chains, Match
from passes.combining.held import Held
from rewriter.core.code.dataflow import Trace
from rewriter.core.edit import Rewrite
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.idioms import Combining, Idioms


class Turned:
    """The loads before and the stores behind chains that turn the order of bytes."""

    def __init__(
        self, trace: Trace, held: Held, chains: Chains, combining: Combining, spelling: Idioms
    ) -> None:
        self.trace, self.held, self.chains = trace, held, chains
        self.combining, self.spelling = combining, spelling

    def rewrites(self, match: Match) -> Iterator[Rewrite]:
        """What gives the result of a chain, or stores it, at once."""
        if match.chain.reversal:
            yield from self._stores(match)
            yield from self._loads(match)

    # Loads ----------------------------------------------------------------------------------

    def _loads(self, match: Match) -> Iterator[Rewrite]:
        size, slot, trace = match.chain.reversal, match.slot, self.trace
        # A load that something else reads would stay, and memory be read twice.
        for source in sorted(trace.only_for(slot, trace.slice(slot)), reverse=True):
            effects = trace.table.effects(trace.insns[source].op)
            if effects.loads and effects.size == size and trace.value[source] in match.sources:
                for changes in self._loaded(source, slot):
                    yield self._rewrite(match, changes, source)

    def _loaded(self, source: int, slot: int) -> Iterator[dict[int, Insn | None]]:
        load, result = self.trace.insns[source], self.chains.target(slot)
        direct = self.combining.reversing(load, result, None)
        if direct is not None:
            yield {source: direct, slot: None}
            yield {source: None, slot: direct}
            return
        base, displacement = self.spelling.address(load) or (result, 0)
        temporary = self.chains.target(source)
        summed = self.combining.sum(base, displacement, temporary)
        turned = self.combining.reversing(load, result, temporary)
        if summed is not None and turned is not None:
            yield {source: summed, slot: turned}

    # Stores ---------------------------------------------------------------------------------

    def _stores(self, match: Match) -> Iterator[Rewrite]:
        """What stores the result, if nothing else reads it."""
        size, slot, trace = match.chain.reversal, match.slot, self.trace
        users, free = trace.users.get(slot, []), self.chains.free(match)
        sizes = {trace.table.effects(trace.insns[user].op).size for user in users}
        all_store = all(user in trace.stored for user in users)
        if trace.escapes(slot) or not users or not all_store or sizes != {size}:
            return
        changes = dict[int, Insn | None]()
        for user in users:
            found = self._stored(match, user, free | {slot}, alone=len(users) == 1)
            if not found:
                return
            changes |= found
        yield self._rewrite(match, {slot: None, **changes}, slot)

    def _stored(
        self, match: Match, user: int, gone: set[int], *, alone: bool
    ) -> dict[int, Insn | None]:
        store, result = self.trace.insns[user], self.chains.target(match.slot)
        source = next(self.held.holders(match.sources[0], user, gone), None)
        if source is None:
            return {}
        direct = self.combining.reversing(store, source, None)
        if direct is not None:
            return {user: direct}
        base, displacement = self.spelling.address(store) or (result, 0)
        summed = self.combining.sum(base, displacement, result)
        turned = self.combining.reversing(store, source, result)
        if not alone or summed is None or turned is None:
            return {}
        return {match.slot: summed, user: turned}

    def _rewrite(self, match: Match, changes: dict[int, Insn | None], feeder: int) -> Rewrite:
        order = tuple(sorted(changes.items(), key=lambda change: change[0]))
        feeders = (match.slots | {feeder}) - {match.slot}
        return Rewrite(match.slot, match.chain.kind, order, frozenset(feeders))
