"""Which way the conditional moves and branches of a file go while programs run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rewriter.analysis.program import Program, analyse
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.target.boots import Boots
from rewriter.core.target.capability import needed
from rewriter.core.target.protocol import Target
from rewriter.difftest.boot.kernel import Kernel
from rewriter.difftest.boot.machine import Ending as BootEnding
from rewriter.difftest.boot.machine import Setup, boot
from rewriter.difftest.directions.branched import Branched, branched
from rewriter.difftest.executed import Observer, compiled
from rewriter.difftest.running import Ending, Input, Run, run
from rewriter.difftest.setting import Sides, Wishes, arranged, check_used
from rewriter.elf.headers import printable
from rewriter.elf.image import Image
from rewriter.identify.profiles.directions import BRANCH, MOVE, Directions, text_hash
from rewriter.identify.profiles.samples import Direction

SOURCE = Path(__file__).with_name("directions.c")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Counted:
    """What was counted; `left` conditional moves could not be, for want of room."""

    directions: Directions
    left: int


def programs(
    image: Image,
    path: Path,
    target: Target,
    command: Sequence[str],
    inputs: Sequence[Input],
    wishes: Wishes,
    limit: float,
    folder: Path,
    predictor: Mapping[str, int],
    progress: Progress,
) -> Counted:
    """Runs a command with a file in its place, on each input, for at most `limit` seconds each.

    `predictor` are the sizes that the plugin asks for, none where no CPU has such a one.

    BadInput where the copy that is counted does something else than the file.
    """
    check_used(path, command)
    progress("analyse", 0, 1)
    copy, plugin = _Copy(image, target), compiled(folder, SOURCE).path
    made = folder / "branched" / path.name
    made.parent.mkdir()
    made.write_bytes(copy.branched.data)
    sides = arranged(path, made, tuple(command), wishes, folder)
    if not sides.setting.emulator:
        raise BadUsage("profile: directions are counted by an emulator, and none is used")
    sites = folder / "sites"
    sites.write_text("".join(copy.sites(image.offset_of)), encoding="ascii")
    sizes = "".join(f",{name}={size}" for name, size in predictor.items())
    for number, given in enumerate(inputs):
        progress("run", number, len(inputs))
        out = folder / "counts"
        out.unlink(missing_ok=True)
        options = f"{plugin},out={out},sites={sites},library=/{path.name}{sizes}"
        done = _one(sides, given, limit, folder, ("-plugin", options))
        if out.is_file():
            copy.add(out.read_text(encoding="ascii"), image.address_of)
        elif done.status < 0:
            raise BadInput(
                f"{given.name}: the program {done.account}, and nothing was counted",
                hint="a program is counted that ends by itself: give it another input",
            )
    progress("run", len(inputs), len(inputs))
    return copy.counted(f"{os.path.basename(path)}: {' '.join(command)}".rstrip(": "))


def booted(
    kernel: Kernel,
    target: Target,
    boots: Boots,
    setup: Setup,
    limit: float,
    folder: Path,
    predictor: Mapping[str, int],
    progress: Progress,
) -> Counted:
    """Boots a kernel, and counts which way its conditions go; BadInput if it does not power off."""
    progress("analyse", 0, 1)
    copy, plugin = _Copy(kernel.image, target), compiled(folder, SOURCE).path
    sites, out = folder / "sites", folder / "counts"
    sites.write_text("".join(copy.sites(int)), encoding="ascii")
    sizes = "".join(f",{name}={size}" for name, size in predictor.items())
    counting = Observer(plugin, f"{plugin},out={out},sites={sites}{sizes}")
    changed = replace(kernel, image=replace(kernel.image, data=copy.branched.data))
    progress("boot", 0, 1)
    done = boot(changed, boots, setup, counting, limit, folder)
    if done.ending is not BootEnding.OFF or not out.is_file():
        raise BadInput(f"{kernel.name}: the copy that is counted {done.account}")
    progress("boot", 1, 1)
    copy.add(out.read_text(encoding="ascii"), int)
    return copy.counted(f"{kernel.name}: a boot")


def _one(sides: Sides, given: Input, limit: float, folder: Path, plugin: tuple[str, ...]) -> Run:
    """One run of the file and one of its copy, which must do the same: that of the copy."""
    old = run(sides.setting.launch(sides.old, folder), given, limit, folder)
    if old.ending is not Ending.ENDED:
        raise BadInput(f"{given.name}: the program {old.account}", hint="--timeout gives it longer")
    setting = replace(sides.setting, emulator=(*sides.setting.emulator, *plugin))
    new = run(setting.launch(sides.new, folder), given, _SLOWER * limit, folder)
    if (new.ending, new.status) != (old.ending, old.status):
        raise BadInput(f"{given.name}: the copy that is counted {new.account}: {_said(new.stderr)}")
    return new


def _said(stderr: bytes) -> str:
    return printable(stderr.decode("utf-8", "backslashreplace").strip().partition("\n")[0])


_SLOWER = 10


class _Copy:
    """The copy of a file that is counted, and what was counted so far."""

    def __init__(self, image: Image, target: Target) -> None:
        code = needed(target.sequential, "profile", target, image.name)
        self.program: Program = analyse(image, code)
        self.branched: Branched = branched(self.program, code.conditional_moves)
        self.counts = Counter[tuple[str, int, str]]()

    def sites(self, place: Callable[[int], int]) -> Iterator[str]:
        """Lines of places and distances for the plugin."""
        every = {**self.branched.branches, **self.branched.moves}
        places = sorted((place(address), distance) for address, distance in every.items())
        return (f"{at:x} {distance}\n" for at, distance in places)

    def add(self, text: str, address: Callable[[int], int]) -> None:
        """What the plugin wrote."""
        for line in text.splitlines():
            at, *numbers = map(int, line.split())
            there = address(at)
            kind = MOVE if there in self.branched.moves else BRANCH
            for name, number in zip(("executed", "held", "missed"), numbers, strict=True):
                self.counts[kind, there, name] += number

    def counted(self, note: str) -> Counted:
        """All that was counted."""
        image, counts = self.program.image, self.counts
        every: Mapping[tuple[str, int], Direction] = {
            (kind, at): Direction(executed, counts[kind, at, "held"], counts[kind, at, "missed"])
            for (kind, at, name), executed in counts.items()
            if name == "executed"
        }
        if not every:
            raise BadInput(f"{image.name}: nothing of it was executed")
        return Counted(Directions(text_hash(image), every, (note,)), self.branched.left)
