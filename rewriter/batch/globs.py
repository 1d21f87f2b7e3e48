"""Patterns of paths, as `.gitignore` and build tools have them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path, given with `/` and from the root of its tree, matches one of the patterns.

    `*` and `?` stay within a name, `**` goes over folders, `[ab]` is one of these characters.  A
    pattern without `/` is one of the last name alone: `*.so` matches `usr/lib/libz.so`.
    """
    return any(_compiled(pattern).fullmatch(path) is not None for pattern in patterns)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    whole = pattern.lstrip("/") if "/" in pattern else f"**/{pattern}"
    return re.compile(_translated(whole), re.DOTALL)


_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)


def _translated(pattern: str) -> str:
    return "".join(_piece(found[0]) for found in _PIECE.finditer(pattern))


def _piece(piece: str) -> str:
    fixed = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if piece in fixed:
        return fixed[piece]
    if len(piece) > 2 and piece[0] == "[":
        return _characters(piece[1:-1])
    return re.escape(piece)


def _characters(inside: str) -> str:
    """One of some characters; never a `/`."""
    negated, chosen = inside.startswith("!"), inside.removeprefix("!")
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", chosen)
    try:
        re.compile(f"[{escaped}]")
    except re.error:
        return re.escape(f"[{inside}]")
    return f"(?!/)[{'^' if negated else ''}{escaped}]"
