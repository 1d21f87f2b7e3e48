"""Where other functions lead into the midst of one, which a pass may then still take apart."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter

from rewriter.analysis.program import Program
from rewriter.core.code.program import Function, Pin
from rewriter.elf.linking import STT_FUNC, STT_GNU_IFUNC
from rewriter.elf.pins import SYMBOL


def other_entries(program: Program, function: Function) -> frozenset[int]:
    """Addresses in the function that may be come to or named from outside, if they stay.

    Code of other functions leads there, and nothing in data but symbols of functions; or a jump
    table of the function stands there, which stays anyhow.  A word of data that names other code
    may be there for any reason, and a kernel names code for reasons of its own.
    """
    if program.is_kernel:
        return frozenset()
    graph, blocks = program.graph, program.graph.blocks_of(function)
    here = slice(blocks.start, blocks.stop)
    led = graph.first[here][graph.entered[here] & ~graph.named[here]]
    tables = {t.address for t in program.tables_of(function) if t.exact and t.address in function}
    return frozenset(
        (*program.listing.addresses[led].tolist(), *_symbols(program, function), *tables)
    )


def _symbols(program: Program, function: Function) -> Iterator[int]:
    """Addresses that symbols of functions name, and no other data."""
    pins = _pins_in(program, function)
    if not pins:
        return
    image, others = program.image, {pin.address for pin in pins}
    kinds = {place: set[str]() for place in others}
    for symbol in image.symbols:
        is_code = symbol.st_type in (STT_FUNC, STT_GNU_IFUNC)
        if symbol.st_shndx and is_code and image.code_address(symbol) in kinds:
            kinds[image.code_address(symbol)].add(SYMBOL + symbol.name)
    for place, names in kinds.items():
        if names.issuperset(pin.reason for pin in pins if pin.address == place):
            yield place


def _pins_in(program: Program, function: Function) -> tuple[Pin, ...]:
    """What data relies on behind the function's start."""
    first, end = (
        bisect_left(program.pins, at, key=attrgetter("address"))
        for at in (function.start + 1, function.end)
    )
    return program.pins[first:end]
