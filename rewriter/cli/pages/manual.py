"""`retune manual`: the manual page of a command."""

from __future__ import annotations

import click

from rewriter.cli.pages import tree


@click.command()
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def manual(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Print the manual page of COMMAND.

    Without COMMAND it is the page of retune itself. It is written for man to show.
    A wheel installs the same pages below share/man, where man looks if that is on its path.

    \b
    Examples:
      retune manual patch | man -l -
      retune manual signatures make > retune-signatures-make.1

    Exit status: 0 done, 2 bad usage (no such command).
    """
    from rewriter.core.errors import BadUsage
    from rewriter.elf.manifest import version

    pages = tree.pages(ctx.find_root().command, version())
    name = "-".join(("retune", *words))
    if name not in pages:
        known = ", ".join(page.removeprefix("retune-") for page in pages if page != "retune")
        raise BadUsage(f"{' '.join(words)}: no such command", hint=f"known: {known}")
    click.echo(pages[name], nl=False)
