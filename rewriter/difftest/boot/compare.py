"""Two kernels booted with one initial file system, and what they print compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rewriter.core.errors import BadInput
from rewriter.core.run import interrupts
from rewriter.core.target.boots import Boots, Volatile
from rewriter.difftest import executed
from rewriter.difftest.boot.console import Console, difference, read
from rewriter.difftest.boot.kernel import Kernel
from rewriter.difftest.boot.machine import Boot, EmulatorRefuses, Ending, Setup, boot
from rewriter.difftest.boot.rules import LINUX
from rewriter.difftest.executed import CannotCount, Plugin, compiled

SLOWER, AT_LEAST = 5, 30
"""The second boot may take so many times what the first took, and so many seconds in any case."""


@dataclass(frozen=True)
class Tried:
    """Both boots, their consoles, the first difference, and why nothing was counted, if so."""

    old: Boot
    new: Boot
    consoles: tuple[Console, Console]
    difference: tuple[str, ...]
    not_counted: str = ""

    @property
    def same(self) -> bool:
        """Whether the new kernel does what the old one does."""
        return self.new.ending is Ending.OFF and not self.difference


def rules(boots: Boots) -> tuple[Volatile, ...]:
    """All rules for a target's consoles."""
    return (*boots.volatile, *LINUX)


def compare(
    old: Kernel,
    new: Kernel,
    boots: Boots,
    setup: Setup,
    limit: float,
    progress: Callable[[str, int, int], None],
) -> Tried:
    """Boots both, the original first, which raises BadInput if it does not power off by itself.

    `limit` is in seconds, for the original.
    """
    with interrupts.folder("retune-boot-") as folder:
        progress("boot", 0, 2)
        first, plugin, why = _first(old, boots, setup, limit, folder)
        progress("boot", 1, 2)
        longest = min(limit, max(AT_LEAST, SLOWER * first.seconds))
        second = boot(new, boots, setup, plugin, longest, folder)
        progress("boot", 2, 2)
    return tried(first, second, boots, why)


def tried(old: Boot, new: Boot, boots: Boots, not_counted: str = "") -> Tried:
    """Compares what two boots left behind."""
    before, after = (read(b.console, rules(boots)) for b in (old, new))
    return Tried(old, new, (before, after), difference(before, after), not_counted)


def _first(
    old: Kernel, boots: Boots, setup: Setup, limit: float, folder: Path
) -> tuple[Boot, Plugin | None, str]:
    """The original's boot, and what counts instructions, or why nothing does."""
    try:
        plugin = compiled(folder, executed.SOURCE)
        return _good(boot(old, boots, setup, plugin, limit, folder)), plugin, ""
    except (CannotCount, EmulatorRefuses) as problem:
        # If it is not the plugin that the emulator refuses, it refuses again, and says so.
        return _good(boot(old, boots, setup, None, limit, folder)), None, str(problem)


def _good(old: Boot) -> Boot:
    if old.ending is Ending.OFF:
        return old
    hint = "the original must boot, run /init and power off by itself"
    raise BadInput(f"{old.kernel}: {old.account}", hint=hint)
