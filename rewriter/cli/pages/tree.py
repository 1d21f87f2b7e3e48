"""Manual pages and completion scripts as files, where a system looks for them below share/.

`python -m rewriter.cli.pages.tree DIR` writes them below DIR; setup runs it when a wheel is made.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rewriter.cli.pages import completion, roff


def contexts(
    command: click.Command, parent: click.Context | None = None
) -> Iterator[click.Context]:
    """The context of a command and of all below it, as if each was called."""
    name = "retune" if parent is None else command.name
    ctx = click.Context(command, parent=parent, info_name=name, **command.context_settings)
    yield ctx
    if isinstance(command, click.Group):
        for below in command.list_commands(ctx):
            found = command.get_command(ctx, below)
            assert found is not None
            yield from contexts(found, ctx)


def pages(command: click.Command, version: str) -> dict[str, str]:
    """The manual page of a command and of all below it, by name."""
    every = list(contexts(command))
    names = [roff.page_name(ctx) for ctx in every]
    return {
        name: roff.page(ctx, version, [other for other in names if other != name])
        for name, ctx in zip(names, every, strict=True)
    }


def files(version: str) -> dict[str, str]:
    """The content of every file by its path below share/."""
    from rewriter.cli import main

    found = {f"man/man1/{name}.1": text for name, text in pages(main, version).items()}
    return found | {path: completion.script(shell) for shell, path in completion.PLACES.items()}


def write(folder: Path, version: str) -> None:
    """Writes the files below a folder."""
    for path, text in files(version).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
