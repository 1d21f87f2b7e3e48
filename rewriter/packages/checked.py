"""A package that was packed, read again before it gets its name: by dpkg-deb and by its sums."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from rewriter.core.errors import VerificationFailed
from rewriter.elf.archive import members as archive
from rewriter.packages import control as fields
from rewriter.packages import debian
from rewriter.packages.tarball import members

TOOL = "dpkg-deb"


def check(path: Path, unpacked: debian.Unpacked, versions: debian.Versions) -> None:
    """VerificationFailed where dpkg-deb cannot read a package, or its check sums are not true."""
    label, new = unpacked.package.label, debian.read(path)
    expected = versions.get(unpacked.package.key, unpacked.package.version)
    if (new.name, new.version) != (unpacked.package.name, expected):
        raise VerificationFailed(f"{label}: packed as {new.name} {new.version}")
    _sums(new, unpacked, label)
    if shutil.which(TOOL) is not None:
        _read_by_tool(path, label)


def _sums(new: debian.Package, unpacked: debian.Unpacked, label: str) -> None:
    """The files that changed are those that were retuned, with the sums that the package lists."""
    listed = fields.sums(debian.control_file(new, "md5sums"))
    changed = unpacked.changed()
    kind, packed = new.member(debian.DATA)
    with (
        archive.opened(packed, kind, label) as stream,
        members(stream, len(packed), label) as inside,
    ):
        for path, entry in inside:
            if path not in changed or not entry.isreg():
                continue
            content = inside.read(entry).read()
            same = content == changed[path].read_bytes()
            found = hashlib.md5(content, usedforsecurity=False).hexdigest()
            if not same or listed.get(path, found) != found:
                raise VerificationFailed(f"{label}: {path} is not packed as it was retuned")


def _read_by_tool(path: Path, label: str) -> None:
    """Both archives as dpkg-deb sees them."""
    for what in ("--info", "--contents"):
        done = subprocess.run((TOOL, what, path), capture_output=True, text=True, check=False)
        if done.returncode:
            said = " ".join(done.stderr.split())
            raise VerificationFailed(f"{label}: {TOOL} {what} refuses what was packed: {said}")
