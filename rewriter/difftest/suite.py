"""A folder of test programs: those that pass on the original must pass on the new file.

What a test prints is its own affair, but where a file beside it says what it must print.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rewriter.core.errors import BadInput
from rewriter.difftest.case import Case, Verdict
from rewriter.difftest.corpus import words
from rewriter.difftest.outcome import Masks
from rewriter.difftest.program import AT_LEAST, SLOWER
from rewriter.difftest.running import Ending, Input, Run, run
from rewriter.difftest.setting import Side, Sides, ident_at
from rewriter.elf.headers import ET_DYN, ET_EXEC, printable

UNSUPPORTED = 77
"""The status by which a test says that it cannot run here: of glibc, of Automake."""

ARGS, STDIN, EXPECTED = ".args", ".input", ".expected"


@dataclass(frozen=True)
class Test:
    """A test program, and the files beside it: a line of arguments, its input, its output."""

    name: str
    path: Path
    given: Input
    expected: bytes | None


def tests(folder: Path, chosen: str | None) -> tuple[Test, ...]:
    """The executables of a folder and those below it, by name; of these what the pattern matches.

    Shared libraries, which have no permission to be executed or are called lib*.so*, are left out.
    """
    if not folder.is_dir():
        raise BadInput(f"{printable(str(folder))}: no such folder")
    found = [_test(folder, path) for path in sorted(folder.rglob("*")) if _is_program(path)]
    kept = tuple(t for t in found if chosen is None or re.search(chosen, t.name))
    if not kept:
        why = "holds no executable ELF file" if not found else f"no test matches {chosen}"
        raise BadInput(f"{printable(str(folder))}: {why}")
    return kept


def _is_program(path: Path) -> bool:
    if not path.is_file() or not path.stat().st_mode & 0o111 or re.search(r"\.so(\.|$)", path.name):
        return False
    if ident_at(path) is None:
        return False
    with path.open("rb") as file:
        head = file.read(18)
    return int.from_bytes(head[16:18], "little" if head[5] == 1 else "big") in (ET_EXEC, ET_DYN)


def _test(folder: Path, path: Path) -> Test:
    beside = {end: path.with_name(path.name + end) for end in (ARGS, STDIN, EXPECTED)}
    name = printable(str(path.relative_to(folder)))
    stdin = beside[STDIN].read_bytes() if beside[STDIN].is_file() else b""
    arguments = words(beside[ARGS]) if beside[ARGS].is_file() else ()
    expected = beside[EXPECTED].read_bytes() if beside[EXPECTED].is_file() else None
    return Test(name, path.absolute(), Input(name, arguments, stdin), expected)


@dataclass(frozen=True)
class Suite:
    """Runs tests on two sides; `limit` is in seconds, for a test on the original.

    `expected` gives statuses other than 0 that are a pass, by test; a test that ends with
    UNSUPPORTED on the original says nothing.
    """

    sides: Sides
    limit: float
    expected: Mapping[str, Collection[int]]
    folder: Path
    masks: Masks = ()

    def case(self, test: Test) -> Case:
        """A test on both sides; one that fails on the new side must pass again on the original."""
        place = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            return self._case(test, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _case(self, test: Test, place: Path) -> Case:
        old = self._run(test, self.sides.old, place, self.limit)
        problem = self._problem(test, old)
        if problem:
            why = f"on the original it {problem}"
            return Case(test.name, Verdict.UNUSABLE, why, seconds=(old.seconds, 0.0))
        longest = min(max(AT_LEAST, SLOWER * old.seconds), SLOWER * self.limit)
        new = self._run(test, self.sides.new, place, longest)
        problem, seconds = self._problem(test, new), (old.seconds, new.seconds)
        counted = None
        if old.executed is not None and new.executed is not None:
            counted = old.executed, new.executed
        if not problem:
            return Case(test.name, Verdict.SAME, seconds=seconds, executed=counted)
        again = self._problem(test, self._run(test, self.sides.old, place, self.limit))
        if again:
            why = f"on the original it passes at times: it {again}"
            return Case(test.name, Verdict.UNUSABLE, why, seconds=seconds)
        return Case(test.name, Verdict.DIFFERS, f"it {problem}", tuple(_last(new)), seconds=seconds)

    def _run(self, test: Test, side: Side, place: Path, limit: float) -> Run:
        command = (str(test.path), *self.sides.setting.command[1:])
        setting = replace(self.sides.setting, command=command)
        return run(setting.launch(side, place), test.given, limit, place)

    def _problem(self, test: Test, done: Run) -> str:
        """Why a run is no pass, or nothing."""
        if done.ending is not Ending.ENDED or done.status not in self.expected.get(test.name, (0,)):
            unsupported = done.ending is Ending.ENDED and done.status == UNSUPPORTED
            return "is unsupported" if unsupported else done.account
        if test.expected is not None and test.expected != done.stdout:
            return "prints something else than is expected"
        return ""


def statuses(path: Path | None) -> dict[str, frozenset[int]]:
    """Statuses that count as a pass, from lines `NAME STATUS...`."""
    found: dict[str, frozenset[int]] = {}
    if path is None:
        return found
    shown = printable(str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{shown}: cannot be read: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        name, *given = line.partition("#")[0].split() or [""]
        if name:
            try:
                found[name] = frozenset(map(int, given))
            except ValueError as error:
                raise BadInput(f"{shown}:{number}: {error}") from error
            if not given:
                raise BadInput(f"{shown}:{number}: {name} has no status")
    return found


def _last(done: Run) -> Iterator[str]:
    """The last lines that a test printed."""
    for stream in (done.stdout, done.stderr):
        for line in stream.splitlines()[-5:]:
            yield printable(line.decode("utf-8", "backslashreplace"))
