"""Folders of libraries in which some are replaced: what a program under test is linked with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from rewriter.core.errors import BadInput
from rewriter.elf.headers import printable
from rewriter.elf.image import parse

_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64")
"""Where a root's libraries are; also in folders of these, one deep (`lib/TRIPLET`)."""


def overlay(sysroot: Path, replaced: Mapping[str, Path], root: Path) -> Path:
    """Makes `root` a copy of `sysroot`, of links, in which libraries are replaced by name.

    A library that `sysroot` does not have is added to its first folder of libraries.
    """
    _linked(sysroot, root)
    places = list(_folders(sysroot))
    for name, file in replaced.items():
        found = [place for place in places if (sysroot / place / name).exists()]
        for place in found or places[:1] or ["lib"]:
            _own(sysroot, root, Path(place))
            target = root / place / name
            target.unlink(missing_ok=True)
            copied(file, target)
    return root


def alone(replaced: Mapping[str, Path], root: Path) -> Path:
    """Makes `root` a folder of nothing but these libraries, in `lib`."""
    (root / "lib").mkdir(parents=True)
    for name, file in replaced.items():
        copied(file, root / "lib" / name)
    return root


@cache
def soname(path: Path) -> str:
    """The name by which a library is loaded (DT_SONAME); empty for what has none."""
    import lief

    data = path.read_bytes()
    parse(data, printable(str(path)))  # refuses what is damaged, by field
    found = lief.ELF.parse(list(data))
    if found is None:
        raise BadInput(f"{printable(str(path))}: cannot be read as ELF")
    entry = found.get(lief.ELF.DynamicEntry.TAG.SONAME)
    return str(entry.name) if isinstance(entry, lief.ELF.DynamicSharedObject) else ""


def _folders(sysroot: Path) -> Iterator[str]:
    for name in _FOLDERS:
        folder = sysroot / name
        if folder.is_dir():
            yield name
            yield from (f"{name}/{sub.name}" for sub in sorted(folder.iterdir()) if sub.is_dir())


def _linked(source: Path, folder: Path) -> None:
    """A folder of links to what is in another."""
    folder.mkdir(parents=True)
    if source.is_dir():
        for entry in source.iterdir():
            (folder / entry.name).symlink_to(entry.absolute())


def _own(sysroot: Path, root: Path, place: Path) -> None:
    """Turns a link to a folder, and those on the way to it, into folders of links."""
    for part in [*reversed(place.parents), place][1:]:
        here = root / part
        if here.is_symlink():
            here.unlink()
        if not here.is_dir():
            _linked(sysroot / part, here)


def copied(file: Path, target: Path) -> None:
    """A copy that may be executed: loaders and emulators ask for that."""
    try:
        shutil.copyfile(file, target)
    except OSError as error:
        raise BadInput(f"{printable(str(file))}: cannot be read: {error.strerror}") from error
    os.chmod(target, 0o755)
