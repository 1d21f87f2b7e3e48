"""`retune --version`: retune, Python, the libraries that a result depends on, what is compiled."""

from __future__ import annotations

import platform

import click

LIBRARIES = ("lief", "numpy", "z3-solver", "ortools", "click", "rich")
"""The distributions of setup.cfg that retune runs on."""


def shown(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Prints the versions and ends."""
    if not wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    from rewriter.core.compiled import FINDER

    def of(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    click.echo(f"retune {of('retune')}")
    click.echo(f"Python {platform.python_version()} on {platform.machine()}")
    for name in LIBRARIES:
        click.echo(f"{name} {of(name)}")
    click.echo(f"modules: {FINDER.state}")
    ctx.exit()


VERSION = click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=shown,
    help="Show the versions of retune and its libraries, and whether modules are compiled.",
)
