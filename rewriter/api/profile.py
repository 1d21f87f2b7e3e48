"""Profiles of which way conditional moves and branches go: counted, and merged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rewriter.api import choose, files
from rewriter.api.progress import Progress, quiet
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.target.capability import needed
from rewriter.core.target.protocol import Target
from rewriter.difftest.boot.kernel import kernel
from rewriter.difftest.boot.machine import Setup
from rewriter.difftest.directions import counted
from rewriter.difftest.directions.counted import Counted
from rewriter.difftest.executed import CannotCount
from rewriter.difftest.running import Input
from rewriter.difftest.setting import Wishes
from rewriter.elf.headers import printable
from rewriter.identify.profiles import directions
from rewriter.identify.profiles.directions import Directions
from rewriter.timing.described import NotDescribed
from rewriter.timing.engines import engine_of


def programs(
    path: Path,
    command: Sequence[str],
    inputs: Sequence[Input] = (Input("no input"),),
    *,
    wishes: Wishes | None = None,
    limit: float = 60.0,
    progress: Progress = quiet,
) -> Counted:
    """Runs a command on each input, and counts which way the conditions of a file go.

    `{}` in the command is the file; without it the file is a library in place of the one of its
    name.  `limit` is in seconds, for a run that is not counted.
    """
    image = files.load(path).image
    target = choose.target_of(image)
    with TemporaryDirectory(prefix="retune-profile-") as name:
        try:
            return counted.programs(
                image,
                path,
                target,
                command,
                inputs,
                wishes or Wishes(),
                limit,
                Path(name),
                _predictor(target),
                progress,
            )
        except CannotCount as why:
            raise BadUsage(f"profile: {why}") from why


def boot(path: Path, initrd: Path, *, limit: float = 300.0, progress: Progress = quiet) -> Counted:
    """Boots a kernel with an initial file system, and counts which way its conditions go.

    `limit` is in seconds.  BadInput where it does not power off by itself.
    """
    booted = kernel(files.read(path), str(path))
    target = choose.target_of(booted.image)
    boots = needed(target.boots, "profile", target, booted.name)
    setup = Setup(boots.machine, boots.memory, boots.parameters, files.read(initrd))
    with TemporaryDirectory(prefix="retune-profile-") as name:
        folder, sizes = Path(name), _predictor(target)
        try:
            return counted.booted(booted, target, boots, setup, limit, folder, sizes, progress)
        except CannotCount as why:
            raise BadUsage(f"profile: {why}") from why


def merged(paths: Sequence[Path]) -> Directions:
    """Profiles of one text as one."""
    return directions.merged(_read(path) for path in paths)


def merged_alike(paths: Sequence[Path]) -> Directions:
    """The same, each of which counts as much as another."""
    return directions.merged(directions.alike(_read(path) for path in paths))


def _read(path: Path) -> Directions:
    text = files.read(path).decode("utf-8", "replace")
    if not directions.claims(text):
        raise BadInput(f"{printable(str(path))}: is no profile of `retune profile`")
    return directions.parse(text, printable(str(path)))


def _predictor(target: Target) -> dict[str, int]:
    """The sizes of the predictor with two levels that a CPU of a target has, if one has."""
    for cpu in target.cpus.values():
        try:
            figures = engine_of(cpu).tournament
        except NotDescribed:
            continue
        if figures is not None:
            return {
                "local": figures.local_entries.value,
                "history": figures.local_history_bits.value,
                "counter": figures.local_counter_bits.value,
                "path": figures.global_history_bits.value,
                "global": figures.global_counter_bits.value,
                "choice": figures.choice_counter_bits.value,
            }
    return {}
