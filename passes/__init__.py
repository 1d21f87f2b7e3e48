"""The passes, in the order in which they run.

align        Branch targets on fetch-block boundaries, in the room that nops and other passes
             left
bitscan      Searches for a bit, where a chip without the count spelled them out
bytes        Narrow loads, stores and sign extensions, where a chip without them spelled them out
cmov         Conditional moves that nearly always go one way become branches that are foreseen
combine      Several instructions become one that the CPU has
dead         What rewrites left that nobody needs any more
flush        Loops that flush blocks of caches take the CPU's real blocks, or go
layout       Blocks in the order in which control passes through them, as a profile counted it
prefetch     Lines that a loop will read or write are asked for before it gets there
reload       A pointer to shared data that a callee leaves as it was is not made anew behind the
             call
replay       Loads that would be replayed for a narrower store before them get their value another
             way
schedule     Instructions in another order, where a model of the CPU says that it pays
sink         Results that one way alone needs are computed on it
substitute   A known routine is replaced by the tuned one for the CPU, where it stands or in new
             room
writehint    Loops that fill memory get a version for long counts, which does not read what it
             stores
combining/     What `combine` is made of; `prefix`: two instructions with the halves of a number
               become one of two words
lib/           What passes are made of
ordering/      Blocks in another order: units, chains, and what becomes of their branches
scheduling/    Instructions in another order: dependences, schedulers, bounds
streams/       Loops that walk over memory, and how far ahead they may ask for it
substitution/  What `substitute` is made of: which tuned routines gain, and where they stand in
               pieces
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from importlib.metadata import EntryPoint

import rewriter  # noqa: F401  # first: it says where compiled modules are
from passes.align import Align
from passes.bitscan import BitScan
from passes.bytes import Bytes
from passes.cmov import Cmov
from passes.combine import Combine
from passes.combining.choose import Choose
from passes.combining.prefix import Prefix
from passes.dead import Dead
from passes.flush import Flush
from passes.layout import ByProfile
from passes.lib.steps import Change, OwnPass, Pass, PluggedIn
from passes.lib.technique import ExternalPass
from passes.prefetch import Prefetch
from passes.reload import Reload
from passes.replay import Replay
from passes.schedule import Schedule
from passes.sink import Sink
from passes.substitute import Substitute
from passes.writehint import WriteHint
from rewriter.core import plugins
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Target

ORDER: tuple[OwnPass, ...] = (
    # First: what becomes another routine is left alone by all that follow.
    Substitute(),
    Bytes(),
    BitScan(),
    # After the searches, which need the shifts and products that they know.
    Combine(),
    # On what all rewrites in place have left.
    Dead(),
    # After the bytes pass, which turns wide loads of narrow stores into narrow ones; before the
    # layout, which has the room for it.
    Replay(),
    # In a loop that has become as short as it gets: how far ahead is a matter of its cycles.  In
    # regions of bundles hints are scheduled with the loop, in slots that would be empty.
    Prefetch(),
    # In code as the passes above leave it, and before the layout, which has the room for it.
    WriteHint(),
    # Loops of barriers and counts that no pass above touches; before the layout, which has the
    # room for it.
    Flush(),
    Cmov(),
    # On branches that all above have left alone; the layout closes up behind it.
    Choose(),
    # In code as all have left it, but for what they inserted, which it does not pass.
    Sink(),
    # What goes is in nobody's way; before the layouts, which close up.
    Reload(),
    # After all that change instructions, and with the next: fetch blocks are those of the order.
    ByProfile(),
    # After all that drop instructions: it spends the room that they leave.
    Align(),
    # Last: which fetch block an instruction stands in decides what order is good.  In regions of
    # bundles order makes the room, and regions move up as they are scheduled.
    Schedule(),
    # Behind the last: what has two words is moved by none, and where it stands decides whether it
    # may be there.
    Prefix(),
)
"""All passes, on either road: those of a target are what its capabilities allow (`offered`)."""

IN_PLACE = frozenset(one.name for one in ORDER if one.change is Change.IN_PLACE)
"""Passes whose edits change superblocks and move nothing."""


def names() -> tuple[str, ...]:
    """The names of all passes in the order in which they run, those of other packages included."""
    return tuple(one.name for one in _places())


def offered(target: Target) -> tuple[str, ...]:
    """The names of the passes that a target offers what they need; plug-ins look at superblocks."""
    return tuple(
        one.name
        for one in _places()
        if (target.sequential is not None if isinstance(one, EntryPoint) else one.offered(target))
    )


def lacking(one: Pass, target: Target, cpu: Cpu) -> frozenset[str]:
    """The features of which a CPU had to have one for a pass to do anything; none if it has."""
    needs = one.needs(target)
    return frozenset() if needs & cpu.features else needs


def chosen(wanted: Container[str]) -> tuple[Pass, ...]:
    """The passes with these names, in the order in which they run; BrokenPlugin may be raised."""
    places = (one for one in _places() if one.name in wanted)
    return tuple(_loaded(one) if isinstance(one, EntryPoint) else one for one in places)


def _places() -> tuple[OwnPass | EntryPoint, ...]:
    """Our own passes, and those of plug-ins right behind our own of their kind."""
    own = {one.name for one in ORDER}
    for entry in plugins.offered(plugins.PASSES):
        if entry.name in own:
            raise plugins.broken(entry, "retune has a pass of this name")
    last = max(at for at, one in enumerate(ORDER) if one.change is Change.IN_PLACE) + 1
    return (*ORDER[:last], *plugins.offered(plugins.PASSES), *ORDER[last:])


@cache
def _loaded(entry: EntryPoint) -> PluggedIn:
    def fault(found: object) -> str:
        given = getattr(found, "name", None)
        return "" if given == entry.name else f"the pass calls itself {given!r}"

    return PluggedIn(plugins.load(entry, fault, ExternalPass))  # type: ignore[type-abstract]
