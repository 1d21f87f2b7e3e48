"""Inputs drawn by Hypothesis from strategies of the user; one that fails is shrunk."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewriter.core.errors import BadInput, BadUsage
from rewriter.difftest.case import Case, Verdict
from rewriter.difftest.program import Progress
from rewriter.difftest.running import Input
from rewriter.elf.headers import printable

ARGV, STDIN = "argv", "stdin"
_STAGE = "draw"
_SHRINKS = 400  # runs of the command after the first failure


@dataclass(frozen=True)
class Strategies:
    """What a file says: strategies for arguments (lists of text) and for standard input."""

    argv: Any
    stdin: Any
    where: str


@dataclass(frozen=True)
class Found:
    """The cases that were run, and the smallest input that fails, if one does."""

    cases: tuple[Case, ...]
    failing: Input | None


class _Fails(Exception):
    """What Hypothesis shrinks."""


def strategies(path: Path) -> Strategies:
    """The strategies that a Python file defines, by name: `argv`, `stdin`, or both."""
    shown = printable(str(path))
    try:
        from hypothesis.strategies import SearchStrategy, just
    except ImportError as error:
        raise BadUsage(
            "--strategy: Hypothesis is not installed", hint="pip install 'retune[difftest]'"
        ) from error
    if not path.is_file():
        raise BadInput(f"{shown}: no such file")
    try:
        defined = runpy.run_path(str(path))
    except Exception as error:
        raise BadInput(f"{shown}: {type(error).__name__}: {error}") from error
    given = {name: defined[name] for name in (ARGV, STDIN) if name in defined}
    for name, strategy in given.items():
        if not isinstance(strategy, SearchStrategy):
            raise BadInput(f"{shown}: {name} is no strategy of Hypothesis")
    if not given:
        raise BadInput(f"{shown}: defines neither {ARGV} nor {STDIN}")
    return Strategies(given.get(ARGV, just([])), given.get(STDIN, just(b"")), shown)


def draw(
    chosen: Strategies, test: Callable[[Input], Case], examples: int, progress: Progress
) -> Found:
    """Runs so many drawn inputs, until one fails, which is then made as small as it gets.

    The same file draws the same inputs.  An input whose original does not end in time is left out.
    """
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.errors import HypothesisException

    seen: dict[tuple[tuple[str, ...], bytes], Case] = {}
    failing: list[tuple[Input, Case]] = []
    after = 0

    def one(argv: object, stdin: object) -> None:
        nonlocal after
        drawn = _input(argv, stdin, chosen.where)
        key = drawn.arguments, drawn.stdin
        if key not in seen:
            after += bool(failing)
            if after > _SHRINKS:
                return
            seen[key] = test(replace(drawn, name=f"drawn {len(seen) + 1}"))
            progress(_STAGE, min(len(seen), examples), examples)
        if seen[key].verdict is Verdict.DIFFERS:
            failing.append((drawn, seen[key]))
            raise _Fails

    run = settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )(given(chosen.argv, chosen.stdin)(one))
    try:
        run()
    except _Fails:
        pass
    except HypothesisException as error:  # it fails at times only, or nothing can be drawn
        if not failing:
            raise BadInput(f"{chosen.where}: {' '.join(str(error).split())}") from error
    if not failing:
        return Found(tuple(seen.values()), None)
    smallest, case = min(failing, key=_size)
    good = tuple(c for c in seen.values() if c.verdict is not Verdict.DIFFERS)
    return Found((*good, case), smallest)


def _input(argv: object, stdin: object, where: str) -> Input:
    """What was drawn as an input; text is encoded as UTF-8."""
    if not isinstance(argv, list | tuple) or not all(isinstance(word, str) for word in argv):
        raise BadInput(f"{where}: {ARGV} draws {argv!r}, which is no list of text")
    if isinstance(stdin, str):
        stdin = stdin.encode("utf-8", "surrogatepass")
    if not isinstance(stdin, bytes):
        raise BadInput(f"{where}: {STDIN} draws {stdin!r}, which is neither bytes nor text")
    words = tuple(word.encode("utf-8", "surrogateescape").decode("utf-8") for word in argv)
    return Input("drawn", tuple(word.replace("\0", "") for word in words), stdin)


def _size(found: tuple[Input, Case]) -> tuple[int, int, tuple[str, ...], bytes]:
    given = found[0]
    length = sum(map(len, given.arguments)) + len(given.stdin)
    return length, len(given.arguments), given.arguments, given.stdin
