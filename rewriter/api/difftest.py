"""The original and the retuned file run, and what they do compared."""

from __future__ import annotations

from pathlib import Path

from rewriter.api import choose, files
from rewriter.api.patch import Progress, quiet
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.target import Target
from rewriter.difftest.compare import Tried, compare
from rewriter.difftest.kernel import Kernel, kernel
from rewriter.difftest.machine import Setup


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
) -> tuple[Tried, Target]:
    """Boots two kernels with one initial file system, compares the consoles; also their target.

    `machine` and `cpu` are what is emulated, `memory` is in MiB, `append` goes to the kernel's
    command line, `limit` is in seconds for the original. Raises BadUsage for a CPU that cannot be
    emulated, BadInput where the original does not power off by itself.
    """
    before, after = _kernel(old), _kernel(new)
    if before.image.machine != after.image.machine:
        raise BadInput(f"{after.name}: is for another architecture than {before.name}")
    target = choose.target_of(before.image)
    boots = target.boots
    setup = Setup(
        machine=machine or boots.machine,
        memory=memory or boots.memory,
        parameters=f"{boots.parameters} {append}".rstrip(),
        initrd=files.read(initrd),
        cpu=_emulated(target, cpu, firmware is None) if cpu else None,
        firmware=files.read(firmware) if firmware else None,
    )
    return compare(before, after, boots, setup, limit, progress), target


def _kernel(path: Path) -> Kernel:
    return kernel(files.read(path), str(path))


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
