"""Assembly text as statements: inclusions, labels, constants, and numbers in place of names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r"#.*")
_INCLUDE = re.compile(r"\.include\s+(\w+)")
_LABEL = re.compile(r"([A-Za-z_][\w$]*):\s*")
_BIT = re.compile(r"4\*cr[0-7]\+(?:lt|gt|eq|so)")
_NAME = re.compile(r"[A-Za-z_.][\w$]*")
_CONDITIONS = frozenset({"lt", "gt", "eq", "so", "un", *(f"cr{field}" for field in range(8))})
"""Names that stay: fields of the condition register and their bits."""
_REGISTERS = frozenset(
    {*(f"{file}{n}" for file in ("r", "f", "v") for n in range(32)), *(f"vs{n}" for n in range(64))}
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One line's instruction or directive, without its comment, and where it stands."""

    file: str
    line: int
    text: str

    @property
    def mnemonic(self) -> str:
        """The first word."""
        return self.text.partition(" ")[0]

    @property
    def operands(self) -> str:
        """What follows the first word."""
        return self.text.partition(" ")[2]


def statements(text: str, file: str, *folders: Path) -> Iterator[Statement]:
    """The statements of a text; `.include NAME` stands for those of the first NAME.s in `folders`.

    A label is a statement of its own, with its colon.  Raises FileNotFoundError.
    """
    for number, line in enumerate(text.splitlines(), 1):
        rest = " ".join(_COMMENT.sub("", line).split())
        while label := _LABEL.match(rest):
            yield Statement(file, number, f"{label[1]}:")
            rest = rest[label.end() :]
        if included := _INCLUDE.fullmatch(rest):
            path = _found(included[1], folders)
            yield from statements(path.read_text(encoding="utf-8"), path.name, *folders)
        elif rest:
            yield Statement(file, number, rest)


def _found(name: str, folders: tuple[Path, ...]) -> Path:
    paths = [folder / f"{name}.s" for folder in folders]
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        raise FileNotFoundError(f"there is no {name}.s to include")
    return found


def is_register(name: str) -> bool:
    """Whether a name is a register's, which no label may have."""
    return name in _REGISTERS or name in _CONDITIONS


def valued(operands: str, symbols: Mapping[str, int]) -> str:
    """Operands with the numbers of sums and symbols; names of registers and bits stay.

    ValueError for a name that is not defined.
    """
    parts = re.split(r"([,()])", operands.replace(" ", ""))
    return "".join(part if _stays(part) else str(value(part, symbols)) for part in parts)


def _stays(part: str) -> bool:
    return not part or part in ",()" or is_register(part) or bool(_BIT.fullmatch(part))


def value(text: str, symbols: Mapping[str, int]) -> int:
    """A sum of numbers and symbols."""
    terms = re.findall(r"\s*([+-]?)\s*([\w$.]+)", text)
    if not terms or "".join(sign + term for sign, term in terms) != re.sub(r"\s", "", text):
        raise ValueError(f"{text!r} is no value")
    total = 0
    for sign, term in terms:
        found = symbols.get(term) if _NAME.fullmatch(term) else int(term, 0)
        if found is None:
            raise ValueError(f"{term} is not defined")
        total += -found if sign == "-" else found
    return total
