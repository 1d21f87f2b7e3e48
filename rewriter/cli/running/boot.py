"""`retune difftest boot`: two kernels booted with one initial file system."""

from __future__ import annotations

from pathlib import Path

import click

from rewriter.cli import show
from rewriter.cli.options import PATH, View, viewing
from rewriter.cli.running.testing import JUNIT, written
from rewriter.core.errors import BadUsage, VerificationFailed


@click.command()
@click.option(
    "--kernel",
    "kernels",
    metavar="FILE",
    type=PATH,
    multiple=True,
    required=True,
    help="vmlinux or vmlinux.gz; given twice: OLD, then NEW.",
)
@click.option("--initrd", metavar="FILE", type=PATH, required=True, help="With an /init.")
@click.option("--cpu", "name", metavar="NAME", help="The CPU to emulate.")
@click.option(
    "--firmware", metavar="FILE", type=PATH, help="For CPUs that the packaged is not for."
)
@click.option("--machine", metavar="NAME", help="The machine, by the emulator's name.")
@click.option("--memory", metavar="MIB", type=click.IntRange(16), help="Memory of the machine.")
@click.option("--append", metavar="TEXT", default="", help="More for the kernel's command line.")
@click.option(
    "--timeout",
    "limit",
    metavar="S",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds for OLD; NEW gets at most five times what OLD took, or 30.",
)
@JUNIT
@viewing
def boot(
    kernels: tuple[Path, ...],
    initrd: Path,
    name: str | None,
    firmware: Path | None,
    machine: str | None,
    memory: int | None,
    append: str,
    limit: float,
    junit: Path | None,
    view: View,
) -> None:
    """Boot OLD and NEW with one initial file system and compare.

    The /init in it says what is tested: it runs what it likes, prints what came out, and powers
    off. The consoles must then be the same, line by line; what depends on time or on where code
    lies is masked (-v lists the rules that applied). A kernel that does not power off by itself
    has failed. Executed instructions are counted by a plugin that is compiled with cc: kernel
    (what only waits apart), user and firmware.

    The firmware that is packaged with the emulator may run only on some CPUs (of the Alphas, on
    ev67); with --firmware any that the emulator has can be named by --cpu.

    \b
    Examples:
      retune difftest boot --kernel vmlinux --kernel vmlinux.ev67 --initrd test.cpio
      retune difftest boot --kernel a.gz --kernel b.gz --initrd test.cpio --append maxcpus=1
      retune difftest boot --kernel a --kernel b --initrd c --cpu ev6 --firmware palcode-ev6
      retune difftest boot --json --kernel a --kernel b --initrd c | jq .new.executed.kernel

    Exit status: 0 both do the same, 1 they differ, 2 bad usage, 3 bad input.
    """
    from rewriter.api import difftest as tests
    from rewriter.difftest.boot.compare import rules
    from rewriter.report.boot import Booted

    if len(kernels) != 2:
        times = "once" if len(kernels) == 1 else f"{len(kernels)} times"
        raise BadUsage(f"--kernel is given {times}", hint="name OLD, then NEW")
    with show.progress() as progress:
        found, boots = tests.boot(
            kernels[0],
            kernels[1],
            initrd,
            cpu=name,
            firmware=firmware,
            machine=machine,
            memory=memory,
            append=append,
            limit=limit,
            progress=progress,
        )
    report = Booted(found, rules(boots))
    written(junit, report.comparison, kernels[0])
    show.result(report, view)
    if not found.same:
        raise VerificationFailed(f"{kernels[1]}: {report.verdict}")
