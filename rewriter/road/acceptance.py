"""What the independent verifier accepts, and what goes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from passes.align import Align
from passes.combining.prefix import Prefix
from passes.layout import ByProfile
from passes.schedule import Schedule
from passes.substitute import Substitute
from rewriter.core.code.program import Function
from rewriter.core.errors import VerificationFailed
from rewriter.core.run.garbage import give_back
from rewriter.elf.debug_identity import with_old_identity
from rewriter.road.emission import emitted, identified
from rewriter.road.outcome import Done
from rewriter.road.routines.routine import tried
from rewriter.road.work import Work
from rewriter.verify.check import verify

_LAST = frozenset({Substitute.name, Prefix.name, Schedule.name, Align.name, ByProfile.name})
"""The passes that are taken back one by one; all others go together."""


def accepted(
    work: Work,
    progress: Callable[[str, int, int], None],
    jobs: int,
    again: Callable[[Sequence[Function]], set[Function]],
) -> bytes:
    """The file as the verifier accepts it.

    A function that it does not accept goes back step by step: first what has two words, then
    its order, then its layout, then all; the edits are skipped.  `again` finds other places for
    routines that stood in the room of such a function, and says which functions it changed.
    """
    doubtful: frozenset[Function] | None = None
    followed: frozenset[int] = frozenset()
    while True:
        give_back()  # of what passes made and of the check before
        data = emitted(work)
        new = replace(work.program.image, data=data)
        verdict = verify(
            work.program, new, progress, doubtful, followed, work.prover, work.known, jobs,
            work.cpu,
        )  # fmt: skip
        tried(work, verdict.tried)
        if verdict.ok:
            return _identified(work, data)
        if not verdict.failed:
            raise VerificationFailed(verdict.findings[0])
        for function in verdict.failed:
            done = work.done.get(function)
            if done is None or not (done.stages or done.substitution):
                raise VerificationFailed(_own(function, verdict.findings))
            _back(done, verdict.findings)
        del data, new  # who looks for other places makes a file of what there is by then
        back, homeless = _without_hosts(work, set(verdict.failed))
        doubtful, followed = frozenset(back | again(homeless)), verdict.followed


def _identified(work: Work, data: bytes) -> bytes:
    """The file with its own identity, of which a verifier makes the one that was verified."""
    if data == work.program.image.data:
        return data  # a file in which nothing changed keeps the original's
    found = identified(work, data)
    if with_old_identity(work.program.image, found) != data:
        raise VerificationFailed("the file's own identity changed something else")
    return found


def _back(done: Done, findings: Sequence[str]) -> None:
    reason = f"not verified: {_own(done.function, findings).partition(': ')[2]}"
    last = _undone(done)
    done.take_back(
        [e for e in done.edits if (e.technique == last if last else e.technique not in _LAST)],
        reason,
    )


def _without_hosts(work: Work, back: set[Function]) -> tuple[set[Function], list[Function]]:
    """All functions that are not what they were; of them the routines whose room went back.

    A routine that goes takes the room that its own place was for others.
    """
    lodgers = {
        done.function: one.scattered.hosts
        for done in work.done.values()
        if (one := done.substitution) is not None and one.scattered is not None
    }
    gone, homeless = set(back), list[Function]()
    while found := [f for f, hosts in lodgers.items() if f not in homeless and gone & hosts]:
        homeless += found
        gone.update(found)
    return gone.union(*(lodgers[function] for function in homeless)), homeless


def _own(function: Function, findings: Sequence[str]) -> str:
    """The first finding about a function."""
    return next(f for f in findings if f.startswith((f"{function.name} ", f"{function.name}:")))


def _undone(done: Done) -> str:
    """Undoes what was done to a function last; the pass that did it, or "" for all others."""
    if done.substitution is not None:
        done.substitution = None
        return Substitute.name
    stage = done.stages.pop()
    crowded = [edit for edit in done.edits if edit.id in stage.crowded]
    done.take_back(crowded, "not verified with its layout")
    return stage.last
