"""The group of all commands: how every one of them ends."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import click

from rewriter.core.errors import RetuneError
from rewriter.core.garbage import seldom_collected

INTERRUPTED = 128 + 2
BROKEN_PIPE = 128 + 13
"""A shell's numbers for SIGINT and SIGPIPE: not one of ours, so a script sees the difference."""


class Retune(click.Group):
    """Turns what a user can act on into one line on stderr and an exit status."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with seldom_collected():  # imports and tables make much that stays
                result = super().invoke(ctx)
            # What is still in the buffer may meet a closed pipe too, and then nobody listens.
            sys.stdout.flush()
            return result
        except RetuneError as error:
            click.echo(f"retune: {' '.join(str(error).split())}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("retune: interrupted; nothing is half written", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _close_quietly()
            ctx.exit(BROKEN_PIPE)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of use, not of the alphabet."""
        return list(self.commands)


def _close_quietly() -> None:
    """Let the interpreter flush at its end into nothing, instead of failing again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
