"""How much memory the machine gives, and how much a file takes; all in bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

MB = 1 << 20

_SHARE = 0.8
"""Part of what is there that a run takes: the rest is for the system and for what grows."""

_PROCESS, _SMALL, _LARGE, _BIT = 200 * MB, 120, 50, 4 * MB
"""What a process takes before a file, for each of a file's first `_BIT` bytes, and each further.

Measured (peak resident memory, one process, patch and verify): Alpha libm 0.8 MB 146 MB, Alpha libc
2.1 MB 429 MB, IA-64 libsigar 0.5 MB 189 MB, IA-64 libc 3.6 MB 634 MB,
Alpha kernel 11.3 MB 848 MB.
"""


def estimate(size: int) -> int:
    """Memory that a process takes for a file of `size` bytes."""
    return _PROCESS + _SMALL * min(size, _BIT) + _LARGE * max(0, size - _BIT)


def limit(root: Path = Path("/")) -> int:
    """Memory that all processes of a run may take together: of the machine and its control groups.

    `root` is where `proc` and `sys` are.
    """
    found = [free for free in (_machine(root), *_groups(root)) if free is not None]
    return int(min(found) * _SHARE) if found else 2048 * MB


def resident(process: int) -> int:
    """Memory that a process takes; 0 where it is gone."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text("ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _machine(root: Path) -> int | None:
    """What /proc/meminfo says is available."""
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _groups(root: Path) -> Iterator[int]:
    """What the control groups of this process leave; a limit of any group above counts as well."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if not names:
            top, most, used = root / "sys/fs/cgroup", "memory.max", "memory.current"
        elif "memory" in names.split(","):
            top = root / "sys/fs/cgroup/memory"
            most, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        folder = top / path.lstrip("/")
        for group in (folder, *folder.parents):
            if group == top or top in group.parents:
                given, taken = _number(group / most), _number(group / used)
                if given is not None and taken is not None:
                    yield max(0, given - taken + _cached(group))


def _cached(group: Path) -> int:
    """Memory of a group that holds parts of files and is given back when it is needed."""
    for line in _text(group / "memory.stat").splitlines():
        name, _, number = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(number)
    return 0


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
