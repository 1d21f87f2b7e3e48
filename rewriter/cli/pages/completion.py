"""`retune completion`, and what a shell completes: names of CPUs, passes and assumptions."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
)

PLACES = {
    "bash": "bash-completion/completions/retune",
    "zsh": "zsh/site-functions/_retune",
    "fish": "fish/vendor_completions.d/retune.fish",
}
"""By shell, the file below share/ in which it looks for the completion of a command."""


class _Fish(FishComplete):
    """Fish, of which Click's script takes a list a,b for two things."""

    source_template = FishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    )


def script(shell: str, command: click.Command) -> str:
    """What a shell has to read to complete `retune`."""
    kinds: dict[str, type[ShellComplete]]
    kinds = {"bash": BashComplete, "zsh": ZshComplete, "fish": _Fish}
    writer = kinds[shell](command, {}, "retune", "_RETUNE_COMPLETE")
    # Not `source`, which asks the bash of this machine for its version.
    return writer.source_template % writer.source_vars()


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(tuple(PLACES)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes retune in SHELL.

    It completes commands, options, CPUs and passes in bash, zsh or fish. A wheel installs the
    same below share/, where a system's shells look by themselves; in a virtual environment they
    do not.

    \b
    Examples:
      retune completion bash > ~/.local/share/bash-completion/completions/retune
      eval "$(retune completion zsh)"
      retune completion fish > ~/.config/fish/completions/retune.fish

    Exit status: 0 done, 2 bad usage.
    """
    click.echo(script(shell, ctx.find_root().command))


def cpus(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The CPUs of all targets, with the chip of each."""
    import targets

    found = {n: t.cpus[n].description for t in targets.every() for n in t.cpus}
    return [
        CompletionItem(name, help=chip)
        for name, chip in found.items()
        if name.startswith(incomplete.casefold())
    ]


def passes(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The last name of a list of passes."""
    import passes

    return _listed(passes.names(), incomplete)


def assumptions(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The last name of a list of assumptions."""
    from rewriter.core.assumptions import EVERY

    return _listed(sorted(EVERY), incomplete)


def _listed(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Lists a,b,... with one of the names in place of what stands behind the last comma."""
    before, comma, last = incomplete.rpartition(",")
    given, alone = before.split(","), () if comma else ("all", "none")
    left = (n for n in (*names, *alone) if n not in given and n.startswith(last))
    return [CompletionItem(f"{before}{comma}{name}") for name in left]
