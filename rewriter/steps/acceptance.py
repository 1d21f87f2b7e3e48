"""What the independent verifier accepts, and what goes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from passes.align import Align
from passes.schedule import Schedule
from passes.substitute import Substitute
from rewriter.core.errors import VerificationFailed
from rewriter.core.program import Function
from rewriter.steps.emission import emitted
from rewriter.steps.routines import tried
from rewriter.steps.work import Work
from rewriter.verify.check import verify

_LAST = frozenset({Substitute.name, Schedule.name, Align.name})
"""The passes that are taken back one by one; all others go together."""


def accepted(work: Work, progress: Callable[[str, int, int], None]) -> bytes:
    """The file as the verifier accepts it.

    A function that it does not accept goes back step by step: first its order, then its layout,
    then all; the edits are skipped.
    """
    doubtful: frozenset[Function] | None = None
    followed: frozenset[int] = frozenset()
    while True:
        data = emitted(work)
        new = replace(work.program.image, data=data)
        verdict = verify(work.program, new, progress, doubtful, followed, work.prover, work.known)
        tried(work, verdict.tried)
        if verdict.ok:
            return data
        if not verdict.failed:
            raise VerificationFailed(verdict.findings[0])
        for function in verdict.failed:
            _back(work, function, verdict.findings)
        doubtful, followed = frozenset(verdict.failed), verdict.followed


def _back(work: Work, function: Function, findings: Sequence[str]) -> None:
    own = (f for f in findings if f.startswith((f"{function.name} ", f"{function.name}:")))
    reason = f"not verified: {next(own).partition(': ')[2]}"
    last = _undone(work, function)
    edits = [edit for edit in work.edits if edit.routine == function.name]
    work.take_back(
        [e for e in edits if (e.technique == last if last else e.technique not in _LAST)], reason
    )


def _undone(work: Work, function: Function) -> str:
    """Undoes what was done to a function last; the pass that did it, or "" for all others."""
    if work.substituted.pop(function, None):
        return Substitute.name
    if work.reordered.pop(function, None):
        return Schedule.name
    if work.moved.pop(function, None):
        work.without_room(function, "not verified with its layout")
        return Align.name
    work.slots.pop(function, None)
    work.carried.pop(function, None)
    return ""
