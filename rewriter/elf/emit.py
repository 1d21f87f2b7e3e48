"""Writing: byte patches over a file of the same length, and files that are whole or not there."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rewriter.core.errors import BadInput, BadUsage


class CannotWrite(BadUsage):
    """The output path cannot be written; whatever was there before is still there, whole."""


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
    out = bytearray(data)
    reached = 0
    for patch in patches:
        _check(data, patch, reached)
        out[patch.offset : patch.end] = patch.new
        reached = patch.end
    return bytes(out)


def _check(data: bytes, patch: Patch, reached: int) -> None:
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
    changed = np.frombuffer(old, np.uint8) != np.frombuffer(new, np.uint8)
    edges = np.flatnonzero(np.diff(changed, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    between = starts[1:] - ends[:-1] >= apart
    runs = zip(
        np.append(starts[:1], starts[1:][between]).tolist(),
        np.append(ends[:-1][between], ends[-1:]).tolist(),
        strict=True,
    )
    return tuple(Patch(start, old[start:end], new[start:end]) for start, end in runs)


def write_atomically(
    path: str | os.PathLike[str], data: bytes, mode_from: str | os.PathLike[str]
) -> None:
    """Write `data` to `path` with the permission bits of `mode_from`: all of it, or CannotWrite.

    The bytes go to a temporary file in the same folder, to the disk, and then take the name in
    one step. A symbolic link stays a link and its target is replaced.
    """
    target = Path(os.path.realpath(path))
    try:
        # Renaming over a device (`-o /dev/null`, as root) would destroy the device.
        if target.exists() and not target.is_file():
            raise CannotWrite(f"cannot write {path}: it is not a regular file")
        _write_aside(target, data, os.stat(mode_from))
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error


def _write_aside(target: Path, data: bytes, like: os.stat_result) -> None:
    handle, aside = tempfile.mkstemp(prefix=f".{target.name[:200]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            # set-user-ID on a file that now has another owner would grant that owner's rights.
            same_owner = os.fstat(file.fileno()).st_uid == like.st_uid
            mode = stat.S_IMODE(like.st_mode)
            os.fchmod(file.fileno(), mode if same_owner else mode & 0o777)
            os.fsync(file.fileno())
        os.replace(aside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
