"""Rows: rotates, masks and shifts (Power ISA 3.1B, Book I, section 3.3.14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rewriter.core.isa.instruction import Does, Op
from targets.ppc.isa.features import wide
from targets.ppc.isa.formats import a, d, md, row, x
from targets.ppc.meanings import shifts
from targets.ppc.meanings.operate import Forms

# name, text, bits, meaning of the forms, class, feature; all have a record form (bit 0)
_ROWS: tuple[tuple[str, str, int, Callable[[Forms], Does], str, str], ...] = (
    ("rlwimi", "ra,rs,sh,mb,me", d(20), shifts.insert_word, "insert", ""),
    ("rlwinm", "ra,rs,sh,mb,me", d(21), shifts.rotate_word, "shift", ""),
    ("rlwnm", "ra,rs,rb,mb,me", d(23), shifts.rotate_word_by, "shift-var", ""),
    (
        *("rldicl", "ra,rs,sh6,mb6", md(30, 0)),
        *(lambda forms: shifts.rotate(shifts.clear_left, forms), "shift", wide()),
    ),
    (
        *("rldicr", "ra,rs,sh6,mb6", md(30, 1)),
        *(lambda forms: shifts.rotate(shifts.clear_right, forms), "shift", wide()),
    ),
    (
        *("rldic", "ra,rs,sh6,mb6", md(30, 2)),
        *(lambda forms: shifts.rotate(shifts.clear_both, forms), "shift", wide()),
    ),
    ("rldimi", "ra,rs,sh6,mb6", md(30, 3), shifts.insert, "insert", wide()),
    (
        *("rldcl", "ra,rs,rb,mb6", a(30, 8)),
        *(lambda forms: shifts.rotate_by(shifts.clear_left, forms), "shift-var", wide()),
    ),
    (
        *("rldcr", "ra,rs,rb,mb6", a(30, 9)),
        *(lambda forms: shifts.rotate_by(shifts.clear_right, forms), "shift-var", wide()),
    ),
    ("slw", "ra,rs,rb", x(31, 24), lambda f: shifts.shift_left(32, f), "shift-var", ""),
    ("sld", "ra,rs,rb", x(31, 27), lambda f: shifts.shift_left(64, f), "shift-var", wide()),
    ("srw", "ra,rs,rb", x(31, 536), lambda f: shifts.shift_right(32, f), "shift-var", ""),
    ("srd", "ra,rs,rb", x(31, 539), lambda f: shifts.shift_right(64, f), "shift-var", wide()),
    ("sraw", "ra,rs,rb", x(31, 792), lambda f: shifts.shift_signed(32, f), "shift-var", ""),
    ("srad", "ra,rs,rb", x(31, 794), lambda f: shifts.shift_signed(64, f), "shift-var", wide()),
    ("srawi", "ra,rs,sh", x(31, 824), lambda f: shifts.shift_signed_by(32, f), "shift", ""),
    (
        *("sradi", "ra,rs,sh6", x(31, 826)),
        *(lambda f: shifts.shift_signed_by(64, f), "shift", wide()),
    ),
    ("extswsli", "ra,rs,sh6", x(31, 890), shifts.extend_and_shift, "shift", wide("3.0")),
)


def _rows() -> Iterator[Op]:
    for name, text, bits, make, sched, needs in _ROWS:
        yield row(name, text, bits, make(Forms()), sched, needs)
        recorded = make(Forms(records=True))
        yield row(f"{name}.", text, bits | 1, recorded, f"{sched}.", needs)


ROWS = tuple(_rows())
