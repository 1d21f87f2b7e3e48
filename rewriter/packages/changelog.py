"""An entry more in a package's changelog, as policy 4.4 and deb-changelog(5) form it."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from dataclasses import dataclass
from email.utils import formatdate

from rewriter.core.errors import BadInput

LARGEST = 1 << 24
"""Bytes that a changelog may have."""
_FIRST = re.compile(rb"(?P<source>[a-z0-9][a-z0-9.+-]*) \([^()\s]+\) (?P<suite>[^;\n]+);")
TEXT = "Retuned to the CPU that runs it by retune; the source is unchanged."


@dataclass(frozen=True)
class NewVersion:
    """What an entry says: the version, who is told of errors, and when, in seconds since 1970."""

    version: str
    maintainer: str
    time: int

    def entry(self, source: str, suite: str) -> str:
        """The entry, for the source package and the suite of the one before."""
        date = formatdate(self.time)[:-5] + "+0000"
        head = f"{source} ({self.version}) {suite}; urgency=medium"
        return f"{head}\n\n  * {TEXT}\n\n -- {self.maintainer}  {date}\n\n"


def place(package: str) -> str:
    """Where a package has its changelog."""
    return f"usr/share/doc/{package}/changelog.Debian.gz"


def with_entry(packed: bytes, new: NewVersion, label: str) -> bytes:
    """A packed changelog with one more entry; as it is where it does not begin with an entry."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            text = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{label}: the changelog cannot be unpacked: {error}") from error
    if len(text) > LARGEST:
        raise BadInput(f"{label}: the changelog has more than {LARGEST} bytes")
    first = _FIRST.match(text)
    if first is None:
        return packed
    entry = new.entry(first["source"].decode(), first["suite"].decode("utf-8", "surrogateescape"))
    return gzip.compress(entry.encode("utf-8", "surrogateescape") + text, 9, mtime=0)
