"""Terms under assumptions of alignment: what is known of low bits becomes a number.

An assumption `x + c & mask == 0`, with a mask of low bits, gives those bits of x, and so of every
sum of x with a constant.  A claim in which they are numbers is much easier for a solver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rewriter.core.term import Term, rebuilt

_Known = Mapping[int, tuple[int, int]]  # root's number -> low bits that are known, as mask, value


def under(conditions: Sequence[Term], terms: Sequence[Term]) -> tuple[Term, ...]:
    """Terms equal to the given ones wherever all conditions hold."""
    known = _known(conditions)
    done: dict[int, Term] = {}
    for term in terms if known else ():
        for part in term.walk():
            if (value := _low_bits(part, known)) is not None:
                done[part.number] = part.store.const(value)
    return tuple(rebuilt(term, done) for term in terms) if done else tuple(terms)


def _known(conditions: Iterable[Term]) -> _Known:
    known: dict[int, tuple[int, int]] = {}
    for condition in conditions:
        if condition.kind == "eq" and condition.args[1].data == 0:
            masked = _masked(condition.args[0])
            if masked is not None:
                root, distance, mask = masked
                if mask > known.get(root.number, (0, 0))[0]:
                    known[root.number] = mask, -distance & mask
    return known


def _low_bits(term: Term, known: _Known) -> int | None:
    """The value of a term that only looks at known bits."""
    masked = _masked(term)
    if masked is None:
        return None
    root, distance, wanted = masked
    mask, value = known.get(root.number, (0, 0))
    return value + distance & wanted if wanted <= mask else None


def _masked(term: Term) -> tuple[Term, int, int] | None:
    """(x, c, mask) of `x + c & mask`, where the mask is of low bits."""
    if term.kind != "and" or term.args[1].kind != "const":
        return None
    mask = term.args[1].value
    root, distance = term.store.linear(term.args[0])
    return (root, distance, mask) if mask & mask + 1 == 0 else None
