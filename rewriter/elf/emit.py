"""Writing: byte patches over a file of the same length, and files that are whole or not there."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rewriter.core.differing import differing
from rewriter.core.errors import BadInput, BadUsage, OutOfResources
from rewriter.core.run.interrupts import leaving
from rewriter.elf.headers import printable


class CannotWrite(BadUsage):
    """The output path cannot be written; whatever was there before is still there, whole."""


class NoRoom(OutOfResources):
    """The disk is full, or broken; whatever was there before is still there, whole."""


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


@dataclass(frozen=True, slots=True)
class Patch:
    """`new` takes the place of `old` at file offset `offset` (bytes); both have the same length."""

    offset: int
    old: bytes
    new: bytes

    @property
    def end(self) -> int:
        """File offset of the first byte after the patch."""
        return self.offset + len(self.old)


APART = 16
"""Bytes between changes that are recorded as one: a record costs more than the bytes."""


def apply(data: bytes, patches: Iterable[Patch]) -> bytes:
    """Return `data` with the patches made, or raise BadInput and make none.

    Patches are sorted by offset, do not overlap, keep the length, and find their `old` bytes.
    """
    return b"".join(pieces(data, patches))


def pieces(data: bytes | memoryview, patches: Iterable[Patch]) -> Iterator[bytes | memoryview]:
    """What `apply` returns, one piece after the other: nothing is copied."""
    view, reached = memoryview(data), 0
    for patch in patches:
        _check(view, patch, reached)
        yield from (view[reached : patch.offset], patch.new)
        reached = patch.end
    yield view[reached:]


def _check(data: memoryview, patch: Patch, reached: int) -> None:
    where = f"patch at file offset {patch.offset:#x}"
    if len(patch.old) != len(patch.new):
        raise BadInput(f"{where} changes the length from {len(patch.old)} to {len(patch.new)}")
    if patch.offset < reached:
        raise BadInput(f"{where} overlaps or precedes the one before it, ending at {reached:#x}")
    if patch.end > len(data):
        raise BadInput(f"{where} ends at {patch.end:#x}, after the file ({len(data):#x} bytes)")
    found = data[patch.offset : patch.end]
    if found != patch.old:
        raise BadInput(
            f"{where} expects {patch.old[:16].hex()} and finds {found[:16].hex()}",
            hint="the file is not the one the patch was made for",
        )


def difference(old: bytes, new: bytes, apart: int = 1) -> tuple[Patch, ...]:
    """Return the maximal runs of changed bytes, in order: `apply(old, ...)` gives `new`.

    Runs with fewer than `apart` equal bytes between them are one. Raises BadInput when the lengths
    differ.
    """
    if len(old) != len(new):
        raise BadInput(f"files differ in length: {len(old)} and {len(new)} bytes")
    edges = _edges(old, new)
    starts, ends = edges[::2], edges[1::2]
    between = starts[1:] - ends[:-1] >= apart
    runs = zip(
        np.append(starts[:1], starts[1:][between]).tolist(),
        np.append(ends[:-1][between], ends[-1:]).tolist(),
        strict=True,
    )
    return tuple(Patch(start, old[start:end], new[start:end]) for start, end in runs)


def _edges(old: bytes, new: bytes) -> NDArray[np.int64]:
    """Where runs of changed bytes begin and end, by turns."""
    found, inside = [np.empty(0, dtype=np.int64)], False
    for at, apart in differing(old, new):
        found.append(np.flatnonzero(np.diff(apart, prepend=inside)) + at)
        inside = bool(apart[-1])
    return np.concatenate([*found, np.array([len(old)] * inside, dtype=np.int64)])


def write_atomically(
    path: str | os.PathLike[str], data: bytes, mode_from: str | os.PathLike[str]
) -> None:
    """Write `data` to `path` with the permission bits of `mode_from`: all of it, or CannotWrite.

    The bytes go to a temporary file in the same folder, to the disk, and then take the name in
    one step. A symbolic link stays a link and its target is replaced.
    """
    write_together([Output(path, data)], mode_from)


@dataclass(frozen=True, slots=True)
class Output:
    """A file to write; `mode` are the permission bits that it may have at most."""

    path: str | os.PathLike[str]
    data: bytes
    mode: int = 0o7777


def write_together(outputs: Sequence[Output], mode_from: str | os.PathLike[str]) -> None:
    """Write files with the permission bits of `mode_from`: all of them, or CannotWrite and none.

    Each is written aside before the first takes its name. Of two processes that write the same
    files at once, all files are of one of them.
    """
    with contextlib.ExitStack() as stack:
        like = _status(mode_from)
        asides = [(Path(os.path.realpath(one.path)), one) for one in outputs]
        written = [
            (stack.enter_context(_aside(target, one, like)), target, one) for target, one in asides
        ]
        stack.enter_context(_alone(asides[0][0].parent))
        named: list[Path] = []
        for aside, target, one in written:
            was_there = target.exists()
            try:
                os.replace(aside, target)
            except OSError as error:
                for other in named:  # new ones only: what was replaced is gone
                    other.unlink(missing_ok=True)
                raise _cannot(one.path, error) from error
            if not was_there:
                named.append(target)
    for folder in {target.parent for target, _ in asides}:
        sync_folder(folder)


def _status(path: str | os.PathLike[str]) -> os.stat_result:
    try:
        return os.stat(path)
    except OSError as error:
        raise BadInput(f"{path}: is gone: {error.strerror}") from error


def unwritten(what: str, error: OSError) -> CannotWrite | NoRoom:
    """The error of something that could not be written; `what` says so, without the reason."""
    kind = NoRoom if error.errno in _FULL else CannotWrite
    return kind(f"{what}: {error.strerror or error}")


def _cannot(path: str | os.PathLike[str], error: OSError) -> CannotWrite | NoRoom:
    return unwritten(f"cannot write {printable(os.fspath(path))}", error)


@contextlib.contextmanager
def _aside(target: Path, output: Output, like: os.stat_result) -> Iterator[str]:
    """A temporary file beside the target with its content, removed if it is there at the end."""
    try:
        # Renaming over a device (`-o /dev/null`, as root) would destroy the device.
        if target.exists() and not target.is_file():
            raise CannotWrite(f"cannot write {output.path}: it is not a regular file")
        handle, aside = tempfile.mkstemp(prefix=f".{target.name[:200]}.", dir=target.parent)
    except OSError as error:
        raise _cannot(output.path, error) from error
    with leaving(aside):
        try:
            try:
                _fill(handle, output, like)
            except OSError as error:
                raise _cannot(output.path, error) from error
            yield aside
        finally:
            with contextlib.suppress(OSError):
                os.unlink(aside)


def _fill(handle: int, output: Output, like: os.stat_result) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(output.data)
        file.flush()
        # set-user-ID on a file that now has another owner would grant that owner's rights.
        same_owner = os.fstat(file.fileno()).st_uid == like.st_uid
        mode = stat.S_IMODE(like.st_mode) & output.mode
        os.fchmod(file.fileno(), mode if same_owner else mode & 0o777)
        os.fsync(file.fileno())


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process gives names in the folder meanwhile, where the file system can tell."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Make new names in a folder durable, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
