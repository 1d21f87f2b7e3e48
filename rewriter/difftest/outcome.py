"""Two programs' runs compared: what differs, and what varies by itself and so says nothing."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewriter.difftest.boot.console import MASK
from rewriter.difftest.running import SHOWN, Ending, Run
from rewriter.elf.headers import printable

_WINDOW = 60  # lines behind the first difference that are aligned to show it
_SHOWN = 12
ENDING = "exit status"

Masks = Sequence[re.Pattern[bytes]]
Lines = tuple[bytes, ...]


@dataclass(frozen=True)
class Difference:
    """Where the new program first does something else, in one line and in lines to look at."""

    detail: str
    lines: tuple[str, ...]


def compare(
    olds: Sequence[Run], new: Run, masks: Masks
) -> tuple[Difference | None, tuple[str, ...]]:
    """The first difference, if there is one, and the aspects that vary between the old runs.

    What matches a mask is not looked at: its groups, or all of it where it has none.
    """
    unstable: list[str] = []
    if new.ending is not Ending.ENDED:
        return Difference(f"it {new.account}, the original {olds[0].account}", ()), ()
    sides = [dict(_aspects(run, masks)) for run in (*olds, new)]
    found: Difference | None = None
    for name in dict.fromkeys(name for side in sides for name in side):
        befores = [side.get(name) for side in sides[:-1]]
        before, after, varies = _settled(befores, sides[-1].get(name))
        if varies:
            unstable.append(name)
        if before != after and found is None:
            found = _shown(name, before, after)
    return found, tuple(unstable)


def _settled(befores: Sequence[Lines | None], after: Lines | None) -> tuple[Lines, Lines, bool]:
    """Old and new lines without what varies, and whether anything does."""
    first = befores[0]
    if all(lines == first for lines in befores):
        return _there(first), _there(after), False
    every = [lines for lines in (*befores, after) if lines is not None]
    if len(every) <= len(befores) or len({len(lines) for lines in every[: len(befores)]}) > 1:
        return (), (), True  # there at times, or of any length: nothing can be said
    before, new = list(every[0]), list(every[-1])
    if len(before) == len(new):
        for at, versions in enumerate(zip(*every[:-1], strict=True)):
            if len(set(versions)) > 1:
                before[at] = new[at] = MASK.encode() + b"\n"
    return tuple(before), tuple(new), True


def _there(lines: Lines | None) -> Lines:
    return (b"(not there)\n",) if lines is None else lines


def _aspects(run: Run, masks: Masks) -> Iterator[tuple[str, Lines]]:
    yield ENDING, (run.account.encode(),)
    yield "standard output", _lines(run.stdout, masks)
    yield "standard error", _lines(run.stderr, masks)
    for name, file in sorted(run.files.items()):
        # Of a long file the digest stands for what is not kept.
        rest = file.digest if len(file.content) == SHOWN and not masks else ""
        content = _lines(file.content, masks)
        yield f"file {printable(name)}", (f"{file.kind}\n".encode(), *content, *_ends(rest))


def _ends(rest: str) -> Lines:
    return (f"(more, SHA-256 {rest})\n".encode(),) if rest else ()


def _lines(data: bytes, masks: Masks) -> Lines:
    lines = data.splitlines(keepends=True)
    if not masks:
        return tuple(lines)
    return tuple(_masked(line, masks) for line in lines)


def _masked(line: bytes, masks: Masks) -> bytes:
    for mask in masks:
        line = mask.sub(_without_groups, line)
    return line


def _without_groups(match: re.Match[bytes]) -> bytes:
    whole = match.group(0)
    spans = sorted((s for s in match.regs[1:] if s[0] >= 0), reverse=True) or [match.span()]
    for start, end in spans:
        at = start - match.start()
        whole = whole[:at] + MASK.encode() + whole[at + end - start :]
    return whole


def _shown(name: str, before: Lines, after: Lines) -> Difference:
    pairs = zip(before, after, strict=False)
    first = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))
    start, end = max(0, first - 2), first + _WINDOW
    old, new = ([_text(line) for line in lines[start:end]] for lines in (before, after))
    hunk = list(difflib.unified_diff(old, new, n=2, lineterm=""))[3:]
    cut = next((n for n, line in enumerate(hunk) if line.startswith("@@")), len(hunk))
    was, now = (_text(s[first]) if first < len(s) else "(nothing)" for s in (before, after))
    if name == ENDING:
        return Difference(f"it {after[0].decode()}, the original {before[0].decode()}", ())
    where = f"{name}, line {first + 1}"
    return Difference(f"{where}: {now!r}, not {was!r}", (f"@ {where}", *hunk[:cut][:_SHOWN]))


def _text(line: bytes) -> str:
    text = printable(line.removesuffix(b"\n").decode("utf-8", "backslashreplace"))
    return text if line.endswith(b"\n") else f"{text} (no newline)"
