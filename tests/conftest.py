"""What several groups of tests share: the real files, the command, files patched once per run."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import settings

import targets
from fixtures import inputs
from rewriter.analysis import program
from rewriter.analysis.program import Program, analyse
from rewriter.bisect import readers
from rewriter.cli import main
from rewriter.core.assumptions import EVERY
from rewriter.core.run.guard import INTERNAL, strict
from rewriter.core.target.protocol import Sequential
from rewriter.difftest.directions import counted
from rewriter.elf.image import Image, load
from rewriter.report.html import plain
from rewriter.road import pipeline
from rewriter.verify import check
from tests.support.depth import DEEP

settings.register_profile("any machine", deadline=None)  # its speed is nothing that tests ask
settings.load_profile("any machine")

# A worker keeps files analysed for a whole run: looking for garbage among them takes one second
# of fifteen where it is as often as Python's own.
gc.set_threshold(200_000, 20, 20)

MEMORY = Path("/dev/shm")
ROOM = 8 << 30
"""Bytes that must be free there: those of a whole run are less than a tenth."""


def _lends_itself(folder: Path) -> bool:
    """Whether a folder has room for all that tests write, and for programs that are run."""
    if not os.access(folder, os.W_OK):
        return False
    about = os.statvfs(folder)
    return not about.f_flag & os.ST_NOEXEC and about.f_bavail * about.f_frsize > ROOM


if "TMPDIR" not in os.environ and _lends_itself(MEMORY):  # each output is synchronized twice
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

if "PYTEST_XDIST_WORKER" in os.environ:  # the workers have the processors among them
    os.environ.setdefault("RETUNE_JOBS", "1")

Run = Callable[..., Result]
Retune = Callable[..., subprocess.CompletedProcess[str]]
Patched = Callable[..., Path]
SUMMARY = "summary"
"""Beside a file of `patched`: what the command printed."""

SHARED = "patched"
PROVED = ("--passes", "bytes,bitscan,align,schedule")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules that use files made once for all workers come first, and so to the first worker.

    The second one begins in the middle: it would wait for what the first one makes just then.
    Long ones follow: left to the end, one of them would go on alone.
    """
    sharing = {i.path for i in items if isinstance(i, pytest.Function) and SHARED in i.fixturenames}
    long = {i.path for i in items if i.get_closest_marker("long")}
    items.sort(key=lambda item: (item.path not in sharing, item.path not in long))


@pytest.fixture(scope="session", autouse=True)
def errors_are_raised() -> Iterator[None]:
    """An unforeseen exception in one function fails the test: no reason hides it."""
    with strict():
        yield


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard() -> None:
    """What is started here can be interrupted, also where the tests were started by `nohup`."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session")
def retune() -> Retune:
    """Runs the `retune` command as a user does: `retune("patch", path, ...)`.

    A report of an error in retune itself fails the test, as an exception does in this process.
    """
    command = Path(sys.executable).with_name("retune")

    def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            (str(command), *map(str, arguments)), capture_output=True, text=True, check=False
        )
        if INTERNAL in done.stdout or INTERNAL in done.stderr:
            pytest.fail(f"retune {arguments[0]}: {done.stdout}{done.stderr}")
        return done

    return call


@pytest.fixture(scope="session")
def run() -> Run:
    """`run("patch", path, ...)`: exit status, stdout and stderr; an exception is a failure."""

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(
            main, [str(a) for a in arguments], prog_name="retune", catch_exceptions=False
        )

    return call


ANALYSING = (program, pipeline, check, readers, counted, plain)
"""Modules that have `analyse` by its name."""


@pytest.fixture(scope="module")
def analysed_once() -> Iterator[None]:
    """A file that a module's tests ask about again and again is analysed for the first of them.

    What is known of a file follows from the file, how its code is read and what may be assumed; not
    from how many processes find it.
    """
    known = list[Program]()

    def remembered(
        image: Image, target: Sequential, assume: frozenset[str] = EVERY, jobs: int = 1
    ) -> Program:
        asked = (image, target, assume)
        found = next((one for one in known if (one.image, one.target, one.assume) == asked), None)
        if found is None:
            found = analyse(*asked, jobs)
            known.append(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        for module in ANALYSING:
            patch.setattr(module, "analyse", remembered)
        yield


@pytest.fixture(scope="session")
def patched(retune: Retune, tmp_path_factory: pytest.TempPathFactory) -> Patched:
    """`patched(name, cpu)`: an input retuned for a CPU, made once for all workers of this run.

    Routines that two of them have are tried for the first one alone (`--cache`).
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # a worker's folder is one of this run's
        shared = shared.parent
    kept = shared / "kept"

    def make(name: str, cpu: str, options: Sequence[str] = ()) -> Path:
        original = inputs.require(name)
        folder = shared / "-".join(("patched", name, cpu, *options)).replace("/", "_")
        folder.mkdir(exist_ok=True)
        target = folder / original.name
        # Workers of pytest-xdist share this folder: the first one patches, the others wait.
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.is_file():
                command = ("patch", original, "-o", target, "--cpu", cpu, "--cache", kept)
                done = retune(*command, *options)
                if done.returncode:
                    pytest.fail(f"retune patch ended with {done.returncode}: {done.stderr}")
                (folder / SUMMARY).write_text(done.stdout)
        return target

    return make


@pytest.fixture(scope="session")
def libc() -> Path:
    """The real Alpha libc."""
    return inputs.require("alpha-libc")


@pytest.fixture(scope="session")
def libc_program(libc: Path) -> Program:
    """What is known of it."""
    image = load(libc)
    target = targets.of(image).sequential
    assert target is not None
    return analyse(image, target)


@pytest.fixture(scope="session")
def libc_ev67(patched: Patched) -> Path:
    """The Alpha libc retuned for an EV67: byte and word memory, counts of bits."""
    return patched("alpha-libc", "ev67")


SHARE = "_?_?(str|mem|wcs|qsort|msort|_IO_|vfprintf|printf).*"
"""Functions of the C library that are retuned where a share of them will do."""

_SHORT = "_?_?(mem(cpy|move|set)|str(chr|to|f|er|s)|qsort|msort).*"
FEW = "_?_?(str|mem|qsort|msort).*" if DEEP else _SHORT
"""Fewer of them, for a second machine."""


@pytest.fixture(scope="session")
def libc_ev56(patched: Patched) -> Path:
    """The Alpha libc retuned for an EV56: byte and word memory, no counts of bits."""
    return patched("alpha-libc", "ev56", () if DEEP else ("--passes", "bytes", "--funcs", SHARE))


@pytest.fixture(scope="session")
def libc_proved(patched: Patched) -> Path:
    """The Alpha libc, or a share of it, retuned for an EV67 by proving passes: not longer."""
    return patched("alpha-libc", "ev67", PROVED if DEEP else (*PROVED, "--funcs", SHARE))
