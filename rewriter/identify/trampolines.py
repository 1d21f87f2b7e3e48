"""Code that callers count on for more than the calling standard makes a function keep.

A call through the PLT that is bound when it is first made goes to a trampoline of the dynamic
loader: it saves the registers in which integers are passed, asks which function is meant, and goes
there with all that its caller passes.  Functions that count calls do the same.  What a trampoline
does not save, such as vectors, must survive whatever it calls.  `__tls_get_addr` is called by
compilers which know what glibc's writes on its shortest way.

A trampoline is known by its code, wherever it is: where it goes through a register all integer
arguments hold what has been loaded from the stack since the last call.  `__tls_get_addr` is known
by its symbol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewriter.analysis.functions import function_symbols
from rewriter.contracts.linkage import STANDARD, THREAD
from rewriter.core.code.listing import Listing, among
from rewriter.core.isa.instruction import AWAY, CALLS, To, leading
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.capability import trials_of
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image

_THREAD = frozenset({"__tls_get_addr", "__tls_get_addr_opt"})
_FAR = AWAY | CALLS


@dataclass(frozen=True, slots=True)
class Trusted:
    """An address in code of which callers expect that `kept`, a mask, holds what it held, beside
    what the standard has it keep."""

    address: int
    kept: int


def trusted(image: Image, listing: Listing, target: Sequential) -> tuple[Trusted, ...]:
    """All such code of a file."""
    found = (*_finding_variables(image, target), *_handing_on(listing, target))
    return tuple(dict.fromkeys(found))  # .symtab repeats the dynamic symbols


def _finding_variables(image: Image, target: Sequential) -> Iterator[Trusted]:
    """Functions that find thread-local variables, where compilers call them otherwise than C's."""
    linkage = trials_of(target).linkages.get(THREAD)
    if linkage is not None:
        for symbol in function_symbols(image):
            if symbol.name in _THREAD:
                yield Trusted(symbol.st_value, register_mask(linkage.preserved))


def _handing_on(listing: Listing, target: Sequential) -> Iterator[Trusted]:
    """Where control goes on with arguments that code does not know, but for those that it saves.

    A file in which calls are bound finds thread-local variables too, if only the symbol is gone.
    """
    linkages = trials_of(target).linkages
    standard = linkages[STANDARD]
    kept = register_mask(standard.others)
    if THREAD in linkages:
        kept |= register_mask(linkages[THREAD].preserved)
    for at in _behind_loads(listing, target, len(standard.arguments)).tolist():
        loaded = _loaded(listing, target, at)
        if not register_mask(standard.arguments) & ~loaded:
            yield Trusted(int(listing.addresses[at]), kept & ~loaded)


def _behind_loads(listing: Listing, target: Sequential, least: int) -> NDArray[np.int64]:
    """Where control goes on through a register, with so many registers loaded from the stack since
    a call, or with what loads as many as it says."""
    table = listing.table
    effects = map(table.effects, table.rows)
    many = [one.loads * (least if one.selected else len(one.writes)) for one in effects]
    loads = np.array([*many, 0, 0])
    count = np.cumsum(loads[listing.rows] * listing.uses.has(target.stack))
    places = np.flatnonzero(among(listing.flows, leading(To.REGISTER)))
    calls = np.flatnonzero(among(listing.flows, _FAR))
    before = np.append(0, count[calls])[calls.searchsorted(places)]
    found: NDArray[np.int64] = places[count[places] - before >= least]
    return found


def _loaded(listing: Listing, target: Sequential, at: int) -> int:
    """The registers that hold at a position what was loaded, whole, from the stack since a call."""
    loaded = written = 0
    for position in range(at - 1, -1, -1):
        insn = listing.insn(position)
        if insn is None or insn.op.flow in _FAR:
            break
        said = target.whole(insn)
        if said is not None and said[1:] == (target.stack, False):
            loaded |= said[0] & ~written
        written |= target.table.defs(insn)
    return loaded
