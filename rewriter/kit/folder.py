"""Makes the folder of a kit."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.run import interrupts
from rewriter.core.target.capability import trials_of
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential
from rewriter.elf.emit import unwritten
from rewriter.elf.image import Image
from rewriter.elf.linking import name_of
from rewriter.kit.cases import Machine, Timed, checks, routines, timed, times
from rewriter.kit.model import Progress, modelled
from rewriter.report.grid import Grid
from rewriter.suites.run import SequentialClocks

HERE = Path(__file__).parent
FORM = "retune-kit 1"
_MACHINE = (slice(4, 6), slice(18, 20))
"""Where an ELF header says for what machine it is: width and byte order, and which machine."""
_OPTIONS = ("-O2", "-fPIE", "-pie", "-fno-builtin", "-fno-stack-protector", "-D__NO_INLINE__", "-w")


@dataclass(frozen=True)
class Side:
    """A library of a kit: the old one, or one that is to be measured beside it."""

    name: str
    image: Image
    data: bytes


@dataclass(frozen=True)
class Along:
    """What goes along: sources of programs, libraries, the dynamic loader.

    `only` are the routines that are tried, all of them where it is empty.
    """

    programs: tuple[Path, ...] = ()
    libraries: tuple[Path, ...] = ()
    loader: Path | None = None
    only: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Order:
    """What a kit is made of.

    `compiler` makes programs of the machine that the libraries are for.
    """

    sides: tuple[Side, ...]
    target: Sequential
    cpu: Cpu
    compiler: str
    along: Along

    @property
    def old(self) -> Image:
        """The library as it was."""
        return self.sides[0].image


@dataclass(frozen=True)
class Made:
    """A kit that was made."""

    folder: Path
    sides: tuple[str, ...]
    routines: tuple[str, ...]
    cases: int
    calls: tuple[Timed, ...]
    modelled: int
    programs: tuple[str, ...]

    @property
    def return_code(self) -> int:
        """Always 0."""
        return 0

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "folder": str(self.folder),
            "sides": list(self.sides),
            "routines": list(self.routines),
            "cases": self.cases,
            "calls": len(self.calls),
            "modelled": self.modelled,
            "programs": list(self.programs),
        }

    def lines(self, verbosity: int = 0) -> Iterator[str]:
        """What is in the kit, and what to do with it."""
        yield f"{self.folder}: {', '.join(self.sides)}"
        yield f"routines: {', '.join(self.routines)}"
        yield f"{self.cases} cases with what must come out"
        yield f"{len(self.calls)} calls to time, {self.modelled} modelled on all sides"
        if self.programs:
            yield f"programs: {', '.join(self.programs)}"
        yield "copy the folder to the machine and run there: sh run.sh"

    def grids(self, verbosity: int = 0) -> Iterator[Grid | str]:
        """The same."""
        yield from self.lines(verbosity)


def make(order: Order, output: Path, progress: Progress) -> Made:
    """The kit in a folder that is not there yet, whole or not at all."""
    if output.exists():
        raise BadUsage(f"{output}: is there already", hint="name a folder that is not there")
    if not output.parent.is_dir():
        raise BadUsage(f"{output}: there is no folder {output.parent}")
    with interrupts.folder("retune-kit-") as made:
        done = _filled(order, made / "kit", progress)
        _put(made / "kit", output)
    return replace(done, folder=output)


def _put(made: Path, output: Path) -> None:
    """Copies a folder, which is whole when it has its name."""
    aside = output.with_name(f".{output.name}.{os.getpid()}")
    with interrupts.leaving(str(aside)):
        try:
            shutil.copytree(made, aside)
            aside.rename(output)
        except OSError as error:
            shutil.rmtree(aside, ignore_errors=True)
            raise unwritten(f"{output}: cannot be written", error) from error


def _filled(order: Order, folder: Path, progress: Progress) -> Made:
    """Writes all files of a kit."""
    machine = Machine(trials_of(order.target).program("standard").arena, order.old.byteorder)
    names = _names(order)
    given, expected = checks(names, machine)
    calls = timed(names, machine)
    _libraries(order, folder)
    _compiled(order, folder / "probe", [HERE / "probe.c"], _header(names, machine, folder))
    programs = _programs(order, folder / "programs")
    about, count = _about(order, calls, progress)
    for name, content in (
        ("checks", given),
        ("times", times(names, calls, machine)),
        ("expected", _text(expected)),
        ("about", _text(about)),
        ("sides", _text([side.name for side in order.sides])),
        ("run.sh", (HERE / "run.sh").read_bytes()),
    ):
        (folder / name).write_bytes(content)
    (folder / "run.sh").chmod(0o755)
    cases = sum(int(line.split()[2]) for line in expected)
    sides = tuple(side.name for side in order.sides)
    return Made(folder, sides, names, cases, calls, count, programs)


def _names(order: Order) -> tuple[str, ...]:
    """The routines that are tried: those that all libraries export."""
    exported = [
        {s.name.partition("@")[0] for s in side.image.symbols if s.dynamic and s.st_shndx}
        for side in order.sides
    ]
    found = routines(frozenset(set.intersection(*exported)), order.old.bits)
    if not found:
        raise BadInput(f"{order.old.name}: exports no known routine that the others export, too")
    only = order.along.only
    if unknown := sorted(only - set(found)):
        raise BadUsage(f"--routines: {unknown[0]} is none of {', '.join(found)}")
    return tuple(name for name in found if not only or name in only)


def _libraries(order: Order, folder: Path) -> None:
    """The libraries of the sides by the name that programs ask for, and what goes along."""
    name = name_of(order.sides[0].data) or Path(order.old.name).name
    for side in order.sides:
        (folder / side.name).mkdir(parents=True)
        (folder / side.name / name).write_bytes(side.data)
        (folder / side.name / name).chmod(0o755)
    (folder / "with").mkdir()
    for path in order.along.libraries:
        data = _read(path)
        (folder / "with" / (name_of(data) or path.name)).write_bytes(data)
    if order.along.loader is not None:
        (folder / "loader").write_bytes(_read(order.along.loader))
        (folder / "loader").chmod(0o755)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error


def _header(names: Sequence[str], machine: Machine, folder: Path) -> tuple[str, ...]:
    """Options for the program's own header, and for the library that it is linked with."""
    arena = machine.arena
    rooms = ", ".join(f"{{{arena.start(n):#x}, {arena.room:#x}}}" for n in range(arena.rooms))
    lines = [
        f"#define ROUTINES(_) {' '.join(f'_({name})' for name in names)}",
        f"#define ROOMS {rooms}",
    ]
    place = folder.parent / "include"
    place.mkdir()
    (place / "routines.h").write_bytes(_text(lines))
    library = next((folder / "old").iterdir())
    # The library that is tried is the one that is linked: its names have its versions.
    return (f"-I{place}", "-nodefaultlibs", str(library), "-lgcc", "-Wl,--allow-shlib-undefined")


def _compiled(order: Order, output: Path, sources: Sequence[Path], options: Sequence[str]) -> None:
    """A program of the machine; BadUsage where the compiler makes none."""
    files = ("-o", str(output), *map(str, sources))
    command = (order.compiler, *_OPTIONS, *files, *options)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BadUsage(
            f"--cc {order.compiler}: {error.strerror}", hint="name a C compiler of the machine"
        ) from error
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        hint = "name a C compiler of the machine, as powerpc64le-linux-gnu-gcc"
        raise BadUsage(f"--cc {order.compiler}: {sources[0].name}: {said}", hint=hint)
    made, ours = output.read_bytes(), order.sides[0].data
    if any(made[part] != ours[part] for part in _MACHINE):
        raise BadUsage(
            f"--cc {order.compiler}: makes programs for another machine than {order.old.name}",
            hint="name a C compiler of the machine, as powerpc64le-linux-gnu-gcc",
        )


def _programs(order: Order, folder: Path) -> tuple[str, ...]:
    """Programs that are run with each library, whose output must be the same."""
    folder.mkdir()
    for source in order.along.programs:
        _compiled(order, folder / source.stem, [source], ("-lm", "-lpthread"))
    return tuple(source.stem for source in order.along.programs)


def _about(order: Order, calls: Sequence[Timed], progress: Progress) -> tuple[list[str], int]:
    """What the result begins with: what was made, and what the model expects."""
    target, cpu = order.target, order.cpu
    lines = [FORM, f"target {target.name}", f"model {cpu.name}"]
    lines += [f"point {one.number} {one.routine} {one.where}" for one in calls]
    count = 0
    for side in order.sides:
        clocks = SequentialClocks(side.image, target, cpu, target.system(cpu))
        for call, cycles in modelled(clocks, calls, progress):
            lines.append(f"cycles {side.name} {call.number} {cycles}")
            count += 1
    return lines, count


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
