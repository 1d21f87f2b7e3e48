"""A command of Click as a manual page, in the man(7) macros that groff and mandoc read."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Sequence

import click

_HEADINGS = {"Examples:": "EXAMPLES", "Exit status:": "EXIT STATUS"}
"""Paragraphs of a help text that have a section of their own in the page."""


def page(ctx: click.Context, version: str, others: Sequence[str]) -> str:
    """The page of the command of a context; `others` are the pages to name under SEE ALSO."""
    command, name = ctx.command, page_name(ctx)
    lines = [f'.TH "{name.upper()}" "1" "" "retune {version}" "User Commands"', ".SH NAME"]
    lines += [f"{escaped(name)} \\- {escaped(_summary(command))}", ".SH SYNOPSIS"]
    lines += [
        f".B {escaped(ctx.command_path)}",
        escaped(" ".join(command.collect_usage_pieces(ctx))),
    ]
    described, apart = _parted(inspect.cleandoc(command.help or ""))
    lines += [".SH DESCRIPTION", *_paragraphs(described)]
    if isinstance(command, click.Group):
        lines += [".SH COMMANDS", *_commands(command, ctx)]
    lines += [".SH OPTIONS", *_options(command, ctx)]
    for heading, paragraphs in apart.items():
        lines += [f".SH {heading}", *_paragraphs(paragraphs)]
    lines += [".SH SEE ALSO", *_see_also(others)]
    return "\n".join(lines) + "\n"


def page_name(ctx: click.Context) -> str:
    """The name of a command's page: `retune-signatures-make`."""
    return ctx.command_path.replace(" ", "-")


def escaped(text: str) -> str:
    """Text of which roff takes nothing for a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


def _summary(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").split("\n\n")[0].replace("\n", " ").rstrip(".")


def _parted(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """The paragraphs of a help text, and those that have a section of their own by its heading."""
    described, apart = list[str](), dict[str, list[str]]()
    for paragraph in text.split("\n\n"):
        bare = paragraph.removeprefix("\b\n")
        heading = next((given for given in _HEADINGS if bare.startswith(given)), None)
        if heading is None:
            described.append(paragraph)
            continue
        rest = inspect.cleandoc(bare.removeprefix(heading).strip("\n"))
        # What stands in the line of its heading is running text.
        mark = "\b\n" if bare.startswith(f"{heading}\n") else ""
        apart[_HEADINGS[heading]] = [f"{mark}{rest}"]
    return described, apart


def _paragraphs(paragraphs: Sequence[str]) -> Iterator[str]:
    """Paragraphs, of which those marked for Click to leave alone keep their lines."""
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        if paragraph.startswith("\b\n"):
            yield from (".nf", *map(escaped, paragraph[2:].split("\n")), ".fi")
        else:
            yield from _filled(paragraph)


def _filled(text: str) -> Iterator[str]:
    """Running text in lines that a terminal holds."""
    yield from map(escaped, textwrap.wrap(text, 70, break_on_hyphens=False))


def _options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None and isinstance(parameter, click.Option):
            yield from (".TP", f".B {escaped(record[0])}", *_filled(record[1]))


def _commands(group: click.Group, ctx: click.Context) -> Iterator[str]:
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        yield from (".TP", f".B {escaped(name)}", *_filled(f"{_summary(command)}."))


def _see_also(names: Sequence[str]) -> Iterator[str]:
    for number, name in enumerate(names):
        comma = " ," if number < len(names) - 1 else ""
        yield f".BR {escaped(name)} (1){comma}"
