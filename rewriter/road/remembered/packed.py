"""Results as bytes: made, and read again without believing them."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from passes.substitute import Seen
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit, Evidence, Grade, Skip
from rewriter.core.errors import BadInput
from rewriter.elf.manifest.checked import check_document, check_evidence
from rewriter.road.outcome import Done, Stage

_QUICK = 1
"""zlib's level: results are written once and read once."""

STRANGE = (
    ArithmeticError, AttributeError, BadInput, LookupError, RecursionError, TypeError, ValueError,
    zlib.error,
)  # fmt: skip
"""What reading raises where bytes are no result."""

LARGEST, _NESTED = 16 << 20, 1 << 20
"""Bytes of a result before it is packed, and lists in it, that are read."""
_CYCLES = re.compile(r"-?[0-9]{1,40}(/[0-9]{1,40})?")


def of_done(done: Done) -> bytes:
    """What a function became, without the function."""
    return _packed(
        [
            [_of_edit(edit) for edit in done.edits],
            [[s.technique, s.kind, s.routine, s.address, s.reason] for s in done.skips],
            [_of_stage(one) for one in done.stages],
        ]
    )


def done_of(packed: bytes, function: Function) -> Done:
    """What a function became; raises one of STRANGE."""
    edits, skips, stages = _document(packed)
    return Done(
        function,
        [_edit(row) for row in edits],
        [Skip(*row) for row in skips],
        stages=[
            Stage(
                last,
                tuple((int(at), bytes.fromhex(new)) for at, new in changed),
                frozenset(crowded),
                tuple((int(old), int(there)) for old, there in places),
            )
            for last, changed, crowded, places in stages
        ],
    )


def of_seen(seen: Seen | str) -> bytes:
    """What may stand for a known routine, or why nothing does."""
    if isinstance(seen, str):
        return _packed(seen)
    return _packed([seen.number, seen.assumed, _of_evidence(seen.tried), seen.behind])


def seen_of(packed: bytes, count: Callable[[], int]) -> Seen | str:
    """The same, where as many routines as `count` says are for it; raises one of STRANGE."""
    document = _document(packed)
    if isinstance(document, str):
        return document
    number, assumed, tried, others = document
    behind = tuple((int(n), None if a is None else _texts(a)) for n, a in others)
    shown = _evidence(tried)
    check_evidence(shown)
    there = range(count())
    if not all(one in there for one in (int(number), *(n for n, _ in behind))):
        raise ValueError("number of a routine")
    return Seen(int(number), _texts(assumed), shown, behind)


def _texts(row: Any) -> tuple[str, ...]:
    return tuple(map(str, row))


def _of_stage(one: Stage) -> list[Any]:
    changed = [[at, new.hex()] for at, new in one.changed]
    return [one.last, changed, sorted(one.crowded), one.places]


def _of_edit(edit: Edit) -> list[Any]:
    cycles = None if edit.cycles is None else str(edit.cycles)
    named = [edit.id, edit.technique, edit.kind, edit.routine, edit.address, edit.old, edit.new]
    return [named, [_of_evidence(edit.evidence), edit.gain, cycles]]


def _edit(row: Any) -> Edit:
    (name, technique, kind, routine, address, old, new), (evidence, gain, cycles) = row
    if cycles is not None and not _CYCLES.fullmatch(cycles):  # 1e999999999 is a fraction, too
        raise ValueError("cycles")
    took = None if cycles is None else Fraction(cycles)
    shown = _evidence(evidence)
    return Edit(name, technique, kind, routine, address, old, new, shown, gain, took)


def _of_evidence(one: Evidence) -> list[Any]:
    return [one.grade.value, one.preconditions, one.patterns, one.cases, one.detail]


def _evidence(row: Any) -> Evidence:
    grade, preconditions, patterns, cases, detail = row
    return Evidence(Grade(grade), tuple(preconditions), tuple(patterns), cases, detail)


def _packed(document: Any) -> bytes:
    return zlib.compress(json.dumps(document, separators=(",", ":")).encode("ascii"), _QUICK)


def _document(packed: bytes) -> Any:
    engine = zlib.decompressobj()
    text = engine.decompress(packed, LARGEST)
    if not engine.eof:
        raise ValueError("size")
    return json.loads(check_document(text, LARGEST, _NESTED))
