"""Inputs from a folder of files and a file of argument lines; failing ones are kept so, too."""

from __future__ import annotations

import os
import shlex
from itertools import product
from pathlib import Path

from rewriter.core.errors import BadInput
from rewriter.difftest.running import Input
from rewriter.elf.headers import printable


def inputs(folder: Path | None, lines: Path | None) -> tuple[Input, ...]:
    """Every file of a folder as standard input, with every line of a file as arguments.

    Lines are split as a shell splits words; empty ones and those that begin with # are left out.
    Without either there is one input: nothing.
    """
    given = [("", b"")] if folder is None else _files(folder)
    arguments = [("", ())] if lines is None else _lines(lines)
    found = []
    for (name, stdin), (place, words) in product(given, arguments):
        called = ", ".join(filter(None, (name, place))) or "no input"
        found.append(Input(called, words, stdin))
    return tuple(found)


def keep(folder: Path, name: str, given: Input) -> str:
    """Writes an input so that `inputs` reads it again; returns the options that name it."""
    files, lines = folder / f"{name}.inputs", folder / f"{name}.args"
    options = f"--inputs {_shown(files)}"
    try:
        files.mkdir(parents=True, exist_ok=True)
        (files / "stdin").write_bytes(given.stdin)
        if given.arguments:
            lines.write_bytes(os.fsencode(shlex.join(given.arguments) + "\n"))
            options += f" --args {_shown(lines)}"
    except OSError as error:
        raise BadInput(f"{_shown(folder)}: cannot be written: {error.strerror}") from error
    return options


def words(path: Path) -> tuple[str, ...]:
    """The arguments in a file of one line."""
    return tuple(word for _, line in _lines(path) for word in line)


def _files(folder: Path) -> list[tuple[str, bytes]]:
    if not folder.is_dir():
        raise BadInput(f"{_shown(folder)}: no such folder")
    found = [(_shown(path.relative_to(folder)), path) for path in sorted(folder.rglob("*"))]
    try:
        read = [(name, path.read_bytes()) for name, path in found if path.is_file()]
    except OSError as error:
        raise BadInput(f"{_shown(folder)}: cannot be read: {error}") from error
    if not read:
        raise BadInput(f"{_shown(folder)}: holds no file")
    return read


def _lines(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    try:
        text = os.fsdecode(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{_shown(path)}: cannot be read: {error.strerror}") from error
    found: list[tuple[str, tuple[str, ...]]] = []
    pending, begun = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        if not pending and (not line.strip() or line.lstrip().startswith("#")):
            continue
        begun = begun if pending else number
        pending += line
        try:
            found.append((f"{_shown(Path(path.name))}:{begun}", tuple(shlex.split(pending))))
            pending = ""
        except ValueError:  # a quoted word may hold line feeds
            pending += "\n"
    if pending:
        raise BadInput(f"{_shown(path)}:{begun}: a quotation is not closed")
    if not found:
        raise BadInput(f"{_shown(path)}: holds no line of arguments")
    return found


def _shown(path: Path) -> str:
    return printable(str(path))
