"""Functions of a linked file: unwind table first, then sized symbols; names from symbols."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.edges import CALL, RETURN
from rewriter.analysis.flow import Graph
from rewriter.analysis.returning import Returning, trapping
from rewriter.core.addresses import NOWHERE, addresses, contains, holders
from rewriter.core.code.listing import Listing, among
from rewriter.core.code.program import Function, extents
from rewriter.core.isa.instruction import CALLS, To, leading
from rewriter.core.target.bundling import Bundling, Code, Range
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image
from rewriter.elf.linking import Symbol

STT_NOTYPE, STT_FUNC = 0, 2

_CALL = "call"
"""The source of a function that nothing but a direct call speaks for."""


def find_functions(image: Image, frames: Iterable[Range]) -> tuple[Function, ...]:
    """Non-overlapping functions, ascending.

    An unwind entry is what a debugger trusts, so it wins; a sized function symbol adds a range
    where no unwind entry is.  A range without a symbol is called `sub_` and its address.  Where no
    sections say what is code, a symbol without a type may be of data.
    """
    symbols = function_symbols(image)
    names = _names(symbols)
    ranges = {
        frame.start: (frame.end, "unwind table")
        for frame in frames
        if frame.start < frame.end <= NOWHERE  # damaged where it goes on behind the last address
    }
    covered = sorted((start, end) for start, (end, _) in ranges.items())
    for symbol in symbols:
        start, end = symbol.st_value, symbol.st_value + symbol.st_size
        is_code = symbol.st_type == STT_FUNC or image.is_sectioned
        if is_code and 0 < symbol.st_size <= NOWHERE - start and not _overlaps(covered, start, end):
            ranges.setdefault(start, (end, "symbol"))
    repeated = {name for name, times in Counter(names.values()).items() if times > 1}
    found: list[Function] = []
    for start, (end, source) in sorted(ranges.items()):
        name = names.get(start, _unnamed(start))
        if not found or start >= found[-1].end:
            # Versions of one symbol share its name; an edit's id must not.
            unique = f"{name}@{start:x}" if name in repeated else name
            found.append(Function(start, end, unique, source))
    return tuple(found)


def bundled_code(image: Image, target: Bundling) -> Code:
    """The code of a file whose text says what issues together."""
    return target.code(image, bundled_functions(image, target))


def bundled_functions(image: Image, target: Bundling) -> tuple[Function, ...]:
    """The functions of such a file."""
    return find_functions(image, target.described(image))


def with_called(functions: Sequence[Function], listing: Listing) -> tuple[Function, ...]:
    """Functions and, where none is, the ranges that a direct call enters.

    Hand-written code often has neither an unwind entry nor a symbol.  Such a function reaches to
    the next start or the end of the text it is in.
    """
    calls = listing.targets[among(listing.flows, leading(To.PLACE) & CALLS)]
    starts = addresses(f.start for f in functions)
    called = np.unique(calls)
    owner = holders(extents(functions), called)
    free = called[owner < 0].tolist()
    free = [address for address in free if listing.has(address)]
    step = listing.table.size
    breaks = listing.addresses[np.flatnonzero(np.diff(listing.addresses) > step)] + step
    ends_of_text = listing.addresses[-1:] + step
    stops = np.unique(np.concatenate((starts, addresses(free), breaks, ends_of_text))).tolist()
    extra = [
        Function(
            address,
            stops[bisect_right(stops, address)],
            _unnamed(address),
            _CALL,
        )
        for address in free
    ]
    return tuple(sorted((*functions, *extra)))


def is_only_called(function: Function) -> bool:
    """Whether nothing but calls speaks for a function."""
    return function.source == _CALL


def doubtful(graph: Graph, target: Sequential, begun: Iterable[int]) -> frozenset[int]:
    """Starts of functions that may be data, as a program to be copied elsewhere may be.

    Nothing but calls speaks for them, and control is not shown to come to all of their code, from
    other functions or from one of the addresses at which code has `begun`.
    """
    called = [function for function in graph.functions if is_only_called(function)]
    if not called:
        return frozenset()
    reached = _reached(graph, target, begun)
    return frozenset(one.start for one in called if not _all_reached(graph, target, reached, one))


def _reached(graph: Graph, target: Sequential, begun: Iterable[int]) -> NDArray[np.bool_]:
    """By block, whether control comes there, or it is of a function that more than calls speak for.

    From such functions it comes by calls and by branches that say where they lead: not from one
    that runs over its end, nor by a table that may be longer than its function knows.
    """
    described = [not is_only_called(function) for function in graph.functions]
    known = np.array([*described, False])[graph.function_of]
    places = graph.listing.addresses[graph.first]
    begins = np.unique(addresses(place % (1 << 64) for place in begun))
    found = known | contains(begins, places)
    follows = np.flatnonzero(graph.kind != RETURN)
    follows = follows[~known[graph.target[follows]]]
    sources, targets = graph.source[follows], graph.target[follows]
    ends = among(graph.listing.flows[graph.last - 1], leading(To.PLACE))
    leaving = (graph.kind[follows] == CALL) | (ends[sources] & (targets != sources + 1))
    found[targets[known[sources] & leaving]] = True
    following: dict[int, list[int]] = {}
    unknown = ~known[sources]
    for block, to in zip(sources[unknown].tolist(), targets[unknown].tolist(), strict=True):
        following.setdefault(block, []).append(to)
    stopping = frozenset(trapping(graph, target.always_traps).tolist())
    returning, queue = Returning(graph), np.flatnonzero(found & ~known).tolist()
    while queue:
        block = queue.pop()
        for to in following.get(block, ()):
            stops = to == block + 1 and (block in stopping or returning.stops(block))
            if not (found[to] or stops):
                found[to] = True
                queue.append(to)
    return found


def _all_reached(
    graph: Graph, target: Sequential, reached: NDArray[np.bool_], function: Function
) -> bool:
    """Whether control comes to all of a function, but for nops and ways in that are not taken.

    In front of code may stand what makes the pointer to shared data, for callers that need it.
    """
    blocks = graph.blocks_of(function)
    for block in (np.flatnonzero(~reached[blocks.start : blocks.stop]) + blocks.start).tolist():
        start = _busy(graph, target, block)
        if start is not None:
            behind = int(graph.listing.addresses[graph.last[block] - 1]) + graph.listing.table.size
            entries = target.entries(graph.listing, replace(function, start=start))
            if behind not in entries or not reached[block + 1 : block + 2].any():
                return False
    return True


def _busy(graph: Graph, target: Sequential, block: int) -> int | None:
    """The address of the first instruction in a block that does something."""
    first, last = int(graph.first[block]), int(graph.last[block])
    places = graph.listing.addresses[first:last].tolist()
    for place, insn in zip(places, graph.listing.insns_at(first, last), strict=True):
        if insn is not None and not (target.is_nop(insn) or target.ends_group(insn)):
            return int(place)
    return None


def has_symbol(function: Function) -> bool:
    """Whether a symbol gave a function its name."""
    return function.name != _unnamed(function.start)


def _unnamed(start: int) -> str:
    """The name of a function without a symbol."""
    return f"sub_{start:x}"


def function_symbols(image: Image) -> list[Symbol]:
    """Defined symbols of code, each with where its code begins; often one has no type."""
    ranges = image.executable_ranges()
    found = []
    for symbol in image.symbols:
        if symbol.st_type in (STT_NOTYPE, STT_FUNC) and symbol.st_shndx:
            address = image.code_address(symbol)
            if any(start <= address < end for start, end in ranges):
                moved = address != symbol.st_value
                found.append(replace(symbol, st_value=address) if moved else symbol)
    return found


def _names(symbols: Iterable[Symbol]) -> dict[int, str]:
    """One name an address: global before local, fewest leading underscores, then shortest."""

    def rank(symbol: Symbol) -> tuple[int, int, int, str]:
        name = symbol.name
        underscores = len(name) - len(name.lstrip("_"))
        return (
            0 if symbol.st_bind == 1 else 1 if symbol.st_bind == 2 else 2,
            underscores,
            len(name),
            name,
        )

    best: dict[int, Symbol] = {}
    for symbol in symbols:
        known = best.get(symbol.st_value)
        if symbol.name and (known is None or rank(symbol) < rank(known)):
            best[symbol.st_value] = symbol
    return {address: symbol.name for address, symbol in best.items()}


def _overlaps(covered: list[tuple[int, int]], start: int, end: int) -> bool:
    at = bisect_left(covered, (start, start))
    return any(a < end and start < b for a, b in covered[max(at - 1, 0) : at + 1])
