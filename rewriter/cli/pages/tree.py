"""Manual pages of a command and of all below it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rewriter.cli.pages import roff


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
