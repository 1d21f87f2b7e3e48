"""Terms under assumptions of alignment: what is known of low bits becomes a number.

An assumption `x + c & mask == 0`, with a mask of low bits, gives those bits of x, and so of every
sum of x or -x with a constant.  A claim in which they are numbers is much easier for a solver; and
a cell is named by the sum that is its first byte, so that accesses to one name it alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rewriter.core.terms.term import Term, rebuilt

_Known = Mapping[int, tuple[int, int]]  # root's number -> low bits that are known, as mask, value


def under(conditions: Sequence[Term], terms: Sequence[Term]) -> tuple[Term, ...]:
    """Terms equal to the given ones wherever all conditions hold."""
    known = _known(conditions)
    if not known:
        return tuple(terms)
    done: dict[int, Term] = {}
    parts = {part.number: part for term in terms for part in term.walk()}
    for number in sorted(parts):  # what a part is made of comes before it
        part = parts[number]
        if part.kind == "and" and (simpler := _simpler(part, known, done)) is not None:
            done[number] = simpler
    return tuple(rebuilt(term, done) for term in terms) if done else tuple(terms)


def _known(conditions: Iterable[Term]) -> _Known:
    known: dict[int, tuple[int, int]] = {}
    for condition in conditions:
        if condition.kind == "eq" and condition.args[1].data == 0:
            masked = _masked(condition.args[0])
            if masked is not None and _low(masked[2]):
                root, distance, mask = masked
                if mask > known.get(root.number, (0, 0))[0]:
                    known[root.number] = mask, -distance & mask
    return known


def _simpler(part: Term, known: _Known, done: dict[int, Term]) -> Term | None:
    """A term that only looks at known bits as their value, a cell by its first byte."""
    masked = _masked(part)
    if masked is None:
        return None
    root, distance, mask = masked
    bits, value = _known_of(root, known)
    if _low(mask):
        return part.store.const(value + distance & mask) if mask <= bits else None
    inside = part.store.ones ^ mask
    beyond = value + distance & inside
    if not _low(inside) or inside > bits or not beyond:
        return None
    first = part.store.const(distance - beyond)
    return part.store.and_(rebuilt(root, done) + first, part.store.const(mask))


def _known_of(root: Term, known: _Known) -> tuple[int, int]:
    """Which low bits of x or -x are known, as a mask, and their value."""
    if root.kind == "sub" and root.args[0].data == 0:
        mask, value = known.get(root.args[1].number, (0, 0))
        return mask, -value & mask
    return known.get(root.number, (0, 0))


def _masked(term: Term) -> tuple[Term, int, int] | None:
    """(x, c, mask) of `x + c & mask`."""
    if term.kind != "and" or term.args[1].kind != "const":
        return None
    root, distance = term.store.linear(term.args[0])
    return root, distance, term.args[1].value


def _low(mask: int) -> bool:
    return mask & mask + 1 == 0
