"""Packages in, packages out: what is in them is retuned by a function that is given."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewriter.core.errors import BadInput, BadUsage, RetuneError
from rewriter.elf.emit import CannotWrite, write_atomically
from rewriter.elf.headers import printable
from rewriter.packages import debian
from rewriter.packages.control import check_suffix

RETUNED, RENAMED, COPIED, REFUSED = "retuned", "given the new version", "copied", "refused"
_RPM = b"\xed\xab\xee\xdb"
_ASIDE = ".retune-packages-"


@dataclass(frozen=True)
class Tree:
    """What is unpacked of a package: the folder and the package's name."""

    path: Path
    package: str


Retune = Callable[[Sequence[Tree], Path], object]
"""Retunes the linked files of trees in place; the path is a folder with their debug files."""


@dataclass(frozen=True)
class Result:
    """What became of a package: `files` of it are others, `output` is None where it was refused."""

    path: Path
    status: str
    output: Path | None = None
    files: int = 0
    reason: str = ""


def run(
    paths: Sequence[Path],
    output: Path,
    retune: Retune,
    wanted: debian.Wanted,
    suffix: str = "",
    epoch: int | None = None,
) -> list[Result]:
    """Retunes packages into a folder; one that is refused never stops the others.

    A package in which nothing changes is copied as it is.  `suffix` goes behind the versions of
    those that change, and of those that relate to exactly these; `epoch` is the time of files that
    change.
    """
    check_suffix(suffix)
    _made_output(paths, output)
    results: dict[Path, Result] = {}
    unpacked: dict[Path, debian.Unpacked] = {}
    with _aside(output) as work:
        debug = work / "debug"
        debug.mkdir()
        for number, path in enumerate(paths):
            try:
                package = _read(path)
                unpacked[path] = debian.unpack(package, work / f"{number}", debug, wanted)
            except BadInput as refused:
                results[path] = Result(path, REFUSED, reason=str(refused))
        trees = [Tree(one.root, one.package.name) for one in unpacked.values() if one.digests]
        if trees:
            retune(trees, debug)
        versions = debian.new_versions(tuple(unpacked.values()), suffix)
        for path, one in unpacked.items():
            try:
                results[path] = _written(one, output, versions, epoch)
            except RetuneError as refused:
                results[path] = Result(path, REFUSED, reason=str(refused))
            shutil.rmtree(one.root, ignore_errors=True)
    return [results[path] for path in paths]


def _written(
    one: debian.Unpacked, output: Path, versions: debian.Versions, epoch: int | None
) -> Result:
    """Packs a package and gives it its name in one step."""
    path, changed = one.package.path, len(one.changed())
    data = debian.packed(one, versions, epoch)
    target = output / debian.file_name(one.package, versions)
    write_atomically(target, data, path)
    status = RETUNED if changed else RENAMED if one.package.key in versions else COPIED
    return Result(path, status, target, changed)


def _read(path: Path) -> debian.Package:
    """A package, or what is to be done with one of another kind."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        if file.read(4) == _RPM:
            raise BadInput(
                f"{printable(str(path))}: a finished rpm package is not rewritten",
                hint="retune its build tree with brp-retune (docs/packages.md)",
            )
    return debian.read(path)


def _made_output(paths: Sequence[Path], output: Path) -> None:
    """Makes the folder; refuses one that has the inputs, or where two would have one name."""
    names: dict[str, Path] = {}
    for path in paths:
        shown = printable(str(path))
        if os.path.realpath(path.parent) == os.path.realpath(output):
            raise BadUsage(f"{shown}: is in the output folder", hint="give another folder")
        if names.setdefault(path.name, path) != path:
            raise BadUsage(f"{shown}: another package has this name too")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        shown = printable(str(output))
        raise CannotWrite(f"cannot write to {shown}: {error.strerror}") from error


@contextlib.contextmanager
def _aside(output: Path) -> Iterator[Path]:
    """A folder for unpacked files, removed at the end; those of runs that were killed go too."""
    for old in output.glob(f"{_ASIDE}*"):
        found = re.fullmatch(rf"{re.escape(_ASIDE)}(\d+)-\w+", old.name)
        if found and not Path("/proc", found[1]).exists():
            shutil.rmtree(old, ignore_errors=True)
    try:
        work = Path(tempfile.mkdtemp(prefix=f"{_ASIDE}{os.getpid()}-", dir=output))
    except OSError as error:
        shown = printable(str(output))
        raise CannotWrite(f"cannot write to {shown}: {error.strerror}") from error
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
