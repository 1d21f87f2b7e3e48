"""A pointer to shared data that a callee leaves as it was is not made anew behind the call."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction

from passes.lib.insert import Declined, Finder, Insertion, Setting, Slots
from passes.lib.steps import Change, OwnPass, Steps
from rewriter.analysis.program import Program
from rewriter.core.code.program import Function
from rewriter.core.edit import Evidence, Grade
from rewriter.core.target.protocol import Target

_KIND = "pointer that a callee leaves"
_EVIDENCE = Evidence(Grade.PROVED, detail="all functions that the call may reach are in this file")


class Reload(OwnPass):
    """A caller makes gp anew behind each call; where the callee comes back with it, it need not.

    Before    ldq t12,d(gp); jsr ra,(t12); ldah gp,h(ra); lda gp,l(gp)
    After     ldq t12,d(gp); jsr ra,(t12)
    Requires  A kernel, whose calls no loader decides.  The callee is read from the table of
              addresses that gp points into, which nothing writes.  It makes the same gp, or leaves
              it alone, and so does all that it calls behind which it does not make it itself.
    Proof     What each function leaves in gp is a fixed point over the whole text
              (`analysis/values/pointers.py`), at the calling standard's word that gp is read behind
              calls and returns; the walk compares both files without what makes it again.
    """

    name = "reload"
    change = Change.ROOM

    def offered(self, target: Target) -> bool:
        """Where a register points at shared data."""
        return target.sequential is not None and target.sequential.shared_data is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.inserts(self)

    def finder(self, program: Program, setting: Setting) -> Finder:
        """What finds the sites of functions."""
        places = sorted(program.made_again)

        def found(function: Function, slots: Slots) -> Iterator[Insertion | Declined]:
            first, last = (bisect_left(places, at) for at in (function.start, function.end))
            for behind in places[first:last]:
                high, low = program.made_again[behind]
                if high in setting.locked or low in setting.locked:
                    yield Declined(_KIND, high, "between load-locked and store-conditional")
                elif high not in slots and low not in slots:
                    yield Insertion(_KIND, high, (), _EVIDENCE, Fraction(0), gone=(low,))

        return found
