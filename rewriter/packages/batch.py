"""Packages in, packages out: what is in them is retuned by a function that is given."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rewriter.batch.files.journal import Journal, NoJournal
from rewriter.core.errors import BadInput, BadUsage, RetuneError, VerificationFailed
from rewriter.elf.emit import sync_folder, unwritten, write_atomically
from rewriter.elf.headers import printable
from rewriter.packages import debian, resumed
from rewriter.packages.checked import check
from rewriter.packages.control import check_suffix

RETUNED, RENAMED, COPIED, REFUSED = "retuned", "given the new version", "copied", "refused"
WRITTEN, FAILED = "written before", "failed"
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
    """What became of a package: `files` of it are others, `output` is None where it was refused.

    `warning` is what who installs it must know.
    """

    path: Path
    status: str
    output: Path | None = None
    files: int = 0
    reason: str = ""
    warning: str = ""


def run(
    paths: Sequence[Path],
    output: Path,
    retune: Retune,
    wanted: debian.Wanted,
    suffix: str = "",
    epoch: int | None = None,
    log: Journal | NoJournal | None = None,
) -> list[Result]:
    """Retunes packages into a folder; one that is refused never stops the others.

    A package in which nothing changes is copied as it is.  `suffix` goes behind the versions of
    those that change, and of those that relate to exactly these; `epoch` is the time of files that
    change.  With a journal (`log`) files unpacked stay until the end, and a run that was killed
    goes on from them.
    """
    check_suffix(suffix)
    _made_output(paths, output)
    log = log or NoJournal()
    done = resumed.finished(log, paths)
    if done is not None:
        shutil.rmtree(folder(output, log), ignore_errors=True)
        return [Result(path, WRITTEN, done[path]) for path in paths]
    results: dict[Path, Result] = {}
    unpacked: dict[Path, debian.Unpacked] = {}
    kept = partial(resumed.made, log)
    with _aside(output, log) as work:
        debug = work / "debug"
        debug.mkdir(exist_ok=True)
        for path in paths:
            try:
                unpacked[path] = debian.unpack(_read(path), work / path.name, debug, wanted, kept)
            except BadInput as refused:
                results[path] = Result(path, REFUSED, reason=str(refused))
        trees = [Tree(one.root, one.package.name) for one in unpacked.values() if one.digests]
        if trees:
            retune(trees, debug)
        versions = debian.new_versions(tuple(unpacked.values()), suffix)
        for path, one in unpacked.items():
            try:
                results[path] = _written(one, output, versions, epoch, log)
            except VerificationFailed as failed:
                results[path] = Result(path, FAILED, reason=str(failed))
            except RetuneError as refused:
                results[path] = Result(path, REFUSED, reason=str(refused))
    return [results[path] for path in paths]


def _written(
    one: debian.Unpacked,
    output: Path,
    versions: debian.Versions,
    epoch: int | None,
    log: Journal | NoJournal,
) -> Result:
    """Packs a package, checks it, and gives it its name in one step."""
    path, changed = one.package.path, len(one.changed())
    target = output / debian.file_name(one.package, versions)
    if resumed.written(log, path, target):
        return Result(path, WRITTEN, target, changed)
    data = debian.packed(one, versions, epoch)
    packed = one.root.with_name(f"{path.name}.packed")
    write_atomically(packed, data, path)
    check(packed, one, versions)
    _named(packed, target)
    resumed.note(log, path, target, data)
    status = RETUNED if changed else RENAMED if one.package.key in versions else COPIED
    return Result(path, status, target, changed, warning=debian.warning(one.package, versions))


def _named(packed: Path, target: Path) -> None:
    """Gives a package that is checked its name, from the folder where a killed run may leave it."""
    try:
        packed.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        shown = printable(str(target))
        raise unwritten(f"cannot write {shown}", error) from error


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
        raise unwritten(f"cannot write to {shown}", error) from error


def folder(output: Path, log: Journal | NoJournal) -> Path:
    """Where a run with a journal has what is unpacked: a folder for each package, by its file."""
    return output / f"{_ASIDE}{log.run}"


@contextlib.contextmanager
def _aside(output: Path, log: Journal | NoJournal) -> Iterator[Path]:
    """A folder for unpacked files, removed at the end; those of runs that were killed go too.

    That of a run with a journal stays where it does not end, for the run that goes on.
    """
    for old in output.glob(f"{_ASIDE}*"):
        found = re.fullmatch(rf"{re.escape(_ASIDE)}(\d+)-\w+", old.name)
        if found and not Path("/proc", found[1]).exists():
            shutil.rmtree(old, ignore_errors=True)
    lasting = isinstance(log, Journal)
    work = folder(output, log) if lasting else output / f"{_ASIDE}{os.getpid()}-{log.run}"
    try:
        work.mkdir(mode=0o700, exist_ok=lasting)
    except OSError as error:
        shown = printable(str(output))
        raise unwritten(f"cannot write to {shown}", error) from error
    try:
        yield work
    except BaseException:
        if not lasting:
            shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work, ignore_errors=True)
