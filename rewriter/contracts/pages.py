"""clear_page, copy_page: whole aligned pages, of a size that is built into the kernel."""

from __future__ import annotations

from rewriter.contracts.contract import Arena, Case, Contract, Kind, Plan, Result, View
from rewriter.contracts.place import MARGIN, START, address, noise, piece


def clear_page(view: View, to: int) -> None:
    """Fills a page with zero: all that the case shows but its margins."""
    view.write(to, bytes(view.available(to) - MARGIN))


def copy_page(view: View, to: int, source: int) -> None:
    """Copies a page to another."""
    view.write(to, view.read(source, view.available(to) - MARGIN))


def _page(arena: Arena, room: int, number: int) -> int:
    return address(arena, room, 0, (number + 1) * arena.page, START)


def _clear(arena: Arena, number: int) -> Case:
    to = _page(arena, 0, number)
    return Case((to,), (piece(arena, to, noise(arena.page, number)),))


def _copy(arena: Arena, number: int, source: int) -> Case:
    to, origin = _page(arena, 0, number), _page(arena, 1, source)
    old, new = noise(arena.page, number + 1), noise(arena.page, 40 * number + source)
    return Case((to, origin), (piece(arena, to, old), piece(arena, origin, new)))


_NUMBERS = range(2)
_CLEARED = Plan("pages", {"number": range(4)}, {"number": (0,)})
_COPIED = Plan("pages", {"number": _NUMBERS, "source": range(4)}, {"number": (1,), "source": (0,)})
CONTRACTS = (
    Contract("clear_page", (Kind.TO,), Result.NOTHING, clear_page, _clear, (_CLEARED,)),
    Contract("copy_page", (Kind.TO, Kind.FROM), Result.NOTHING, copy_page, _copy, (_COPIED,)),
)
