"""The CPU of the machine that retune runs on, as Linux names it in /proc/cpuinfo."""

from __future__ import annotations

import contextlib
import platform
import re
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
NATIVE = "native"
_FIELDS = ("cpu model", "model name", "cpu")
"""Where Linux has the name: on Alpha; on IA-64 and x86; on PowerPC, and on Alpha `Alpha`."""
_ADDED = re.compile(r" *(?:\(.*\)|, altivec supported) *")


def cpu() -> str:
    """The name of this machine's CPU; the kind of machine where Linux does not name it."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines():
            key, colon, value = line.partition(":")
            if colon and value.strip():
                found.setdefault(key.strip(), value.strip())
    return next((found[key] for key in _FIELDS if key in found), platform.machine())


def plain(name: str) -> str:
    """A name without what Linux adds to it: `POWER9 (architected), altivec supported`."""
    return _ADDED.sub("", name).strip()
