"""Debian packages made by hand, as deb(5) says: the good ones and the hostile."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

FILE, DIR, SYM, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
CONTROL = (
    b"Package: p\nVersion: 1:2-3\nArchitecture: alpha\nInstalled-Size: 10\n"
    b"Maintainer: m <m@example.org>\nDescription: d\n"
)
Entry = tuple[str, bytes, bytes | str]
"""A member: name, type, and content or where a link leads."""


def ar(*members: tuple[str, bytes]) -> bytes:
    """An archive of some members."""
    out = b"!<arch>\n"
    for name, data in members:
        out += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name.encode(), 0, 0, 0, b"100644", len(data))
        out += data + b"\n" * (len(data) % 2)
    return out


def tar(*entries: Entry) -> bytes:
    """A tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as out:
        for name, kind, inside in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = kind, 0o755
            if isinstance(inside, str):
                entry.linkname = inside
                out.addfile(entry)
            else:
                entry.size = len(inside)
                out.addfile(entry, io.BytesIO(inside))
    return buffer.getvalue()


def package(path: Path, *entries: Entry, more: Sequence[Entry] = (), name: str = "p") -> Path:
    """A package with these files, not compressed; `more` are members of its control archive."""
    text = CONTROL.replace(b"Package: p", f"Package: {name}".encode())
    controls = tar(("./", DIR, b""), ("./control", FILE, text), *more)
    members = (("debian-binary", b"2.0\n"), ("control.tar", controls), ("data.tar", tar(*entries)))
    path.write_bytes(ar(*members))
    return path
