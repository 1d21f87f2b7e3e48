"""The code blocks of a page in Markdown: what is typed, what comes out, and who tests it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block, and the comment in front of it: `needs A B` or `tested by TEST`."""

    page: str
    line: int
    language: str
    text: str
    comment: str

    @property
    def needs(self) -> list[str]:
        """What has to be in the folder before."""
        return self.comment.split()[1:] if self.comment.startswith("needs ") else []

    @property
    def tested_by(self) -> str:
        """The test that does the same, as pytest names it."""
        return self.comment.removeprefix("tested by ") if "tested by " in self.comment else ""

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """Each command of a session with the lines that it prints; `...` stands for any lines."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> "):
                found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
            else:
                found[-1][1].append(line)
        return found

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(path: Path) -> list[Block]:
    """The blocks of a page."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(path.name, text[: m.start(2)].count("\n") + 1, m[2], m[3], m[1] or "")
        for m in _BLOCK.finditer(text)
    ]


def agrees(expected: list[str], printed: str) -> bool:
    """Whether a command printed what the page says."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in expected
    )
    return re.fullmatch(pattern, printed) is not None
