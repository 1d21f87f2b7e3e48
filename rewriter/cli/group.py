"""The group of all commands: how every one of them ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

from rewriter.cli import show
from rewriter.core.errors import OutOfResources, RetuneError
from rewriter.core.run.garbage import seldom_collected
from rewriter.core.run.interrupts import SAID, Interrupted

BROKEN_PIPE = 128 + signal.SIGPIPE
"""A shell's number for it: not one of ours, so a script sees the difference."""
INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits.h: an error in retune itself."""


class Retune(click.Group):
    """Turns whatever may happen into one line on stderr and an exit status."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; ends the process unless `standalone_mode` is false."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        _open_standard_files()
        status = self._status(args, prog_name, complete_var, **extra)
        _settle()
        sys.exit(status)

    def _status(
        self,
        args: Sequence[str] | None,
        prog_name: str | None,
        complete_var: str | None,
        **extra: Any,
    ) -> int:
        try:
            status = super().main(args, prog_name, complete_var, False, **extra)
            # What is still in the buffer may meet a closed pipe or a full disk, too.
            with show.printing():
                pass
            return status if isinstance(status, int) else 0
        except click.ClickException as error:
            _usage(error)
            return error.exit_code
        except RetuneError as error:
            _say(str(error))
            return error.exit_code
        except Interrupted as error:
            _say(SAID.removeprefix("retune: "))
            return error.status
        except BrokenPipeError:
            return BROKEN_PIPE
        except SystemExit as ended:  # after a shell's completion; or where help meets a closed pipe
            return BROKEN_PIPE if ended.code else 0
        except MemoryError:
            _say("not enough memory")
            return OutOfResources.exit_code
        except OSError as error:
            where = f"{error.filename}: " if error.filename is not None else ""
            _say(f"{where}{error.strerror or error}")
            return OutOfResources.exit_code
        except Exception as error:
            from rewriter.core.run.guard import is_strict

            if is_strict():
                raise
            _internal(error)
            return INTERNAL_ERROR

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with seldom_collected():  # imports and tables make much that stays
                return super().invoke(ctx)
        except BrokenPipeError:
            ctx.exit(BROKEN_PIPE)
        except KeyboardInterrupt as error:  # to which Click would print an empty line
            raise Interrupted(signal.SIGINT) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of use, not of the alphabet."""
        return list(self.commands)


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        click.echo(f"retune: {' '.join(text.split())}", err=True)


def _usage(error: click.ClickException) -> None:
    """A command line that cannot be followed, in one line; help where there is none."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    said = error.format_message()
    if context is None or said == context.get_help():
        click.echo(said, err=True)
        return
    _, _, command = context.command_path.partition(" ")
    where = f"{command}: " if command else ""
    _say(f"{where}{said.rstrip('.')} (see {context.command_path} --help)")


def _internal(error: Exception) -> None:
    """An error that nobody foresaw: which, where, and how to report it."""
    import traceback

    from rewriter.core.run.guard import TRACEBACK, reason, show_traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno}"
    show_traceback(error)
    _say(
        f"{reason(f'retune at {place}', error)} (please report it with the command and its"
        f" input; {TRACEBACK}=1 shows where it happened)"
    )


def _open_standard_files() -> None:
    """Open those of standard input, output and error that are closed: else the first file that is
    opened would take the place, and what a library prints would go into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _settle() -> None:
    """Nothing is left in the buffer that the interpreter would complain about at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        _close_quietly()


def _close_quietly() -> None:
    """Let the interpreter flush at its end into nothing, instead of failing again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
