"""`retune difftest`: the original and the retuned file run, and what they print is compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rewriter.api import choose, files
from rewriter.cli import show
from rewriter.cli.options import PATH, View, viewing
from rewriter.core.errors import BadInput, BadUsage, VerificationFailed

if TYPE_CHECKING:
    from rewriter.core.target import Target


@click.group()
def difftest() -> None:
    """Run OLD and NEW in an emulator and compare.

    \b
    Examples:
      retune difftest boot --kernel vmlinux --kernel vmlinux.ev67 --initrd test.cpio
      retune difftest boot --json --kernel a --kernel b --initrd c | jq .same

    Exit status: 0 both do the same, 1 they differ, 2 bad usage, 3 bad input.
    """


@difftest.command()
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
    from rewriter.difftest.compare import compare, rules
    from rewriter.difftest.kernel import kernel
    from rewriter.difftest.machine import Setup
    from rewriter.report.boot import Booted

    if len(kernels) != 2:
        raise BadUsage(f"--kernel is given {len(kernels)} times", hint="name OLD, then NEW")
    old, new = (kernel(files.read(path), str(path)) for path in kernels)
    if old.image.machine != new.image.machine:
        raise BadInput(f"{new.name}: is for another architecture than {old.name}")
    target = choose.target_of(old.image)
    setup = Setup(
        machine=machine or target.boots.machine,
        memory=memory or target.boots.memory,
        parameters=f"{target.boots.parameters} {append}".rstrip(),
        initrd=files.read(initrd),
        cpu=_emulated(target, name, firmware is None) if name else None,
        firmware=files.read(firmware) if firmware else None,
    )
    with show.progress() as progress:
        found = compare(old, new, target.boots, setup, limit, progress)
    report = Booted(found, rules(target.boots))
    show.result(report, view)
    if not found.same:
        raise VerificationFailed(f"{new.name}: {report.verdict}")


def _emulated(target: Target, name: str, packaged: bool) -> str:
    """A CPU's name for the emulator; `packaged` if its own firmware is used."""
    cpu = choose.cpu_named(target, "--cpu", name)
    boots = target.boots
    if cpu.name not in boots.cpus:
        raise BadUsage(
            f"--cpu {name}: the emulator does not have it", hint=f"it has {', '.join(boots.cpus)}"
        )
    if packaged and cpu.name not in boots.packaged:
        raise BadUsage(
            f"--cpu {name}: the emulator's firmware does not run on it",
            hint=f"it runs on {', '.join(sorted(boots.packaged))}; name another by --firmware",
        )
    return boots.cpus[cpu.name]
