"""The files that a run is about: found once, in an order that does not depend on the file system.

A symbolic link is never followed inside a tree: what it leads to is found by its own name, or does
not belong to the tree.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import targets
from rewriter.core.errors import BadInput
from rewriter.core.target.ident import HEAD, Ident, ident_of, type_of
from rewriter.elf.headers import ET_DYN, ET_EXEC, printable

ASIDE = re.compile(r"\.retune-[0-9a-f]{16}-\d+")
"""Names of files that a run writes aside."""


@dataclass(frozen=True)
class Root:
    """A tree, or one file given by its name; `package` is the package that it belongs to.

    A file of a `label` is called `LABEL:path/in/the/tree` in what people read, not by its path.
    """

    path: Path
    package: str | None = None
    label: str = ""


@dataclass(frozen=True)
class Candidate:
    """A linked ELF file of a machine that retune knows.

    `names` are all its names (hard links), the first one in order of spelling first; `inside` is
    each name seen from its root; `named` says that it was given by its name, not found in a tree.
    """

    names: tuple[Path, ...]
    inside: tuple[str, ...]
    size: int
    ident: Ident
    links: int
    package: str | None = None
    named: bool = False
    label: str = ""

    @property
    def shown(self) -> str:
        """What it is called in what people read."""
        return f"{self.label}:{self.inside[0]}" if self.label else os.fspath(self.path)

    @property
    def path(self) -> Path:
        """The name that it is worked on by."""
        return self.names[0]


@dataclass
class Found:
    """What there is: `foreign` counts other files, `faults` are names that lead to no ELF file."""

    candidates: list[Candidate] = field(default_factory=list)
    foreign: int = 0
    faults: list[tuple[Path, str]] = field(default_factory=list)


def find(roots: Iterable[Root]) -> Found:
    """The files below some roots, each file once; a root that is not there is a fault."""
    found = Found()
    groups: dict[tuple[int, int], list[tuple[Root, Path, os.stat_result]]] = {}
    for root in roots:
        for path, about in _files(root, found):
            groups.setdefault((about.st_dev, about.st_ino), []).append((root, path, about))
    for group in groups.values():
        _add(found, group)
    found.candidates.sort(key=lambda one: os.fsencode(one.path))
    return found


def listed(path: Path) -> list[Path]:
    """The paths of a list file, one a line; empty lines and lines that begin with `#` are none."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise BadInput(f"{_shown(path)}: cannot be read: {error.strerror}") from error
    wanted = [line.removesuffix(b"\r") for line in lines]
    if any(b"\0" in line for line in wanted):
        raise BadInput(f"{_shown(path)}: not a list of paths", hint="one path a line")
    return [Path(os.fsdecode(line)) for line in wanted if line and not line.startswith(b"#")]


def known_ident(head: bytes) -> Ident | None:
    """What a linked ELF file that retune knows is for, by its first bytes; None for all else."""
    ident = ident_of(head)
    if ident is None or type_of(head, ident) not in (ET_EXEC, ET_DYN):
        return None
    return ident if targets.knows(ident) else None


def walk(top: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder, a folder before what is in it, names in order; or OSError."""
    left = [iter(_entries(os.fspath(top)))]
    while left:
        entry = next(left[-1], None)
        if entry is None:
            left.pop()
            continue
        yield entry
        if entry.is_dir(follow_symlinks=False):
            left.append(iter(_entries(entry.path)))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, but for what runs write aside."""
    with os.scandir(folder) as found:
        kept = [entry for entry in found if not ASIDE.fullmatch(entry.name)]
    return sorted(kept, key=lambda entry: os.fsencode(entry.name))


def _files(root: Root, found: Found) -> Iterator[tuple[Path, os.stat_result]]:
    """The regular files of one root."""
    try:
        about = root.path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        found.faults.append((root.path, f"cannot be read: {reason}"))
        return
    if not stat.S_ISDIR(about.st_mode):
        # A link given by its name stands for what it leads to.
        yield Path(os.path.realpath(root.path)), about
        return
    try:
        for entry in walk(root.path):
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path), entry.stat(follow_symlinks=False)
            elif not entry.is_dir(follow_symlinks=False):
                found.foreign += 1
    except OSError as error:
        where = Path(str(error.filename or root.path))
        found.faults.append((where, f"cannot be read: {error.strerror}"))


def _add(found: Found, group: list[tuple[Root, Path, os.stat_result]]) -> None:
    """One file with all its names."""
    named = any(root.path == path or not root.path.is_dir() for root, path, _ in group)
    # The same name may be reached over several roots, and over links to folders.
    real = {Path(os.path.realpath(path.parent), path.name): path for _, path, _ in group}
    once = {path: (root, about) for root, path, about in group if path in real.values()}
    names = sorted(once, key=os.fsencode)
    root, about = once[names[0]]
    ident, reason = _ident(names[0], about)
    if ident is None:
        if reason:
            found.faults.append((names[0], reason))
            return
        found.foreign += len(names)
        if named:
            found.faults.append((names[0], "not a linked ELF file for a machine that is known"))
        return
    inside = tuple(_inside(once[name][0], name) for name in names)
    found.candidates.append(
        Candidate(
            tuple(names),
            inside,
            about.st_size,
            ident,
            about.st_nlink,
            root.package,
            named,
            root.label,
        )
    )


def _ident(path: Path, about: os.stat_result) -> tuple[Ident | None, str]:
    """What a file is for; None if that is not known, with a reason if it cannot be read."""
    if not stat.S_ISREG(about.st_mode):  # opening a FIFO would wait for a writer for ever
        return None, "is not a regular file"
    try:
        with path.open("rb") as file:
            return known_ident(file.read(HEAD)), ""
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"


def _inside(root: Root, path: Path) -> str:
    """A path as its root sees it."""
    try:
        seen = PurePosixPath(path.relative_to(root.path))
    except ValueError:
        seen = PurePosixPath(path)
    text = str(seen).lstrip("/")
    return path.name if text in ("", ".") else text


def _shown(path: Path) -> str:
    return printable(str(path))
