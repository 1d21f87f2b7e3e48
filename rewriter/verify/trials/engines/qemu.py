"""Batches of cases through code of ours inside qemu user emulation: no libc, no cross compiler.

A guest is a tiny static executable that reads commands from standard input: a routine's address,
a count, and that many records; it runs the routine over the records in place and writes them
back.  One process does millions of cases.  What the code is, and how it is called, is the
target's: it hands in a `Guest`.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rewriter.core.errors import RetuneError, VerificationFailed
from rewriter.core.run import interrupts
from rewriter.core.trials import Executable

Records = NDArray[np.uint8]


class Guest(Executable, Protocol):
    """A program that runs routines over records."""

    @property
    def capacity(self) -> int:
        """Records that fit into the buffer at once."""
        ...

    @property
    def stride(self) -> int:
        """Bytes of one record."""
        ...


class EmulatorMissing(RetuneError):
    """The emulator is not installed."""


class GuestDied(VerificationFailed):
    """The guest did not finish: a trap, an illegal instruction, a crash of the emulator."""


class GuestHung(VerificationFailed):
    """The guest waits for something that does not come; the limit of processor time is no help."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Records for one routine, one per row."""

    routine: int
    records: Records


def static_executable(guest: Executable) -> bytes:
    """An ELF executable with one readable, writable, executable segment and nothing else."""
    order = "<" if guest.byteorder == "little" else ">"
    wide = guest.word_bits == 64
    code = guest.code()
    header, entry = (64, 56) if wide else (52, 32)
    # The segment starts with the headers: file offset 0 is then congruent to its address.
    start, offset = guest.base - header - entry, 0
    filesz, memsz = header + entry + len(code), header + entry + guest.memory_size
    identity = b"\x7fELF" + bytes((2 if wide else 1, 1 if order == "<" else 2, 1)).ljust(12, b"\0")
    word = "Q" if wide else "I"
    file_header = identity + struct.pack(
        f"{order}HHI{word * 3}IHHHHHH",
        *(2, guest.elf_machine, 1),
        *(guest.base, header, 0),
        *(guest.elf_flags, header, entry, 1, 0, 0, 0),
    )
    flags, align = 7, 0x10000
    if wide:
        fields = (1, flags, offset, start, start, filesz, memsz, align)
        segment = struct.pack(f"{order}II6Q", *fields)
    else:
        segment = struct.pack(f"{order}8I", 1, offset, start, start, filesz, memsz, flags, align)
    return file_header + segment + code


def headers_size(word_bits: int) -> int:
    """Bytes in front of the code: `base` less this must be on a page boundary."""
    return 64 + 56 if word_bits == 64 else 52 + 32


def emulator(guest: Executable) -> tuple[str, ...]:
    """The command that runs a guest; raises EmulatorMissing."""
    name, *options = guest.emulator
    program = shutil.which(name)
    if program is None:
        raise EmulatorMissing(f"{name} is not installed", hint="apt-get install qemu-user")
    return (program, *options)


class Qemu:
    """Runs batches on a guest."""

    def __init__(self, guest: Guest, *, timeout: float = 600) -> None:
        """`timeout` is in seconds, for one call of `run`."""
        self.guest = guest
        self.timeout = timeout
        self._command = emulator(guest)

    def run(self, batches: Sequence[Batch]) -> list[Records]:
        """The records of each batch as the guest leaves them."""
        parts = [part for batch in batches for part in self._split(batch)]
        with interrupts.folder("retune-guest-") as folder:
            output = self._execute(folder, parts)
        result, at = [], 0
        for batch in batches:
            size = batch.records.size
            result.append(output[at : at + size].reshape(batch.records.shape))
            at += size
        return result

    def _split(self, batch: Batch) -> Iterable[Batch]:
        if batch.records.shape[1:] != (self.guest.stride,):
            raise ValueError(f"records of {self.guest.stride} bytes, not {batch.records.shape}")
        for first in range(0, len(batch.records), self.guest.capacity):
            yield Batch(batch.routine, batch.records[first : first + self.guest.capacity])

    def _execute(self, folder: Path, parts: Sequence[Batch]) -> NDArray[np.uint8]:
        # Files, not pipes: the guest writes while its input is not yet all read.
        program, commands, answers = folder / "guest", folder / "commands", folder / "answers"
        program.write_bytes(static_executable(self.guest))
        program.chmod(0o755)
        order = "<" if self.guest.byteorder == "little" else ">"
        word = "Q" if self.guest.word_bits == 64 else "I"
        with commands.open("wb") as stream:
            for part in parts:
                stream.write(struct.pack(f"{order}2{word}", part.routine, len(part.records)))
                stream.write(np.ascontiguousarray(part.records).data)
        with commands.open("rb") as stdin, answers.open("wb") as stdout:
            run = subprocess.run(
                (*self._command, str(program)),
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.PIPE,
                timeout=self.timeout,
                check=False,
            )
        output = np.fromfile(answers, dtype=np.uint8)
        expected = sum(part.records.size for part in parts)
        if run.returncode or len(output) != expected:
            raise GuestDied(
                f"{self._command[0]} ended with status {run.returncode} after {len(output)} of"
                f" {expected} bytes: {run.stderr.decode(errors='replace').strip()}"
            )
        return output
