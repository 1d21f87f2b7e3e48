"""Edits, functions and what was left alone as columns of numbers, and the texts they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewriter.elf.headers import printable
from rewriter.report.html.chapters import SIZE, Entry
from rewriter.report.html.sides import Sketch, Strings
from rewriter.report.html.subject import Subject
from rewriter.report.html.words import GRADES


def tables(subject: Subject, entries: Sequence[Entry], sketches: Sequence[Sketch]) -> Any:
    """What the tables of a page show: a JSON document; addresses in hexadecimal."""
    strings = Strings()
    document = {
        "functions": _functions(entries, sketches),
        "edits": _edits(subject, entries, strings),
        "sites": _sites(subject, strings),
        "refused": [
            [printable(r.function.name), f"{r.function.start:x}", printable(r.reason)]
            for r in subject.refusals
        ],
        "grades": dict(GRADES),
        "chapter": SIZE,
    }
    return document | {"strings": strings.every()}


def _functions(entries: Sequence[Entry], sketches: Sequence[Sketch]) -> dict[str, list[Any]]:
    cycles = [sketch.cycles for sketch in sketches]
    return {
        "name": [printable(entry.function.name) for entry in entries],
        "start": [f"{entry.function.start:x}" for entry in entries],
        "size": [entry.function.end - entry.function.start for entry in entries],
        "heat": [round(entry.heat, 6) for entry in entries],
        "before": [pair[0] if pair else None for pair in cycles],
        "after": [pair[1] if pair else None for pair in cycles],
    }


def _edits(subject: Subject, entries: Sequence[Entry], strings: Strings) -> dict[str, list[Any]]:
    """Columns; a function is its number, and -1 where no function of that name is there."""
    owner = {number: at for at, entry in enumerate(entries) for number in entry.edits}
    evidence: dict[Any, int] = {}
    rows = [
        (
            owner.get(number, -1),
            strings.number(printable(edit.id)),
            strings.number(edit.technique),
            strings.number(printable(edit.kind)),
            f"{edit.address:x}",
            strings.number(printable(edit.old)),
            strings.number(printable(edit.new)),
            edit.gain,
            None if edit.cycles is None else round(float(edit.cycles), 1),
            evidence.setdefault(edit.evidence, len(evidence)),
        )
        for number, edit in enumerate(subject.edits)
    ]
    names = ("function", "id", "pass", "kind", "address", "old", "new", "saved", "cycles", "proof")
    columns: dict[str, list[Any]] = {
        name: [row[at] for row in rows] for at, name in enumerate(names)
    }
    columns["evidence"] = [
        [
            proof.grade.value,
            proof.cases,
            [printable(text) for text in proof.preconditions],
            [printable(text) for text in proof.patterns],
            printable(proof.detail),
        ]
        for proof in evidence
    ]
    return columns


def _sites(subject: Subject, strings: Strings) -> dict[str, list[Any]]:
    sites = subject.sites
    return {
        "pass": [strings.number(site.technique) for site in sites],
        "kind": [strings.number(printable(site.kind)) for site in sites],
        "function": [strings.number(printable(site.routine)) for site in sites],
        "address": [f"{site.address:x}" for site in sites],
        "reason": [strings.number(printable(site.reason)) for site in sites],
    }
