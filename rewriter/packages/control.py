"""What a package's control archive says, and the same with what is true of other files.

deb-control(5): fields begin a line, further lines of a field begin with a space.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rewriter.core.errors import BadInput, BadUsage

SUFFIX = re.compile(r"[A-Za-z0-9.+~]+")
"""What may be added to a version (deb-version(7)); no hyphen, which would begin a revision."""
_FIELD = r"(?im)^{}:[ \t]*(.*)$"


def value(control: str, field: str) -> str:
    """The first line of a field; empty where it is not there."""
    found = re.search(_FIELD.format(re.escape(field)), control)
    return found[1].strip() if found else ""


def with_value(control: str, field: str, new: str) -> str:
    """The text with another value of a field that it has."""
    form = re.compile(rf"(?im)^({re.escape(field)}):.*$")
    return form.sub(lambda found: f"{found[1]}: {new}", control, count=1)


def suffixed(version: str, suffix: str) -> str:
    """A version with something behind it; one that has it already stays."""
    return version if version.endswith(suffix) else version + suffix


def check_suffix(suffix: str) -> str:
    """A suffix that versions may have; BadUsage for another."""
    if suffix and not SUFFIX.fullmatch(suffix):
        raise BadUsage(
            f"--version-suffix {suffix}: no end of a version",
            hint="letters, digits, and . + ~, as in +ev67",
        )
    return suffix


def with_versions(control: str, versions: Mapping[tuple[str, str], str]) -> str:
    """The text with relations to exactly a version, `name (= old)`, to the new one.

    `versions` has the new version for name and old version.
    """

    def related(found: re.Match[str]) -> str:
        new = versions.get((found["name"], found["version"]), found["version"])
        return f"{found['before']}{new}{found['after']}"

    return _RELATIONS.sub(lambda fields: _EXACT.sub(related, fields[0]), control)


_RELATIONS = re.compile(
    r"(?im)^(?:Depends|Pre-Depends|Recommends|Suggests|Enhances|Breaks|Conflicts|Replaces)"
    r":.*(?:\n[ \t].*)*"
)
_EXACT = re.compile(
    r"(?P<before>(?<![\w.+-])(?P<name>[a-z0-9][a-z0-9.+-]*)(?::[a-z0-9-]+)?\s*\(\s*=\s*)"
    r"(?P<version>[^\s)]+)(?P<after>\s*\))"
)


def with_size(control: str, growth: int) -> str:
    """The text with an Installed-Size (KiB) that is larger by `growth`."""
    before = value(control, "Installed-Size")
    if not before or not growth:
        return control
    if not before.isdigit() or len(before) > 15:
        raise BadInput(f"Installed-Size is {before[:40]!r}, no number")
    return with_value(control, "Installed-Size", str(max(int(before) + growth, 0)))


def kib(size: int) -> int:
    """What a file of so many bytes adds to Installed-Size, as dpkg-gencontrol counts."""
    return -(-size // 1024)


def with_sums(md5sums: bytes, sums: Mapping[str, str]) -> bytes:
    """The check sums with those of some files, by path, replaced."""
    lines = md5sums.split(b"\n")
    for number, line in enumerate(lines):
        digest, gap, path = line[:32], line[32:34], line[34:]
        name = path.decode("utf-8", "surrogateescape").removeprefix("./")
        if gap in (b"  ", b" *") and len(digest) == 32 and name in sums:
            lines[number] = sums[name].encode() + gap + path
    return b"\n".join(lines)


def sums(md5sums: bytes) -> dict[str, str]:
    """The check sums that are listed, by path."""
    rows = (line.partition("  ") for line in md5sums.decode("utf-8", "surrogateescape").split("\n"))
    return {path.removeprefix("./"): digest for digest, gap, path in rows if gap}


def conffiles(text: str) -> frozenset[str]:
    """Paths of conffiles, without the slash in front; flags as `remove-on-upgrade` are none."""
    names = (line.split()[-1] for line in text.splitlines() if line.strip())
    return frozenset(name.removeprefix("/") for name in names)
