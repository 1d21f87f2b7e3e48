"""The files that a command reads and writes: refused early, written whole."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rewriter.core.errors import BadInput, BadUsage

if TYPE_CHECKING:
    from rewriter.elf.compressed import Opened
    from rewriter.elf.image import Image
    from rewriter.identify.profiles import Profile


_DATA = 0o666  # permission bits of a file that is not to be executed


@dataclass(frozen=True)
class Loaded:
    """An ELF file, and the gzip file around it if there is one."""

    image: Image
    opened: Opened | None

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self.opened.raw if self.opened is not None else self.image.data


def check_output(source: Path, output: Path, *others: Path | None) -> None:
    """Refuse, before any work, an output that is the input itself or cannot be written.

    `others` are further files that the command writes; no two may be the same.
    """
    written = [output, *(path for path in others if path is not None)]
    for at, path in enumerate(written):
        for other, what in (
            (source, "the input itself"),
            *((p, "named twice") for p in written[:at]),
        ):
            if _same(path, other):
                raise BadUsage(f"{_shown(path)}: is {what}", hint="give the output another name")
        _check_place(path)


def read(path: Path) -> bytes:
    """Return the bytes of a regular file, or BadInput."""
    if str(path) == "-":
        raise BadUsage("-: retune reads files, not pipes", hint="name a file")
    try:
        # Opening a FIFO would wait for a writer for ever, and a name may change its meaning.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
                raise BadInput(f"{_shown(path)}: is {what}")
            with open(handle, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{_shown(path)}: cannot be read: {reason}") from error


def load(path: Path, symbols: Path | None = None, debug: Path | None = None) -> Loaded:
    """Read and parse an ELF file or a gzip file around one; anything wrong is BadInput.

    `symbols` is a System.map whose symbols are added to the file's own. A kernel without symbols
    has those of its kallsyms. `debug` is the file with its debug information.
    """
    from rewriter.elf import compressed, debug_files, image
    from rewriter.identify import system_map
    from rewriter.identify.kallsyms import symbols as kallsyms

    data = read(path)  # once: the file may change
    opened = compressed.open_gzip(data, _shown(path)) if compressed.is_gzip(data) else None
    parsed = image.parse(data if opened is None else opened.content, str(path))
    parsed = kallsyms.with_kallsyms(parsed)
    if symbols is not None:
        parsed = system_map.added(parsed, system_map.read(symbols), _shown(symbols))
    if debug is not None:
        parsed = debug_files.described_by(parsed, debug)
    return Loaded(parsed, opened)


def profile(path: Path, image: Image) -> Profile:
    """Read a profile of an image, of any format that retune knows, or BadInput."""
    from rewriter.identify import profiles

    return profiles.parse(read(path), _shown(path), image)


def content(path: Path) -> bytes:
    """Return the bytes of a regular file, of what is in it if it is a gzip file, or BadInput."""
    from rewriter.elf import compressed

    data = read(path)
    return compressed.open_gzip(data, _shown(path)).content if compressed.is_gzip(data) else data


def write(path: Path, data: bytes, like: Path) -> None:
    """Write a file in one step, with the permission bits of `like`."""
    from rewriter.elf.emit import write_atomically

    write_atomically(path, data, like)


def write_beside(path: Path, data: bytes, like: Path) -> None:
    """Write a file of data: readable by whom `like` is, and nothing to execute."""
    from rewriter.elf.emit import Output, write_together

    write_together([Output(path, data, _DATA)], like)


def write_pair(path: Path, data: bytes, beside: Path, record: bytes, like: Path) -> None:
    """Write a file and the data that belongs to it: both or neither."""
    from rewriter.elf.emit import Output, write_together

    write_together([Output(path, data), Output(beside, record, _DATA)], like)


def _check_place(path: Path) -> None:
    from rewriter.elf.emit import CannotWrite

    folder = Path(os.path.realpath(path)).parent
    if str(path) == "-":
        raise BadUsage("-: retune writes files, not pipes", hint="name a file")
    if path.is_dir():
        raise CannotWrite(f"cannot write {_shown(path)}: it is a directory")
    if not folder.is_dir():
        raise CannotWrite(f"cannot write {_shown(path)}: no folder {_shown(folder)}")
    if not os.access(folder, os.W_OK):
        raise CannotWrite(f"cannot write {_shown(path)}: the folder is not writable")


def _same(one: Path, other: Path) -> bool:
    """Whether two names lead to one file, through links of either kind."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)
    except OSError:
        return False


def _shown(path: Path) -> str:
    from rewriter.elf.headers import printable

    return printable(str(path))
