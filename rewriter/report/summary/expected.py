"""How many executed instructions fewer a run's edits promise: each where its block is executed.

An edit counts with the instructions that it saves, as often as its block is executed, divided by
all executed instructions of the file.  How often that is says a profile for whole functions; where
none is given each function counts as much as another.  Inside a function a block is executed ten
times as often as one that is in a loop fewer.

An edit in place saves something only where the function got a new layout: else a nop stands there.
A new layout saves nops, each as often as the function's nops are executed in the mean.
Edits that put other code in place of a whole routine or loop are not weighed: what these save is a
matter of sizes, which neither of the two knows.  Nor is what saves cycles and no instruction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from passes import IN_PLACE
from passes.align import Align
from passes.flush import Flush
from passes.layout import ByProfile
from passes.substitute import Substitute
from passes.writehint import WriteHint
from rewriter.analysis.loops import depths
from rewriter.analysis.program import Program
from rewriter.core.edit import Edit
from rewriter.identify.profiles import Heat
from rewriter.report.grid import in_order, joined

_A_LEVEL, _LEVELS = 10.0, 2
"""A loop goes round so many times; a deeper nest counts no more, or one would outweigh the file."""
_LAID_OUT = frozenset({Align.name, ByProfile.name})
_OTHER_CODE = frozenset({Substitute.name, WriteHint.name, Flush.name})

BY_LOOPS = "static weights of loops"


@dataclass(frozen=True)
class Expected:
    """Executed instructions fewer, in per cent of the file's; negative where they are more.

    `basis` says what it rests on; `unweighed` counts edits by pass that are not in it.
    """

    percent: float
    basis: str
    unweighed: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        said = f"{fewer(self.percent)} ({self.basis}"
        return f"{said}; not weighed: {joined(self.unweighed)})" if self.unweighed else f"{said})"

    def below(self, percent: float | None) -> str:
        """Why the file is kept as it is by somebody who wants so much; empty where it is not."""
        if percent is None or self.percent >= percent:
            return ""
        return f"expected: {self}; at least {percent:g} % is wanted"

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "percent": self.percent, "basis": self.basis, "unweighed": dict(self.unweighed),
        }  # fmt: skip


def expected(
    program: Program, edits: Iterable[Sequence[Edit]], heat: Heat | None, jobs: int = 1
) -> Expected:
    """What is expected of the edits of a program, function by function, in `jobs` processes."""
    graph = program.graph
    weights = _weights(program, heat, jobs)
    total = float((weights * (graph.last - graph.first)).sum())
    saved, unweighed = 0.0, Counter[str]()
    for made in edits:
        laid_out = any(edit.technique in _LAID_OUT for edit in made)
        for edit in made:
            if edit.technique in _OTHER_CODE:
                unweighed[edit.technique] += 1
            elif edit.technique in _LAID_OUT:
                saved += edit.gain * _where_nops_are(program, edit.address, weights)
            elif laid_out or edit.technique not in IN_PLACE:
                saved += edit.gain * float(weights[graph.block_holding(edit.address)])
    basis = BY_LOOPS if heat is None else f"{heat.format} profile, loops inside functions"
    return Expected(100 * saved / total if total else 0.0, basis, in_order(unweighed))


def _where_nops_are(program: Program, start: int, weights: NDArray[np.float64]) -> float:
    """How often a nop of a function is executed in the mean: a new layout drops these.

    Where there is none, as often as the function's first instruction.
    """
    function, graph = program.function_at(start), program.graph
    span = (start, start) if function is None else (function.start, function.end)
    first, end = program.listing.span(*span)
    at = first + np.flatnonzero(program.nops[first:end])
    often = weights[np.searchsorted(graph.first, at, side="right") - 1]
    passed = often[often > 0]
    return float(passed.mean() if len(passed) else weights[graph.block_holding(start)])


def _weights(program: Program, heat: Heat | None, jobs: int) -> NDArray[np.float64]:
    """How often each block is executed, to scale; never where control does not come."""
    graph = program.graph
    loops = _A_LEVEL ** np.minimum(depths(program, _LEVELS, jobs), _LEVELS)
    weights = np.where((graph.function_of >= 0) & graph.reached, loops, 0.0)
    if heat is None:
        return weights
    inside = weights * (graph.last - graph.first)
    owned = graph.function_of >= 0
    sums = np.bincount(graph.function_of[owned], inside[owned], len(program.functions))
    shares = np.array([heat.of(function.name) for function in program.functions])
    scales = np.divide(shares, sums, out=np.zeros_like(shares), where=sums > 0)
    return np.where(owned, weights * scales[graph.function_of], 0.0)


def fewer(percent: float) -> str:
    """`0.8 % fewer executed instructions`, or more of them."""
    size = abs(percent)
    digits = 3 if size < 0.1 else 2 if size < 1 else 1
    number = f"{size:.{digits if size else 0}f}"
    return f"{number} % {'more' if percent < 0 else 'fewer'} executed instructions"
