"""System.map, and what `nm` and /proc/kallsyms print: one symbol a line, `address type name`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rewriter.core.errors import BadInput
from rewriter.elf.headers import printable
from rewriter.elf.image import Image
from rewriter.identify.kernel_symbols import LETTERS, STT_FUNC, KernelSymbol, as_symbols

LINE = re.compile(r"([0-9a-fA-F]{1,16}) +(\S) +(\S+)(?:[ \t]+\[(\S+)\])?")
"""The last part names a module, in /proc/kallsyms."""
ABSENT = re.compile(r" +[UwvN?] +\S+")
"""A symbol without an address: nm lists what a file lacks."""
SHOWN = 60
"""Characters of a bad line that the error shows."""


def read(path: str | os.PathLike[str]) -> tuple[KernelSymbol, ...]:
    """The symbols of a file, in its order, without those of modules; BadInput names the line."""
    label = printable(os.fspath(path))
    try:
        # Opening a FIFO would wait for a writer for ever.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise BadInput(f"{label}: is not a regular file")
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{label}: cannot be read: {reason}") from error
    return parse(data, label)


def parse(data: bytes, label: str) -> tuple[KernelSymbol, ...]:
    """The symbols that the bytes of a file list; BadInput names the line that is wrong."""
    found = tuple(_symbols(data, label))
    if not found:
        raise BadInput(f"{label}: lists no symbols", hint="expected lines `address type name`")
    if not any(symbol.address for symbol in found):
        raise BadInput(
            f"{label}: every address is 0",
            hint="/proc/kallsyms hides addresses from users; read it as root",
        )
    return found


def _symbols(data: bytes, label: str) -> Iterator[KernelSymbol]:
    for number, raw in enumerate(data.splitlines(), 1):
        # Names are bytes to the kernel; a byte that is no UTF-8 stays one character.
        line = raw.decode("utf-8", "surrogateescape")
        found = LINE.fullmatch(line.strip())
        if found is None or found[2] not in LETTERS:
            if not line.strip() or ABSENT.fullmatch(line):
                continue
            raise BadInput(
                f"{label}: line {number} is not `address type name`: {printable(line[:SHOWN])}"
            )
        if found[4] is None:
            yield KernelSymbol(int(found[1], 16), found[2], found[3])


def added(image: Image, found: Sequence[KernelSymbol], label: str) -> Image:
    """The image with the symbols of a list added to its own, or BadInput for another build's list.

    A list is another build's when most of the names that both have are elsewhere, or when none of
    it is in the image's code.
    """
    own = {(s.name, s.st_value) for s in image.symbols if s.st_shndx}
    names = {name for name, _ in own}
    both = [symbol for symbol in found if symbol.name in names]
    same = sum((symbol.name, symbol.address) in own for symbol in both)
    if 2 * same < len(both):
        raise BadInput(
            f"{label}: lists another build than {image.name}: {len(both) - same} of {len(both)}"
            " symbols that both have are elsewhere"
        )
    more = [s for s in as_symbols(found, image) if (s.name, s.st_value) not in own]
    if not any(s.st_type == STT_FUNC for s in more) and not same:
        raise BadInput(f"{label}: none of its symbols is in the code of {image.name}")
    return replace(image, symbols=(*image.symbols, *more))
