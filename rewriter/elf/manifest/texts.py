"""Pairs of short texts as columns: what pairs have in common, and the operands they differ in.

`ldq_u t0,8(a0); extbl t0,a0,t0` and `ldbu t0,8(a0)` are one template with three operands, which
thousands of edits share. A template is both texts with a tab between, each character below a blank,
and each backslash, escaped; an operand is then one character: NUMBER or WORD for the next number or
word of its template, or AGAIN and more for the operands that this pair had before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from rewriter.core.varints import Numbers, packed, unpacked

TEMPLATES, WHICH, NUMBERS, WORDS = range(4)
NUMBER_OF_COLUMNS = 4

NUMBER, WORD, AGAIN = "\x01", "\x02", 11
_TEMPLATES_OPERANDS = 21
"""Operands that have a character of their own: those from AGAIN to the blank."""
LARGEST = 64 << 20
"""Characters that all pairs together may have: templates may say the same many times."""
_OPERAND = re.compile(r"((?<![\w.])-?\d+(?![\w.])|\b(?=\w*\d)\w+\b|\b\w{1,2}\b)")
_HOLE = re.compile("[\x01\x02\x0b-\x1f]")
_SPECIAL = re.compile(r"[\\\x00-\x1f]")
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|.?)", re.DOTALL)


def escaped(text: str) -> str:
    """A text without backslashes and characters below a blank: each is a backslash, x, 2 digits."""
    return _SPECIAL.sub(lambda found: rf"\x{ord(found[0]):02x}", text)


def unescaped(text: str) -> str:
    """What `escaped` escaped; ValueError for other backslashes."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def lines(texts: Iterable[str]) -> bytes:
    """Texts without line feeds as UTF-8; names that are none are kept as lone surrogates."""
    return "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass")


def lines_of(column: bytes) -> Iterator[str]:
    """What `lines` joined."""
    found = column.decode("utf-8", "surrogatepass").split("\n")
    if found.pop():
        raise ValueError("a line that does not end")
    return iter(found)


def of_pairs(pairs: Iterable[tuple[str, str]]) -> list[bytes]:
    """The columns of pairs."""
    templates: dict[str, int] = {}
    which: list[int] = []
    operands: dict[str, list[list[str]]] = {NUMBER: [], WORD: []}
    for pair in pairs:
        template, taken = _taken("\t".join(map(escaped, pair)))
        which.append(templates.setdefault(template, len(templates)))
        for kind, rows in operands.items():
            if which[-1] == len(rows):
                rows.append([])
            rows[which[-1]] += (operand for of, operand in taken if of == kind)
    columns = [lines(operand for row in rows for operand in row) for rows in operands.values()]
    return [lines(templates), packed(np.array(which, np.int64)), *columns]


def pairs_of(columns: Sequence[bytes]) -> Iterator[tuple[str, str]]:
    """The pairs that `of_pairs` made columns of."""
    templates = list(lines_of(columns[TEMPLATES]))
    which = unpacked(columns[WHICH])
    numbers = _shared(templates, which, columns[NUMBERS], NUMBER)
    words = _shared(templates, which, columns[WORDS], WORD)
    left = LARGEST
    for at in which.tolist():
        operands = {NUMBER: numbers[at], WORD: words[at]}
        text = _filled(templates[at], operands, left)
        left -= len(text)
        old, tab, new = text.partition("\t")
        if not tab:
            raise ValueError("a template of one text")
        yield unescaped(old), unescaped(new)


def _shared(
    templates: Sequence[str], which: Numbers, column: bytes, kind: str
) -> list[Iterator[str]]:
    """The operands of each template: a column has those of the first one first."""
    each = np.array([template.count(kind) for template in templates], np.int64)
    ends = np.cumsum(each * np.bincount(which, minlength=len(templates)))
    operands = list(lines_of(column))
    if len(operands) != (int(ends[-1]) if len(ends) else 0):
        raise ValueError("operands of templates")
    return [iter(part) for part in _parts(operands, ends.tolist())]


def _parts(values: list[str], ends: Sequence[int]) -> Iterator[list[str]]:
    for start, end in pairwise([0, *ends]):
        yield values[start:end]


def _taken(text: str) -> tuple[str, list[tuple[str, str]]]:
    """A text's template, and each operand with its kind."""
    had: dict[str, str] = {}
    operands: list[tuple[str, str]] = []
    pieces = _OPERAND.split(text)
    for n in range(1, len(pieces), 2):
        operand = pieces[n]
        if operand in had:
            pieces[n] = had[operand]
            continue
        if len(had) < _TEMPLATES_OPERANDS:
            had[operand] = chr(AGAIN + len(had))
        pieces[n] = NUMBER if operand.lstrip("-").isdecimal() else WORD
        operands.append((pieces[n], operand))
    return "".join(pieces), operands


def _filled(template: str, operands: dict[str, Iterator[str]], left: int) -> str:
    """A template with its operands; ValueError for more characters than are left."""
    had: list[str] = []
    left -= len(template)

    def operand(found: re.Match[str]) -> str:
        nonlocal left
        if found[0] in operands:
            had.append(next(operands[found[0]]))
            taken = had[-1]
        else:
            taken = had[ord(found[0]) - AGAIN]
        left -= len(taken)
        if left < 0:
            raise ValueError("texts of edits")
        return taken

    if left < 0:
        raise ValueError("texts of edits")
    return _HOLE.sub(operand, template)


def _character(found: re.Match[str]) -> str:
    if found[1] is None:
        raise ValueError("a backslash that escapes nothing")
    return chr(int(found[1], 16))
