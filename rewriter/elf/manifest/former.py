"""The original of a patched file, told by the patched file.

Code that changed is told by the new code in the same places, instruction by instruction
(`aligned`); other bytes that changed are kept. New bytes are kept nowhere: they stand in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import compact
from rewriter.core.differing import offsets
from rewriter.core.errors import BadInput
from rewriter.core.target.code_form import COLUMNS, NOWHERE, CodeForm, Items, Numbers
from rewriter.core.varints import packed, packed_signed, unpacked, unpacked_signed
from rewriter.elf.emit import APART
from rewriter.elf.headers import SHF_EXECINSTR, SHT_NOBITS, read_headers
from rewriter.elf.manifest.aligned import Script, align, follow
from targets.forms import form_of

NEAR = 256
"""Bytes between changes of code that are told together."""

SPANS, EQUAL, GAPS, NAMED, SPELLED, TARGETS, PLACES, KEPT = range(8)
_LAYOUT = KEPT + 1
NUMBER = _LAYOUT + COLUMNS
"""How many columns `told` gives."""

_MACHINE = 18
"""Offset of e_machine."""

Span = tuple[int, int]
"""[start, end) in a file, in bytes."""


def told(old: bytes, new: bytes) -> list[bytes]:
    """The columns from which `untold` makes `old` again; both files have the same length."""
    form = _form(new)
    columns = [b""] * NUMBER
    code: Sequence[Span] = ()
    if form is not None:
        code = _changed(old, new, _text(old, form.unit), form.unit)
        if code:
            columns[SPANS] = _packed_spans(code, form.unit)
            _tell_code(columns, _joined(old, code), _joined(new, code), code, form)
    rest = bytearray(new)
    for start, end in code:
        rest[start:end] = old[start:end]
    places = _changed(old, bytes(rest), [(0, len(old))], 1, APART)
    columns[PLACES] = _packed_spans(places, 1)
    columns[KEPT] = _joined(old, places)
    return columns


def untold(columns: Sequence[bytes], new: bytes) -> bytes:
    """The original; ValueError or LookupError for columns that do not fit the file."""
    old = bytearray(new)
    if columns[SPANS]:
        form = _form(new)
        if form is None:
            raise ValueError("code of an architecture that has no form")
        code = _spans(columns[SPANS], form.unit, len(new))
        _put(old, code, _told_code(columns, _joined(new, code), code, form))
    _put(old, _spans(columns[PLACES], 1, len(new)), columns[KEPT])
    return bytes(old)


def _form(data: bytes) -> CodeForm | None:
    """The form of a little-endian file's code; None where there is none."""
    if data[:4] != b"\x7fELF" or data[5:6] != b"\1":
        return None
    return form_of(int.from_bytes(data[_MACHINE : _MACHINE + 2], "little"))


def _text(data: bytes, unit: int) -> list[Span]:
    """The sections that hold instructions, whole units of them, ascending and apart."""
    found: list[Span] = []
    try:
        sections = read_headers(data, "file").sections
    except BadInput:
        return found
    for section in sorted(sections, key=lambda s: s.sh_offset):
        if not section.sh_flags & SHF_EXECINSTR or section.sh_type == SHT_NOBITS:
            continue
        start = -(-section.sh_offset // unit) * unit
        end = min(section.file_end, len(data)) // unit * unit
        start = max(start, found[-1][1] if found else 0)
        if start < end:
            found.append((start, end))
    return found


def _changed(
    old: bytes, new: bytes, within: Iterable[Span], unit: int, near: int = NEAR
) -> list[Span]:
    """The stretches of whole units that differ, those that are near to each other as one."""
    found: list[Span] = []
    for start, end in within:
        units = offsets(old, new, start, end, unit)
        if not len(units):
            continue
        breaks = np.flatnonzero(np.diff(units) >= near + unit)
        starts = units[np.concatenate([[0], breaks + 1])].tolist()
        ends = (units[np.concatenate([breaks, [len(units) - 1]])] + unit).tolist()
        found += zip(starts, ends, strict=True)
    return found


def _packed_spans(spans: Sequence[Span], unit: int) -> bytes:
    """Each span's distance from the one before and its size, in units."""
    edges = np.array([edge for span in spans for edge in span], np.int64)
    return packed(np.diff(edges, prepend=0) // unit)


def _spans(column: bytes, unit: int, size: int) -> list[Span]:
    numbers = unpacked(column)
    # A sum that goes beyond 64 bits is no place in a file either.
    if len(numbers) % 2 or (len(numbers) and int(numbers.max()) > size):
        raise ValueError("spans")
    edges = np.cumsum(numbers) * unit
    if len(edges) and int(edges[-1]) > size:
        raise ValueError("spans")
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _joined(data: bytes, spans: Iterable[Span]) -> bytes:
    return b"".join(data[start:end] for start, end in spans)


def _put(data: bytearray, spans: Iterable[Span], content: bytes) -> None:
    at = 0
    for start, end in spans:
        data[start:end] = content[at : at + end - start]
        at += end - start
    if at != len(content):
        raise ValueError("bytes of spans")


def _tell_code(
    columns: list[bytes], old: bytes, new: bytes, spans: Sequence[Span], form: CodeForm
) -> None:
    places = _units(spans, form.unit)
    before, after = form.items(old, places), form.items(new, places)
    home = compact(np.searchsorted(after.places, before.places))
    script, partner = align(before.values, after.values, home)
    columns[EQUAL], columns[GAPS] = packed(script.equal), packed(script.gaps)
    columns[NAMED] = packed(script.named)
    columns[SPELLED] = script.spelled.astype(f"<u{form.size}").tobytes()
    guessed = _guessed(partner, before.places, after, places)
    branches = form.branches(before.values)
    columns[TARGETS] = packed_signed(before.targets[branches] - guessed[branches])
    columns[_LAYOUT:] = form.layout(old, places, before.values)


def _told_code(
    columns: Sequence[bytes], new: bytes, spans: Sequence[Span], form: CodeForm
) -> bytes:
    places = _units(spans, form.unit)
    after = form.items(new, places)
    spelled = np.frombuffer(columns[SPELLED], f"<u{form.size}").astype(np.uint64)
    equal, gaps, named = (unpacked(columns[number]) for number in (EQUAL, GAPS, NAMED))
    values, partner = follow(Script(equal, gaps, named, spelled), after.values)
    where, laid_out = form.placed(tuple(columns[_LAYOUT:NUMBER]), places, values)
    branches = form.branches(values)
    differences = unpacked_signed(columns[TARGETS])
    if len(differences) != int(branches.sum()):
        raise ValueError("targets of branches")
    targets = np.full(len(values), NOWHERE, np.int64)
    targets[branches] = _guessed(partner, where, after, places)[branches] + differences
    return form.code(Items(values, where, targets), places, laid_out)


def _units(spans: Iterable[Span], unit: int) -> Numbers:
    rows = [np.arange(start // unit, end // unit) for start, end in spans]
    return np.concatenate([np.zeros(0, np.int64), *rows])


def _guessed(partner: Numbers, where: Numbers, after: Items, places: Numbers) -> Numbers:
    """Where each old instruction branches to, if it goes where its partner goes.

    That is the first old instruction (in its place `where`) whose partner stands at the partner's
    target or behind it. An instruction without a partner is taken to branch to itself.
    """
    first = np.full(len(after.values) + 1, len(where), np.int64)
    has = np.flatnonzero(partner >= 0)
    first[partner[has]] = has
    first = np.minimum.accumulate(first[::-1])[::-1]
    targets = after.targets[partner] if len(after.targets) else np.zeros(len(partner), np.int64)
    inside = _among(targets, places)
    reached = first[np.searchsorted(after.places, targets)]
    old = np.append(where, places[-1:] + 1)[np.minimum(reached, len(where))]
    return np.where(partner < 0, where, np.where(inside, old, targets))


def _among(targets: Numbers, places: Numbers) -> NDArray[np.bool_]:
    at = np.minimum(np.searchsorted(places, targets), max(len(places) - 1, 0))
    found: NDArray[np.bool_] = places[at] == targets
    return found
