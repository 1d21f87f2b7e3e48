"""Two consoles compared: all lines, in order, but for what the rules of volatile lines name."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rewriter.core.target.boots import Place, Volatile

_WINDOW = 60  # lines behind the first difference that are aligned to show it
_SHOWN = 16
MASK = "*"


@dataclass(frozen=True)
class Console:
    """A console's lines, what is volatile in them masked.

    `ordered` must be the same in the same order; of `unordered` only how often each line occurs
    counts. `used` says how many lines each rule matched.
    """

    ordered: tuple[str, ...]
    unordered: Mapping[str, int]
    used: Mapping[str, int]


def read(text: str, rules: Iterable[Volatile]) -> Console:
    """The lines of a console; the first rule that matches a line counts."""
    compiled = [(rule, re.compile(rule.pattern)) for rule in rules]
    ordered: list[str] = []
    unordered: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for line in text.splitlines():
        rule, key = _masked(line.rstrip(), compiled)
        if rule is not None:
            used[rule.name] += 1
        if rule is None or rule.place is Place.HERE:
            ordered.append(key)
        elif rule.place is Place.ANYWHERE:
            unordered[key] += 1
    return Console(tuple(ordered), unordered, used)


def difference(old: Console, new: Console) -> tuple[str, ...]:
    """The first difference with what stands before it, as in a unified diff; empty if none."""
    first = next(
        (n for n, (a, b) in enumerate(zip(old.ordered, new.ordered, strict=False)) if a != b),
        min(len(old.ordered), len(new.ordered)),
    )
    if first < max(len(old.ordered), len(new.ordered)):
        return _shown(old.ordered, new.ordered, first)
    gone, added = Counter(old.unordered), Counter(new.unordered)
    missing = [f"-{line}" for line in (gone - added).elements()]
    return (*missing, *(f"+{line}" for line in (added - gone).elements()))


def _masked(
    line: str, rules: Iterable[tuple[Volatile, re.Pattern[str]]]
) -> tuple[Volatile | None, str]:
    for rule, pattern in rules:
        match = pattern.fullmatch(line)
        if match is not None:
            return rule, _mask(line, match)
    return None, line


def _mask(line: str, match: re.Match[str]) -> str:
    for start, end in sorted(filter(lambda s: s[0] >= 0, match.regs[1:]), reverse=True):
        line = line[:start] + MASK + line[end:]
    return line


def _shown(old: tuple[str, ...], new: tuple[str, ...], first: int) -> tuple[str, ...]:
    start, end = max(0, first - 3), first + _WINDOW
    hunk = difflib.unified_diff(old[start:end], new[start:end], n=3, lineterm="")
    shown: list[str] = []
    for line in list(hunk)[3:]:  # behind the two file names and the first hunk's place
        if line.startswith("@@") or len(shown) == _SHOWN:
            break
        shown.append(line)
    return (f"@ line {first + 1} of those in order", *shown)
