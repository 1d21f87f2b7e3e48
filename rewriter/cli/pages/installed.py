"""Manual pages and completion scripts as files, where a system looks for them below share/.

`python -m rewriter.cli.pages.installed DIR` writes them below DIR; a build runs it for a wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rewriter.cli import main
from rewriter.cli.pages import completion, tree


def files(version: str) -> dict[str, str]:
    """The content of every file by its path below share/."""
    found = {f"man/man1/{name}.1": text for name, text in tree.pages(main, version).items()}
    return found | {
        path: completion.script(shell, main) for shell, path in completion.PLACES.items()
    }


def write(folder: Path, version: str) -> None:
    """Writes the files below a folder."""
    for path, text in files(version).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
