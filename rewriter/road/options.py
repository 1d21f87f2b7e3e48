"""What a user chooses of a run of the road."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewriter.core.assumptions import EVERY

KEEP, LINES = "keep", "lines"
"""What becomes of functions that debug information in the file describes: they keep their places,
or their lines in `.debug_line` follow them."""


@dataclass(frozen=True)
class Options:
    """What a user chooses.

    `passes` are names, in any order; `funcs` and `skip_funcs` are regular expressions that match
    whole function names (all functions when `funcs` is empty), as does `exact`: those functions get
    the best order of each region that is found with a bound; `only` and `skip` are edit ids;
    `max_edits` keeps the first so many edits, function by function in address order, the hottest
    first where there is a profile; `cycles` says that each edit is timed on the CPU's model;
    `assume` names what proofs may rest on; `debug` is KEEP or LINES.
    """

    passes: tuple[str, ...]
    funcs: tuple[str, ...] = ()
    skip_funcs: tuple[str, ...] = ()
    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    max_edits: int | None = None
    cycles: bool = False
    assume: frozenset[str] = EVERY
    debug: str = KEEP
    exact: tuple[str, ...] = ()

    def wants_function(self, name: str) -> bool:
        """Whether a function may be edited."""
        if any(re.fullmatch(pattern, name) for pattern in self.skip_funcs):
            return False
        return not self.funcs or any(re.fullmatch(pattern, name) for pattern in self.funcs)

    def wants_exact(self, name: str) -> bool:
        """Whether the best order of a function's regions is to be found, whatever it takes."""
        return any(re.fullmatch(pattern, name) for pattern in self.exact)

    def wants_edit(self, edit: str, made: int) -> bool:
        """Whether an edit may be made when `made` are there already."""
        if self.max_edits is not None and made >= self.max_edits:
            return False
        return edit not in self.skip and (not self.only or edit in self.only)
