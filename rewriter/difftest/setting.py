"""How a command is run on either side: emulator, libraries, environment."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from threading import Event

import targets
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.target.emulation import Emulated
from rewriter.core.target.ident import HEAD, Ident, ident_of
from rewriter.difftest import executed, roots
from rewriter.difftest.running import Launch
from rewriter.elf.headers import printable
from rewriter.verify.trials.engines.qemu import EmulatorMissing

PLACE = "{}"
CANDIDATE = "RETUNE_CANDIDATE"
_ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC0", "PATH": "/usr/bin:/bin", "HOME": "/"}
_FOLDERS = ("bin", "usr/bin", "sbin", "usr/sbin")


@dataclass(frozen=True)
class Wishes:
    """What a user says of how programs are run.

    `libraries` maps names of libraries to (old, new): an old one of None is the root's own.
    `emulator` is a command that stands in place of the usual one, empty to run on this machine;
    None to choose by the program's machine. `template` is copied into the scratch folder.
    """

    libraries: Mapping[str, tuple[Path | None, Path]] = field(default_factory=dict)
    sysroot: Path | None = None
    emulator: tuple[str, ...] | None = None
    cpu: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    template: Path | None = None
    count: bool = False


@dataclass(frozen=True)
class Side:
    """The old or the new side: folders that runs see under one name, whichever side it is.

    `file` is the name of the file under test in `files`; `root` has the libraries.
    """

    files: Path
    file: str
    root: Path | None


@dataclass(frozen=True)
class Setting:
    """How a command runs: `emulator` has its options but the root, `library` says that libraries
    of this machine are replaced, `plugin` counts instructions, `stop` ends all runs."""

    command: tuple[str, ...]
    emulator: tuple[str, ...]
    environment: Mapping[str, str]
    template: Path | None
    plugin: Path | None
    native: bool
    stop: Event = field(default_factory=Event)

    def launch(self, side: Side, folder: Path) -> Launch:
        """The command on one side, run in `folder`, where both sides have the same names."""
        root, files = folder / "root", folder / "files"
        for link, place in ((root, side.root), (files, side.files)):
            link.unlink(missing_ok=True)
            if place is not None:
                link.symlink_to(place)
        path = str(files / side.file)
        command = [word.replace(PLACE, path) for word in self.command]
        environment = {CANDIDATE: path, **_ENVIRONMENT, **self.environment}
        counts = folder / "executed" if self.plugin is not None else None
        if self.emulator:
            linked = ("-L", str(root)) if side.root is not None else ()
            plugin = ("-plugin", f"{self.plugin},out={counts}") if self.plugin else ()
            command = [*self.emulator, *linked, *plugin, *command]
        elif side.root is not None:
            # A script may run emulated programs as well: both find the libraries.
            name = "LD_LIBRARY_PATH" if self.native else "QEMU_LD_PREFIX"
            environment[name] = str(root / "lib" if self.native else root)
        return Launch(tuple(command), environment, self.template, counts, self.stop)


@dataclass(frozen=True)
class Sides:
    """A setting, and its two sides; more can be made of other files in place of the new one."""

    setting: Setting
    old: Side
    new: Side
    make: Callable[[Path, Path], Side]

    def candidate(self, content: bytes, folder: Path) -> Side:
        """A side with another content in place of the new file; made below `folder`."""
        path = folder / "candidate"
        path.write_bytes(content)
        return self.make(path, folder / "side")

    def against(self, side: Side) -> Sides:
        """The same with another new side."""
        return replace(self, new=side)


def arranged(old: Path, new: Path, command: Sequence[str], wishes: Wishes, folder: Path) -> Sides:
    """Sets the two sides up below `folder`.

    `{}` in the command stands for the file under test; without it the file is a library that
    replaces the one of its name (DT_SONAME), or, without any command, the program itself.
    """
    words = tuple(command) or (PLACE,)
    ident = ident_at(old)
    program = old if words[0] == PLACE else _program(words[0], wishes, ident)
    libraries = dict(wishes.libraries)
    under_test = any(PLACE in word for word in words)
    if not under_test and (name := _soname(old)) is not None:
        libraries.setdefault(name, (old, new))
    emulator = _emulator(ident_at(program), program, wishes)
    rooms = _Roots(wishes, ident, emulator)
    setting = Setting(
        (words[0] if words[0] == PLACE else str(program.absolute()), *words[1:]),
        emulator,
        wishes.environment,
        wishes.template,
        _plugin(wishes, emulator, folder),
        rooms.native,
    )

    def side(place: Path, file: Path, chosen: Mapping[str, Path]) -> Side:
        (place / "files").mkdir(parents=True)
        roots.copied(file, place / "files" / old.name)
        return Side(place / "files", old.name, rooms.made(chosen, place / "root"))

    def candidate(file: Path, place: Path) -> Side:
        chosen = {n: file if pair[1] == new else pair[1] for n, pair in libraries.items()}
        return side(place, file, chosen)

    before = {name: pair[0] for name, pair in libraries.items() if pair[0] is not None}
    original = side(folder / "old", old, before)
    return Sides(setting, original, candidate(new, folder / "new"), candidate)


def ident_at(path: Path) -> Ident | None:
    """What an ELF file is for; None for what is not ELF."""
    try:
        with path.open("rb") as file:
            return ident_of(file.read(HEAD))
    except OSError as error:
        raise BadInput(f"{printable(str(path))}: cannot be read: {error.strerror}") from error


@cache
def _host() -> Ident | None:
    return ident_at(Path(sys.executable))


def _native(ident: Ident | None) -> bool:
    """Whether this machine runs such files; a script is run by an interpreter of its own."""
    host = _host()
    if ident is None or host is None:
        return ident is None
    return replace(ident, flags=0) == replace(host, flags=0)


def _emulated(ident: Ident | None) -> Emulated | None:
    if ident is None or not targets.knows(ident):
        return None
    return targets.of_ident(ident).emulated


def _emulator(ident: Ident | None, program: Path, wishes: Wishes) -> tuple[str, ...]:
    """The emulator of a program with its options; nothing on the machine itself."""
    emulated = _emulated(ident)
    if wishes.emulator is not None:
        chosen, package = wishes.emulator, ""
    elif _native(ident):
        chosen, package = (), ""
    elif emulated is None:
        raise BadInput(
            f"{printable(str(program))}: nothing is known that runs programs for its machine here",
            hint="name an emulator by --emulator, or run this on such a machine",
        )
    else:
        chosen, package = (emulated.emulator,), emulated.package
    if not chosen:
        if wishes.cpu:
            raise BadUsage(f"--cpu {wishes.cpu}: no emulator is used that takes it")
        return ()
    path = shutil.which(chosen[0])
    if path is None:
        hint = f"apt-get install {package}" if package else "--emulator names a program"
        raise EmulatorMissing(f"{chosen[0]} is not installed", hint=hint)
    return (path, *chosen[1:], *_cpu(emulated, wishes))


def _cpu(emulated: Emulated | None, wishes: Wishes) -> Iterator[str]:
    if emulated is not None and (wishes.cpu or wishes.emulator is None):
        name = wishes.cpu or emulated.cpu
        if name not in emulated.cpus:
            hint = f"it has {', '.join(emulated.cpus)}"
            raise BadUsage(f"--cpu {name}: the emulator does not have it", hint=hint)
        yield from ("-cpu", emulated.cpus[name])
    elif wishes.cpu:
        raise BadUsage(f"--cpu {wishes.cpu}: no emulator is used that takes it")


def _program(name: str, wishes: Wishes, ident: Ident | None) -> Path:
    """The command's first word: a path, or a name that the root has, or this machine."""
    if Path(name).exists():
        return Path(name)
    emulated = _emulated(ident)
    sysroot = wishes.sysroot or (Path(emulated.sysroot) if emulated else None)
    if sysroot is not None and "/" not in name:
        for folder in _FOLDERS:
            if (sysroot / folder / name).is_file():
                return sysroot / folder / name
    found = shutil.which(name)
    if found is None:
        raise BadInput(f"{printable(name)}: no such program")
    return Path(found)


def check_used(old: Path, command: Sequence[str]) -> None:
    """Refuses a command that has nothing to do with the file under test."""
    if command and not any(PLACE in word for word in command) and _soname(old) is None:
        raise BadUsage(
            f"{printable(str(old))}: is no library with a name, and COMMAND has no {PLACE}",
            hint=f"write {PLACE} where the file goes, or leave COMMAND out to run the file itself",
        )


def _soname(path: Path) -> str | None:
    return (roots.soname(path) or None) if ident_at(path) is not None else None


@dataclass(frozen=True)
class _Roots:
    """Makes folders of libraries for programs that use files of a machine."""

    wishes: Wishes
    ident: Ident | None
    emulator: tuple[str, ...]

    @property
    def native(self) -> bool:
        """Whether libraries of this machine itself are replaced."""
        return _native(self.ident)

    def made(self, libraries: Mapping[str, Path], place: Path) -> Path | None:
        """The root with these libraries; None where the host's own is meant."""
        chosen = self.wishes.sysroot
        if self.native and chosen is None:
            return roots.alone(libraries, place) if libraries else None
        emulated = _emulated(self.ident)
        sysroot = chosen or (Path(emulated.sysroot) if emulated else None)
        if sysroot is None or not (sysroot.is_dir() or chosen or self.emulator):
            return None  # what runs here may have no use for it
        if not sysroot.is_dir():
            more = f", or apt-get install {emulated.libraries}" if emulated else ""
            raise BadInput(
                f"{printable(str(sysroot))}: no such folder",
                hint=f"--sysroot names one with the libraries{more}",
            )
        return roots.overlay(sysroot, libraries, place)


def _plugin(wishes: Wishes, emulator: tuple[str, ...], folder: Path) -> Path | None:
    if not wishes.count:
        return None
    if not emulator:
        raise BadUsage("--count: instructions are counted by an emulator, and none is used")
    return executed.compiled(folder, executed.SOURCE).path
