"""Tar archives read member by member; what could do harm when it is unpacked is refused."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, cast

from rewriter.core.errors import BadInput
from rewriter.elf.archive.members import DAMAGE
from rewriter.elf.headers import printable

_TYPES = frozenset(
    (
        *(tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE),
        *(tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE),
    )
)
_MEMBERS = 1_000_000
_PATH = 4096  # bytes, as Linux has it
_NO_ARCHIVE = "this is no archive that a distribution makes"
_RATIO, _SMALL = 100, 64 << 20
"""An archive may hold so many times its packed size, and this many bytes in any case."""


class _Bounded:
    """A stream that ends in BadInput when it gives more than `limit` bytes."""

    def __init__(self, stream: IO[bytes], limit: int, label: str) -> None:
        self.stream, self.left, self.limit, self.label = stream, limit, limit, label

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        found = self.stream.read(min(size, self.left + 1) if size >= 0 else self.left + 1)
        self.left -= len(found)
        if self.left < 0:
            raise BadInput(
                f"{self.label}: unpacks to more than {self.limit >> 20} MiB",
                hint=_NO_ARCHIVE,
            )
        return found


class Members:
    """The members of an archive in order; one at a time can be read, while it is the last one."""

    def __init__(self, tar: tarfile.TarFile, label: str, limit: int) -> None:
        self._tar, self._label, self._limit = tar, label, limit
        self._kinds: dict[str, bytes] = {}

    def __iter__(self) -> Iterator[tuple[str, tarfile.TarInfo]]:
        """Each member with its path, as `usr/bin/hello`; BadInput where it is a hostile one."""
        for entry in self._tar:
            path = self._checked(entry)
            yield path, entry

    def read(self, entry: tarfile.TarInfo) -> IO[bytes]:
        """What is in the last member that was given."""
        found = self._tar.extractfile(entry)
        assert found is not None, "a regular file"
        return found

    def _checked(self, entry: tarfile.TarInfo) -> str:
        path = self._path(entry.name, "member")
        what = printable(path)
        if len(self._kinds) > _MEMBERS:
            raise self._bad(f"has more than {_MEMBERS:,} members")
        if entry.type not in _TYPES or entry.pax_headers:
            raise self._bad(f"{what}: is of a kind that dpkg-deb does not pack")
        # tarfile would go on to the end of such a member, past that of the file, for years.
        if not 0 <= entry.size <= self._limit:
            raise self._bad(f"{what}: has {entry.size} bytes", _NO_ARCHIVE)
        if path in self._kinds and not (entry.isdir() and self._kinds[path] == tarfile.DIRTYPE):
            raise self._bad(f"{what}: is there twice")
        for parent in PurePosixPath(path).parents:
            if self._kinds.get(str(parent), tarfile.DIRTYPE) != tarfile.DIRTYPE:
                raise self._bad(f"{what}: leads through {printable(str(parent))}, no folder")
        if entry.islnk():
            target = self._path(entry.linkname, f"link {what} to")
            if self._kinds.get(target) not in (tarfile.REGTYPE, tarfile.LNKTYPE):
                raise self._bad(f"{what}: is a hard link to what is no file before it")
        self._kinds[path] = tarfile.REGTYPE if entry.isreg() else entry.type
        return path

    def _path(self, name: str, what: str) -> str:
        """A name without its beginning `./`, which stays inside the archive's folder."""
        parts = PurePosixPath(name.removeprefix("./")).parts
        if not name or "\0" in name or ".." in parts or name.startswith("/"):
            raise self._bad(f"{what} {printable(name)!r} leads out of the package")
        if len(name.encode("utf-8", "surrogateescape")) >= _PATH or any(
            len(part.encode("utf-8", "surrogateescape")) > 255 for part in parts
        ):
            raise self._bad(f"{what} {printable(name[:40])}...: its name is too long")
        return str(PurePosixPath(*parts))

    def _bad(self, why: str, hint: str = "") -> BadInput:
        return BadInput(f"{self._label}: {why}", hint=hint)


@contextmanager
def members(stream: IO[bytes], packed: int, label: str) -> Iterator[Members]:
    """The members of an unpacked stream of a tar archive that has `packed` bytes in its file.

    BadInput for what is damaged, has members that lead out or through links, or is a bomb.
    """
    limit = _SMALL + _RATIO * packed
    bounded = cast(IO[bytes], _Bounded(stream, limit, label))
    try:
        with tarfile.open(
            fileobj=bounded, mode="r|", encoding="utf-8", errors="surrogateescape"
        ) as tar:
            yield Members(tar, label, limit)
    except DAMAGE as error:
        raise BadInput(f"{label}: cannot be unpacked: {printable(str(error))}") from error
