"""Rows: reservations, atomic updates, barriers, cache blocks (Power ISA 3.1B, Book II, 4)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.features import wide
from targets.ppc.isa.formats import d, row, x
from targets.ppc.meanings import memory, system

# unit, size, extended opcode of the load and of the store, feature
_RESERVED = (
    ("b", 1, 52, 694, "2.07"),
    ("h", 2, 116, 726, "2.07"),
    ("w", 4, 20, 150, ""),
    ("d", 8, 84, 214, wide()),
)

# name, text, extended opcode, fixed bits, class, feature
_BLOCKS = (
    ("dcbst", "ra0,rb", 54, 0, "cache", ""),
    ("dcbf", "ra0,rb,flushed", 86, 0, "cache", ""),
    ("dcbi", "ra0,rb", 470, 0, "cache", ""),
    ("dcba", "ra0,rb", 758, 0, "cache", ""),
    ("icbi", "ra0,rb", 982, 0, "cache", ""),
    ("dcbz", "ra0,rb", 1014, 0, "store", ""),
    ("dcbzl", "ra0,rb", 1014, 1 << 21, "store", "2.00"),
)

# name, text, bits, class, feature
_BARRIERS = (
    ("sync", "synced,sc", x(31, 598), "sync", ""),
    ("isync", "", x(19, 150), "isync", ""),
    ("eieio", "", x(31, 854), "sync", ""),
    ("wait", "wc,0", x(31, 30), "sync", "3.0"),
    ("msgsync", "", x(31, 886), "sync", wide("3.0")),
)

# POWER8 and later speculate no more behind it (gcc-12 rs6000.md, speculation_barrier).
_SPECULATION = ("ori", "r31,r31,0", d(24, 31 << 21 | 31 << 16))


def _reservations() -> Iterator[Op]:
    for unit, size, loading, storing, needs in _RESERVED:
        load, store = memory.load_reserved(size), memory.store_conditional(size)
        yield row(f"l{unit}arx", "rt,ra0,rb,eh", x(31, loading), load, "load_l", needs)
        yield row(f"st{unit}cx.", "rs,ra0,rb", x(31, storing, 1), store, "store_c", needs)
    pair = memory.load_reserved_pair
    yield row("lqarx", "rtp,ra0,rb,eh", x(31, 276), pair, "load_l", wide("2.07"))
    stored = memory.store_conditional_pair
    yield row("stqcx.", "rsp,ra0,rb", x(31, 182, 1), stored, "store_c", wide("2.07"))
    for name, text, extended in (("lwat", "rt,ra0,fc", 582), ("ldat", "rt,ra0,fc", 614)):
        updated = memory.update_loaded(name)
        yield row(name, text, x(31, extended), updated, "load_l", wide("3.0"))
    for name, text, extended in (("stwat", "rs,ra0,fc", 710), ("stdat", "rs,ra0,fc", 742)):
        updated = memory.update_stored(name)
        yield row(name, text, x(31, extended), updated, "store_c", wide("3.0"))


def _blocks() -> Iterator[Op]:
    for name, text, extended, fixed, sched, needs in _BLOCKS:
        yield row(name, text, x(31, extended) | fixed, memory.block(name), sched, needs)
    for name, extended in (("dcbt", 278), ("dcbtst", 246)):
        yield row(name, "ra0,rb,0", x(31, extended), memory.touch, "cache")
        stream = memory.touch_stream(name)
        yield row(name, "ra0,rb,th", x(31, extended), stream, "cache", "2.00")
    yield row("copy", "ra0,rb", x(31, 774) | 1 << 21, system.event("copy"), "load-x", wide("3.0"))
    paste = system.transaction("paste.")
    yield row("paste.", "ra0,rb,l", x(31, 902, 1), paste, "store-x", wide("3.0"))
    yield row("cpabort", "", x(31, 838), system.event("cpabort"), "sync", wide("3.0"))


def _barriers() -> Iterator[Op]:
    for name, text, bits, sched, needs in _BARRIERS:
        yield row(name, text, bits, system.event(name), sched, needs)
    yield row(*_SPECULATION, system.event("speculation barrier"), "integer")


ROWS = (*_reservations(), *_blocks(), *_barriers())
