"""Pages of a small real file, made once a worker, and a browser to open them in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fixtures import inputs, members
from rewriter.api import files
from rewriter.api.choose import Wanted
from rewriter.api.patch import Patched as Retuned
from rewriter.api.patch import patch
from rewriter.api.report import of_patched

HOSTILE = {
    b"sample_base64": b"<i id=evil>!!",
    b"sample_reverse": b'"><svg onload=',
    b"sample_checksum": b"</script><b>xx\xe9",
    b"sample_fletcher": b"{{7*7}}&lt;\x1b[1m",
}
"""Names of functions in the sample, and what markup and templates could make of others."""

PROFILE = "E cycles\nS a90 30\nS 940 10\nS 770 5\nS X:41be50 5\n"
"""Of fifty samples thirty in sample_base64, five in another file."""


@dataclass(frozen=True)
class Page:
    """A page on disk, and the run that it is of."""

    path: Path
    run: Retuned

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return self.path.as_uri()


def made(path: Path, folder: Path, name: str, wanted: Wanted, profile: str = "") -> Page:
    """The page of a file that is retuned here."""
    loaded = files.load(path)
    taken = None
    if profile:
        (folder / "profile.txt").write_text(profile)
        taken = files.profile(folder / "profile.txt", loaded.image)
    run = patch(loaded, wanted, profile=taken)
    out = folder / name
    out.write_bytes(of_patched(run))
    return Page(out, run)


@pytest.fixture(scope="session")
def sample_page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The sample for an EV67, with a profile."""
    folder = tmp_path_factory.mktemp("page")
    return made(inputs.require("alpha-sample"), folder, "sample.html", Wanted(cpu="ev67"), PROFILE)


@pytest.fixture(scope="session")
def routines_page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A library of routines that are replaced."""
    library, folder = (
        inputs.or_skip(members.library, "libroutines.so"),
        tmp_path_factory.mktemp("page"),
    )
    return made(library, folder, "routines.html", Wanted(cpu="ev67", passes="substitute"))


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The sample with names of functions that are markup."""
    folder = tmp_path_factory.mktemp("hostile")
    data = inputs.require("alpha-sample").read_bytes()
    for name, evil in HOSTILE.items():
        assert len(name) == len(evil) and data.count(name + b"\0") == 1
        data = data.replace(name + b"\0", evil + b"\0")
    path = folder / "<b>x<b>.so"
    path.write_bytes(data)
    return made(path, folder, "hostile.html", Wanted(cpu="ev67"))


class Browser:
    """Headless Chromium; what its console says is an error of the page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, url: str, width: int = 1280, theme: str = "light") -> None:
        """Opens a page anew and waits until it says that it is ready."""
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": theme}]},
        )
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(url)
        self.until("document.documentElement.dataset.ready === 'yes'")

    def ask(self, script: str) -> Any:
        """The value of an expression in the page."""
        return self.driver.execute_script(f"return {script}")

    def do(self, script: str) -> None:
        """Runs statements in the page."""
        self.driver.execute_script(script)

    def until(self, condition: str, seconds: float = 60) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + seconds
        while not self.ask(f"Boolean({condition})"):
            assert time.monotonic() < end, f"never true: {condition}: {self.said()}"
            time.sleep(0.05)

    def said(self) -> list[str]:
        """What the console said since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a worker."""
    chromium, driver = inputs.require_tool("chromium"), inputs.require_tool("chromedriver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    started = webdriver.Chrome(options=options, service=service)
    started.set_script_timeout(60)
    try:
        yield Browser(started)
    finally:
        started.quit()


Unpack = Callable[[Path, str], Any]


@pytest.fixture(scope="session")
def unpacked() -> Unpack:
    """`unpacked(page, "tables")`: a packed part of a page, read without a browser."""
    import base64
    import gzip
    import json
    import re

    def read(path: Path, name: str) -> Any:
        found = re.search(f'<script [^>]*id="{name}"[^>]*>([^<]*)</script>', path.read_text())
        assert found
        return json.loads(gzip.decompress(base64.b64decode(found[1])))

    return read
