"""A Debian package: the linked files in it, and the package with others in their places.

The data archive is written anew member by member, so that owners, modes, times, links and order
are those of the original whoever runs this: nothing but the content of files goes over the disk.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import shutil
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from rewriter.core.errors import BadInput
from rewriter.elf.archive import members as archive
from rewriter.elf.debug_files import ROOT as DEBUG
from rewriter.elf.headers import printable
from rewriter.packages import changelog
from rewriter.packages import control as fields
from rewriter.packages.tarball import members

Wanted = Callable[[bytes], bool]
"""Whether a file is one to be retuned, by its first bytes."""
Kept = Callable[[Path, str], bool]
"""Whether a file is what was made of an original with this SHA-256 by an earlier run."""
HEAD = 64
_PART = ".retune-part"
_VERSION, _CONTROL, DATA = "debian-binary", "control.tar", "data.tar"
_READ = ("control", "conffiles", "md5sums")  # of a control archive
_FIRST = 8  # where the first member's header is
_SMALL_FILE = 1 << 24  # bytes that a file of a control archive may have


def _never(path: Path, digest: str) -> bool:
    return False


@dataclass(frozen=True)
class Package:
    """A `.deb` file as it is read: its members, and what its control file says."""

    path: Path
    label: str
    members: tuple[tuple[str, bytes], ...]
    control: str
    conffiles: frozenset[str]

    @property
    def name(self) -> str:
        """The name of the package."""
        return fields.value(self.control, "Package")

    @property
    def key(self) -> tuple[str, str]:
        """Its name and version."""
        return self.name, self.version

    @property
    def version(self) -> str:
        """Its version, epoch and revision included."""
        return fields.value(self.control, "Version")

    def member(self, kind: str) -> tuple[str, bytes]:
        """The suffix (`.xz`) and bytes of `control.tar` or `data.tar`."""
        name, content = next(one for one in self.members if one[0].startswith(kind))
        return name.removeprefix(kind), content


@dataclass
class Unpacked:
    """What of a package is on the disk: the SHA-256 of each file below `root`, by path.

    `changelog` says whether there is one that a new version gets an entry in.
    """

    package: Package
    root: Path
    digests: dict[str, str] = field(default_factory=dict)
    changelog: bool = False

    def changed(self) -> dict[str, Path]:
        """The files that are others now."""
        found = {path: self.root / path for path in self.digests}
        return {path: at for path, at in found.items() if _sha256(at) != self.digests[path]}


def read(path: Path) -> Package:
    """Reads a package; BadInput where it is none, or not one that can be written again."""
    label = printable(str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{label}: cannot be read: {error.strerror}") from error
    if not data.startswith(archive.ARCHIVE):
        raise BadInput(f"{label}: no Debian package: it does not begin as an archive")
    content = tuple(archive.members(data, label))
    kinds = [name.partition(".tar")[0] for name, _ in content]
    if kinds != [_VERSION, "control", "data"]:
        raise BadInput(
            f"{label}: has the members {', '.join(n for n, _ in content)[:80]}",
            hint="a package has debian-binary, control.tar and data.tar; a signed one has more",
        )
    if not content[0][1].startswith(b"2."):
        raise BadInput(f"{label}: is of another format than 2.0")
    files = _control_files(content[1], label)
    return Package(
        path, label, content,
        files.get("control", b"").decode("utf-8", "surrogateescape"),
        fields.conffiles(files.get("conffiles", b"").decode("utf-8", "surrogateescape")),
    )  # fmt: skip


def _control_files(member: tuple[str, bytes], label: str) -> dict[str, bytes]:
    """The small files that are read of a control archive."""
    name, packed = member
    label, found = f"{label}({name})", dict[str, bytes]()
    with (
        archive.opened(packed, name.removeprefix(_CONTROL), label) as stream,
        members(stream, len(packed), label) as inside,
    ):
        for path, entry in inside:
            if path in _READ and entry.isreg():
                if entry.size > _SMALL_FILE:
                    raise BadInput(f"{label}: {path} has {entry.size} bytes")
                found[path] = inside.read(entry).read()
    if "control" not in found:
        raise BadInput(f"{label}: has no control file")
    return found


def control_file(package: Package, name: str) -> bytes:
    """A file of the control archive that is read; empty where it is not there."""
    kind, packed = package.member(_CONTROL)
    return _control_files((f"{_CONTROL}{kind}", packed), package.label).get(name, b"")


def unpack(
    package: Package, root: Path, debug: Path, wanted: Wanted, kept: Kept = _never
) -> Unpacked:
    """Writes the files to be retuned below `root`, and debug files below `debug`.

    What an earlier run made of a file stays where it is, if it is `kept`.  Conffiles are the
    administrator's, and stay.  Links are not made: a hard link in the package is one to the same
    file afterwards.
    """
    suffix, packed = package.member(DATA)
    label, unpacked = f"{package.label}({DATA}{suffix})", Unpacked(package, root)
    with (
        archive.opened(packed, suffix, label) as stream,
        members(stream, len(packed), label) as inside,
    ):
        for path, entry in inside:
            if not entry.isreg() or path in package.conffiles:
                continue
            unpacked.changelog |= path == changelog.place(package.name)
            content = inside.read(entry)
            head = content.read(HEAD)
            if path.startswith(f"{DEBUG}/"):
                if head.startswith(archive.ELF):
                    _write(debug / path, head, content, 0o644)
            elif wanted(head):
                _write(root / f"{path}{_PART}", head, content, entry.mode & 0o777 | 0o600)
                unpacked.digests[path] = _settled(root / path, kept)
    return unpacked


def _settled(path: Path, kept: Kept) -> str:
    """Gives what was unpacked its name in one step, or leaves what is kept; the original's digest.

    A run may be killed at any moment: what has its name is whole.
    """
    part = path.with_name(f"{path.name}{_PART}")
    digest = _sha256(part)
    if path.is_file() and kept(path, digest):
        part.unlink()
    else:
        part.replace(path)
    return digest


def _write(path: Path, head: bytes, rest: IO[bytes], mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with path.open("xb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(head)
        shutil.copyfileobj(rest, file, 1 << 20)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


Versions = Mapping[tuple[str, str], str]
"""The new version of each package whose version changes, by name and old version."""


def new_versions(all_of_them: Sequence[Unpacked], suffix: str) -> dict[tuple[str, str], str]:
    """The versions with a suffix of packages that change.

    A package changes when one of its files does, or when it relates to exactly the version of one
    that changes, as -dbgsym and -dev packages do.
    """
    found: dict[tuple[str, str], str] = {}
    left = [one for one in all_of_them if suffix]
    wanted = [one for one in left if one.changed()]
    while wanted:
        for one in wanted:
            found[one.package.key] = fields.suffixed(one.package.version, suffix)
        left = [one for one in left if one.package.key not in found]
        wanted = [one for one in left if _related(one.package, found)]
    return found


def _related(package: Package, versions: Versions) -> bool:
    return fields.with_versions(package.control, versions) != package.control


def packed(unpacked: Unpacked, versions: Versions, epoch: int | None) -> bytes:
    """The package with the files that are others now; the original's bytes where nothing is.

    `versions` are those that change, of this package and others; `epoch` is the time (seconds since
    1970) that changed files get, None for that of the original.  Packed as the original was.
    """
    package, changed = unpacked.package, unpacked.changed()
    if not changed and package.key not in versions:
        return package.path.read_bytes()
    growth, sums, new = 0, dict[str, str](), dict[str, bytes]()
    told = unpacked.changelog and package.key in versions
    if changed or told:
        kind, data = package.member(DATA)
        out = _Packed(kind, f"{package.label}({DATA}{kind})")
        with (
            archive.opened(data, kind, out.label) as stream,
            members(stream, len(data), out.label) as inside,
        ):
            for path, entry in inside:
                content = inside.read(entry) if entry.isreg() else None
                if content is not None and path in changed:
                    made = changed[path].read_bytes()
                elif content is not None and told and path == changelog.place(package.name):
                    made = _with_entry(package, versions, content, entry.mtime, epoch)
                else:
                    out.add(entry, content)
                    continue
                growth += fields.kib(len(made)) - fields.kib(entry.size)
                sums[path] = hashlib.md5(made, usedforsecurity=False).hexdigest()
                _add_changed(out, entry, made, epoch)
        new[DATA] = out.done()
    text = fields.with_size(fields.with_versions(package.control, versions), growth)
    text = fields.with_value(text, "Version", versions.get(package.key, package.version))
    return _ar(package, {_CONTROL: _control(package, text, sums, epoch), **new})


def _with_entry(
    package: Package, versions: Versions, content: IO[bytes], time: float, epoch: int | None
) -> bytes:
    """The changelog with an entry for the new version, of the time that changed files get."""
    maintainer = fields.value(package.control, "Maintainer")
    told = changelog.NewVersion(
        versions[package.key], maintainer, int(time) if epoch is None else epoch
    )
    return changelog.with_entry(content.read(), told, package.label)


def _control(package: Package, text: str, sums: Mapping[str, str], epoch: int | None) -> bytes:
    """The control archive with another control file and sums; scripts, conffiles as they are."""
    kind, data = package.member(_CONTROL)
    out = _Packed(kind, f"{package.label}({_CONTROL}{kind})")
    with (
        archive.opened(data, kind, out.label) as stream,
        members(stream, len(data), out.label) as inside,
    ):
        for path, entry in inside:
            content = inside.read(entry) if entry.isreg() else None
            if content is None or path not in ("control", "md5sums"):
                out.add(entry, content)
            elif path == "control":
                new = text.encode("utf-8", "surrogateescape")
                _add_changed(out, entry, new, epoch)
            else:
                _add_changed(out, entry, fields.with_sums(content.read(), sums), epoch)
    return out.done()


def _add_changed(out: _Packed, entry: tarfile.TarInfo, content: bytes, epoch: int | None) -> None:
    entry.size = len(content)
    if epoch is not None:
        entry.mtime = epoch
    out.add(entry, io.BytesIO(content))


class _Packed:
    """A tar archive of GNU's format, as dpkg-deb writes it, packed in a way that deb(5) knows."""

    def __init__(self, kind: str, label: str) -> None:
        self.label, self.kind = label, kind
        self._buffer = io.BytesIO()
        self._stream = _packer(kind, self._buffer, label)
        self._tar = tarfile.open(  # noqa: SIM115  (closed by `done`)
            fileobj=self._stream, mode="w|", format=tarfile.GNU_FORMAT, encoding="utf-8",
            errors="surrogateescape",
        )  # fmt: skip

    def add(self, entry: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        """A member as it is in another archive."""
        self._tar.addfile(entry, content)

    def done(self) -> bytes:
        """The packed archive."""
        self._tar.close()
        if self._stream is not self._buffer:
            self._stream.close()
        return self._buffer.getvalue()


def _packer(kind: str, buffer: io.BytesIO, label: str) -> IO[bytes]:
    """A stream that packs into a buffer; dpkg-deb's own levels."""
    if kind == "":
        return buffer
    if kind == ".gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0))
    if kind == ".xz":
        return cast(IO[bytes], lzma.open(buffer, "wb", check=lzma.CHECK_CRC32, preset=6))
    if kind == ".zst":
        return archive.zstandard_writer(buffer, label)
    raise BadInput(f"{label}: packed in a way that dpkg-deb no longer writes", hint="repack it")


def _ar(package: Package, new: Mapping[str, bytes]) -> bytes:
    """The archive around the members (deb(5)), with the times of the original."""
    with package.path.open("rb") as file:
        file.seek(_FIRST + 16)
        time = file.read(12)
    out = bytearray(archive.ARCHIVE)
    for name, content in package.members:
        data = next((d for kind, d in new.items() if name.startswith(kind)), content)
        out += b"%-16s%s%-6d%-6d%-8s%-10d`\n" % (name.encode(), time, 0, 0, b"100644", len(data))
        out += data + b"\n" * (len(data) % 2)
    return bytes(out)


def file_name(package: Package, versions: Versions) -> str:
    """The file's name, with the new version where the old one stands in it.

    dpkg-deb leaves the epoch out of it; apt writes its colon as `%3a`.
    """
    old, new = package.version, versions.get(package.key, package.version)
    for colon in ("%3a", "%3A", ":"):
        name, ended, rest = package.path.name.partition(f"_{old.replace(':', colon)}_")
        if old and ended:
            return f"{name}_{new.replace(':', colon)}_{rest}"
    old, new = (version.partition(":")[2] or version for version in (old, new))
    name, ended, rest = package.path.name.partition(f"_{old}_")
    return f"{name}_{new}_{rest}" if old and ended else package.path.name


def warning(package: Package, versions: Versions) -> str:
    """What who installs a package with its new version must know; empty where that is nothing."""
    if package.key not in versions or fields.value(package.control, "Multi-Arch") != "same":
        return ""
    return (
        f"{package.name} is Multi-Arch: same: beside {versions[package.key]} no other"
        " architecture's package can be installed that has not this version, too"
    )
