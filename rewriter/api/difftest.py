"""The original and the retuned file run, and what they do compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rewriter.api import choose, files
from rewriter.api.progress import Progress, quiet
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.target.boots import Boots
from rewriter.core.target.capability import needed
from rewriter.core.target.protocol import Target
from rewriter.difftest.boot.compare import Tried, compare
from rewriter.difftest.boot.kernel import Kernel, kernel
from rewriter.difftest.boot.machine import Setup
from rewriter.difftest.case import Comparison
from rewriter.difftest.outcome import Masks
from rewriter.difftest.program import Tester
from rewriter.difftest.routine import compare as compare_routine
from rewriter.difftest.running import Input
from rewriter.difftest.setting import Wishes, arranged, check_used


def boot(
    old: Path,
    new: Path,
    initrd: Path,
    *,
    cpu: str | None = None,
    firmware: Path | None = None,
    machine: str | None = None,
    memory: int | None = None,
    append: str = "",
    limit: float = 300.0,
    progress: Progress = quiet,
) -> tuple[Tried, Boots]:
    """Boots two kernels with one initial file system, compares the consoles; and says how.

    `machine` and `cpu` are what is emulated, `memory` is in MiB, `append` goes to the kernel's
    command line, `limit` is in seconds for the original. Raises BadUsage for a CPU that cannot be
    emulated, BadInput where the original does not power off by itself.
    """
    before, after = _kernel(old), _kernel(new)
    if before.image.machine != after.image.machine:
        raise BadInput(f"{after.name}: is for another architecture than {before.name}")
    target = choose.target_of(before.image)
    boots = needed(target.boots, "difftest boot", target, before.name)
    setup = Setup(
        machine=machine or boots.machines.get(cpu or "", boots.machine),
        memory=memory or boots.memory,
        parameters=f"{boots.parameters} {append}".rstrip(),
        initrd=files.read(initrd),
        cpu=_emulated(target, boots, cpu, firmware is None) if cpu else None,
        firmware=files.read(firmware) if firmware else None,
    )
    return compare(before, after, boots, setup, limit, progress), boots


def program(
    old: Path,
    new: Path,
    command: Sequence[str],
    inputs: Sequence[Input] = (Input("no input"),),
    *,
    wishes: Wishes | None = None,
    masks: Masks = (),
    limit: float = 60.0,
    jobs: int = 1,
    progress: Progress = quiet,
) -> Comparison:
    """Runs a command with two files, on each input, and compares all that it does.

    `{}` in the command is the file. `wishes` say how it is run (in an emulator that is chosen by
    the file's machine, if nothing is said); of output that matches one of `masks` only the rest is
    compared; `limit` is in seconds, for the original.
    """
    check_used(old, command)
    with TemporaryDirectory(prefix="retune-difftest-") as name:
        folder = Path(name)
        sides = arranged(old, new, tuple(command), wishes or Wishes(), folder)
        cases = Tester(sides, limit, masks, folder).every(inputs, jobs, progress)
    return Comparison("program", str(old), str(new), cases)


def routine(old: Path, new: Path, name: str, contract: str | None = None) -> Comparison:
    """Tries a routine, named or at 0x..., in two files on every shape of its contract."""
    before, after = (files.load(path).image for path in (old, new))
    return compare_routine(before, after, name, contract)


def _kernel(path: Path) -> Kernel:
    return kernel(files.read(path), str(path))


def _emulated(target: Target, boots: Boots, name: str, packaged: bool) -> str:
    """A CPU's name for the emulator; `packaged` if its own firmware is used."""
    cpu = choose.cpu_named(target, "--cpu", name)
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
