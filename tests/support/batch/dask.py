"""A Dask cluster on this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def started(*arguments: str, log: Path, found: str) -> Iterator[str]:
    """A process of Dask, once its log has what is looked for."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            (sys.executable, "-m", *arguments), stdout=file, stderr=subprocess.STDOUT
        )
    try:
        end = time.monotonic() + 120
        while not (match := re.search(found, log.read_text(errors="replace"))):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{arguments[0]}: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)
        yield match[0]
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """The address of a scheduler that has its workers."""
    with ExitStack() as stack:
        scheduler = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        address = stack.enter_context(
            started(
                *scheduler, "--no-dashboard", log=folder / "scheduler", found=r"tcp://127[\d.:]+"
            )
        )
        for number in range(workers):
            worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny")
            stack.enter_context(
                started(
                    *worker, "--no-dashboard", "--local-directory", str(folder),
                    log=folder / f"worker{number}", found="Registered to",
                )
            )  # fmt: skip
        yield address
