"""Cases through a routine inside qemu user emulation, a million a second.

A `Program` is a tiny static executable that the target provides.  It reads commands of four words
from standard input, the first of which says what:

| word | 0 map | 1 load | 2 run |
|---|---|---|---|
| 1 | address | address | the routine's address |
| 2 | bytes | bytes, which follow | bytes of cases, which follow |
| 3 | protection as in mmap | | CPU time: seconds times 2**32, and microseconds; 0 is no limit |

A case is ten words: its number of pieces at word 1, arguments from word 2; then address and bytes
of each piece; then their content.  The program puts the content there, sets every register, calls
the routine, writes the result to word 2 and the mask of changed registers to word 3, and brings
the content back.  After a run all cases are written to standard output.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rewriter.core.run import interrupts
from rewriter.core.trials import Program
from rewriter.verify.trials.engines.qemu import (
    GuestDied,
    GuestHung,
    emulator,
    static_executable,
)

MAP, LOAD, RUN = range(3)
READ_WRITE_EXECUTE = 7
_PAGE = 0x10000  # a multiple of every page size
_OTHERS, _WORD = 0x1000, 4  # bytes of other files' data, and of a word of it


@dataclass(frozen=True, slots=True)
class Code:
    """A routine as bytes in memory.

    `parts` are addresses and what is loaded there; `shared` is what the register for shared data
    holds when it is called; `resumes` says where to go on after a fault of an instruction;
    `outside` is where it finds data of other files, 0 where there is none.
    """

    name: str
    parts: tuple[tuple[int, bytes], ...]
    entry: int
    shared: int = 0
    resumes: tuple[tuple[int, int], ...] = ()
    outside: int = 0

    def patched(self, address: int, content: bytes) -> Code:
        """The same with some bytes changed."""
        parts = []
        for start, data in self.parts:
            at = address - start
            inside = at >= 0 and at + len(content) <= len(data)
            parts.append(
                (start, data[:at] + content + data[at + len(content) :] if inside else data)
            )
        return replace(self, parts=tuple(parts))

    def others(self, word: int | None, order: Literal["little", "big"]) -> bytes:
        """What is at `outside` if every word of other files' data holds this."""
        if not self.outside or word is None:
            return b""
        return word.to_bytes(_WORD, order) * (_OTHERS // _WORD)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: as many bytes of cases as were finished, and how the program ended."""

    output: NDArray[np.uint8]
    status: int

    @property
    def died(self) -> str:
        """Why the program ended early, or nothing."""
        if self.status == 0:
            return ""
        if self.status < 0:
            name = signal.Signals(-self.status).name
            return "it runs too long" if name == "SIGVTALRM" else f"it dies of {name}"
        return f"the program ends with status {self.status}"


def poison(program: Program, shared: int) -> NDArray[np.uint64]:
    """A different value for each register, but a good stack pointer and shared pointer.

    About half of the bytes are zero, so that none does where zeros or ones are needed.
    """
    values = np.arange(1, 33, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    halves = (values * np.uint64(0x100000001B3)).view(np.uint8) < 128
    values = (values.view(np.uint8) * halves).view(np.uint64)
    values[program.linkage.stack] = program.stack
    values[program.linkage.shared] = shared or int(values[program.linkage.shared])
    return values


class Sweep:
    """Runs the program; a context manager, because the executable is a temporary file."""

    def __init__(self, program: Program, *, timeout: float = 300) -> None:
        """`timeout` is wall time in seconds, for a guest that hangs outside the routine."""
        self.program = program
        self._timeout = timeout
        self._command = emulator(program)
        self._order = "<u8" if program.byteorder == "little" else ">u8"
        self._folder = contextlib.ExitStack()
        self._path = self._folder.enter_context(interrupts.folder("retune-sweep-"))
        executable = self._path / "program"
        executable.write_bytes(static_executable(program))
        executable.chmod(0o755)

    def __enter__(self) -> Sweep:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.close()

    def run(self, code: Code, chunks: Sequence[NDArray[np.uint8]], microseconds: int = 0) -> Answer:
        """Runs `code` over chunks of cases; `microseconds` of CPU time for each chunk."""
        commands, answers = self._path / "commands", self._path / "answers"
        seconds, rest = divmod(microseconds, 1_000_000)
        with commands.open("wb") as stream:
            stream.write(self._set_up(code))
            for chunk in chunks:
                stream.write(self._words(RUN, code.entry, len(chunk), seconds << 32 | rest))
                stream.write(np.ascontiguousarray(chunk).data)
        with commands.open("rb") as stdin, answers.open("wb") as stdout:
            try:
                run = subprocess.run(
                    (*self._command, str(self._path / "program")),
                    stdin=stdin,
                    stdout=stdout,
                    stderr=subprocess.DEVNULL,
                    timeout=self._timeout,
                    check=False,
                )
            except subprocess.TimeoutExpired as expired:
                raise GuestHung(
                    f"{self._command[0]}: nothing for {expired.timeout:.0f} s"
                ) from None
        if run.returncode == 1:
            raise GuestDied(f"{self._command[0]}: the program could not map memory or read")
        return Answer(np.fromfile(answers, dtype=np.uint8), run.returncode)

    def _words(self, *values: int) -> bytes:
        return np.array(values, dtype=self._order).tobytes()

    def _set_up(self, code: Code) -> bytes:
        arena = self.program.arena
        rooms = [(arena.start(n), arena.room) for n in range(arena.rooms)]
        space = [(start & -_PAGE, start + len(data)) for start, data in code.parts]
        commands = [self._words(MAP, arena.base, 2 * arena.rooms * arena.room, 0)]
        commands += [
            self._words(MAP, start, size, READ_WRITE_EXECUTE)
            for start, size in (*rooms, *((start, end - start) for start, end in space))
        ]
        table = poison(self.program, code.shared).astype(self._order).tobytes()
        for start, data in ((self.program.registers, table), *code.parts):
            commands += [self._words(LOAD, start, len(data), 0), data]
        return b"".join(commands)
