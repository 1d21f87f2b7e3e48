"""How many instructions a machine executes: a plugin of the emulator, compiled when it is needed.

The plugin (`executed.c`) is a shared object for the host, so it is not shipped compiled.  Compiling
takes a fraction of the time of one boot, so nothing is kept between runs.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("executed.c")
_LIMIT = 60  # seconds that the compiler may take


class CannotCount(Exception):
    """Why instructions are not counted."""


@dataclass(frozen=True)
class Plugin:
    """The compiled plugin, in a folder that outlives the boots."""

    path: Path

    def options(self, owners: Sequence[tuple[int, str]]) -> tuple[str, ...]:
        """What the emulator is told; `owners` as `Kernel.owners` gives them."""
        starts = "".join(f",at={start:#x}" for start, _ in owners[1:])
        return ("-plugin", f"{self.path},out={self._out}{starts}")

    def executed(self, owners: Sequence[tuple[int, str]]) -> Mapping[str, int]:
        """Instructions of the run that just ended, by owner; once for each run."""
        numbers = map(int, self._out.read_text(encoding="ascii").split())
        self._out.unlink()
        counts: Counter[str] = Counter()
        for (_, owner), number in zip(owners, numbers, strict=True):
            counts[owner] += number
        return counts

    @property
    def _out(self) -> Path:
        return self.path.with_name("executed")


@dataclass(frozen=True)
class Observer(Plugin):
    """Another plugin, with what it is told; it counts nothing by owner."""

    told: str

    def options(self, owners: Sequence[tuple[int, str]]) -> tuple[str, ...]:
        """What the emulator is told."""
        return ("-plugin", self.told)

    def executed(self, owners: Sequence[tuple[int, str]]) -> Mapping[str, int]:
        """Nothing."""
        return {}


def compiled(folder: Path, source: Path) -> Plugin:
    """Compiles a plugin into a folder; CannotCount without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise CannotCount("cc is not installed")
    path = folder / f"{source.stem}.so"
    command = (compiler, "-O2", "-fPIC", "-shared", str(source), "-o", str(path))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotCount(f"cc: {error}") from error
    if done.returncode:
        first = next(iter(done.stderr.splitlines()), f"status {done.returncode}")
        raise CannotCount(f"cc: {first}")
    return Plugin(path)
