"""What the assemblers of all targets share: what they make, what is wrong, texts that include."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROUTINE_ALIGNMENT = 64  # bytes: where a tuned routine may stand
_INCLUDE = re.compile(r"^\s*\.include\s+(\w+).*$", re.MULTILINE)


class AssemblyError(ValueError):
    """Assembly text that means nothing; `line` counts from one in `file`, if it has a name."""

    def __init__(self, line: int, text: str, problem: str, file: str = "") -> None:
        place = f"{file}, line {line}" if file else f"line {line}"
        super().__init__(f"{place}: {problem}: {text.strip()}")
        self.file = file
        self.line = line
        self.text = text
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Assembled:
    """The bytes, to be put at `base`, and the addresses of the labels."""

    code: bytes
    base: int
    labels: dict[str, int]


def summed(text: str, here: int, symbols: Mapping[str, int], term: re.Pattern[str]) -> int:
    """A sum of numbers and names, of which `.` is `here`; ValueError where it is none.

    `term` matches a sign, or nothing, and then a number or a name.
    """
    at, total = 0, 0
    while (match := term.match(text, at)) and (not at or match[1]):
        name = match[2]
        if name == ".":
            value = here
        elif name[0].isdigit():
            value = int(name, 0)
        elif name in symbols:
            value = symbols[name]
        else:
            raise ValueError(f"{name} is not defined")
        total += -value if match[1] == "-" else value
        at = match.end()
    if at == 0 or text[at:].strip():
        raise ValueError(f"{text!r} is no value")
    return total


def included(text: str, *folders: Path) -> str:
    """The text with `NAME.s` in place of each `.include NAME`, from the first folder with it."""

    def body(match: re.Match[str]) -> str:
        paths = [folder / f"{match[1]}.s" for folder in folders]
        path = next((path for path in paths if path.is_file()), paths[-1])
        return included(path.read_text(encoding="utf-8"), *folders)

    return _INCLUDE.sub(body, text)
