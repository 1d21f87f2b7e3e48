"""How long the page of a retuned file takes to make and to open, and how big it is.

    python benchmarks/report.py [INPUT CPU]...

Of the Alpha libc and kernel for an EV67, unless others are given.  Each is retuned first (minutes
for the kernel).  Printed: edits, functions changed, megabytes of the page, seconds to make it, the
best, the median and the worst of some times that headless Chromium took until tables, charts and
controls were there, how long the first listing took, and what the console said.  The exit status is
1 when the median was not within two seconds, or the console said anything.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fixtures.inputs import find, tool
from rewriter.api import files
from rewriter.api.choose import Wanted
from rewriter.api.patch import patch
from rewriter.api.report import of_patched

INPUTS = ("alpha-libc", "ev67", "alpha-vmlinux", "ev67")
TIMES = 5
LIMIT = 2.0
"""Seconds in which a page is to be open."""

JOBS = 2
READY = "return document.documentElement.dataset.ready === 'yes'"
OPENED = "return document.querySelectorAll('#function[open] .listing tr').length > 0"


@contextmanager
def browser() -> Iterator[Any]:
    """Headless Chromium, Debian's."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = tool("chromium")
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=tool("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def until(driver: Any, condition: str) -> float:
    """Seconds until a condition holds."""
    start = time.monotonic()
    while not driver.execute_script(condition):
        time.sleep(0.005)
    return time.monotonic() - start


def opened(driver: Any, page: Path) -> tuple[float, float]:
    """Seconds until a page is ready, and until its first function is there as a listing."""
    driver.get("about:blank")
    start = time.monotonic()
    driver.get(page.as_uri())
    until(driver, READY)
    ready = time.monotonic() - start
    driver.execute_script("document.querySelector('[data-table=functions] tbody a').click()")
    return ready, until(driver, OPENED)


def measure(name: str, cpu: str, folder: Path) -> bool:
    """Prints one file's figures; whether they are as wanted."""
    patched = patch(files.load(find(name)), Wanted(cpu=cpu), jobs=JOBS)
    start = time.monotonic()
    data = of_patched(patched, jobs=JOBS)
    making = time.monotonic() - start
    page = folder / f"{name}.html"
    page.write_bytes(data)
    edits = patched.report.edits
    changed = len({edit.routine for edit in edits})
    with browser() as driver:
        times = [opened(driver, page) for _ in range(TIMES)]
        said = [entry["message"] for entry in driver.get_log("browser")]
    ready = sorted(first for first, _ in times)
    shown = median(listing for _, listing in times)
    print(
        f"{name}: {len(edits)} edits in {changed} functions, {len(data) / 1e6:.1f} MB made in"
        f" {making:.1f} s, open in {ready[0]:.2f}, {median(ready):.2f}, {ready[-1]:.2f} s,"
        f" first listing in {shown:.2f} s, console: {said or 'nothing'}",
        flush=True,
    )
    return median(ready) < LIMIT and not said


def main(arguments: list[str]) -> int:
    """Every file; the exit status."""
    pairs = list(zip(arguments[::2], arguments[1::2], strict=True))
    with tempfile.TemporaryDirectory() as folder:
        fine = [measure(name, cpu, Path(folder)) for name, cpu in pairs]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(INPUTS)))
