"""Our own tuned routines: assembly text, one file each, assembled by our own encoder.

`itanium2/NAME.s` is made for an Itanium 2; `.include NAME` stands for the text of another.  The
entry is the label with the routine's name; a routine stands anywhere on a 64-byte boundary: it
does not depend on its address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rewriter.core.groups import Slot
from targets.ia64 import bundles
from targets.ia64.assembler import assemble

ALIGNMENT = 64  # bytes
FOLDER = "itanium2"
_HERE = Path(__file__).parent
_INCLUDE = re.compile(r"^\s*\.include\s+(\w+).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Routine:
    """Assembled: `entry` counts from the first byte of `code`."""

    name: str
    folder: str
    text: str
    code: bytes
    entry: int

    def slots(self) -> list[Slot]:
        """Its instructions, as if it stood at address 0."""
        return list(bundles.straight(self.code, 0))


def names() -> tuple[str, ...]:
    """All routines there are."""
    return tuple(sorted(path.stem for path in (_HERE / FOLDER).glob("*.s")))


@cache
def routine(name: str) -> Routine:
    """The routine of that name; FileNotFoundError when there is none."""
    text = _text(name)
    result = assemble(text)
    assert assemble(text, ALIGNMENT).code == result.code, f"{name} depends on its address"
    return Routine(name, FOLDER, text, result.code, result.labels[name])


def _text(name: str) -> str:
    text = (_HERE / FOLDER / f"{name}.s").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda match: _text(match[1]), text)
