"""README and guides: their commands are run, their links lead somewhere, README is short."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures import corners, inputs
from tests.interface.blocks import Block, agrees, blocks

ROOT = Path(__file__).resolve().parents[2]
README, DOCS = ROOT / "README.md", ROOT / "docs"
READ = (README, *(DOCS / f"{name}.md" for name in ("guide", "extending", "troubleshooting")))
EVERY = [block for page in READ for block in blocks(page)]
SESSIONS = [block for block in EVERY if block.language == "console"]
HELLO = '#include <stdio.h>\nint main(void) { return puts("hello from the libc") < 0; }\n'
THROW = """#include <cstdio>
#include <stdexcept>
int main()
{
    try {
        throw std::runtime_error("caught through the retuned libgcc_s");
    } catch (const std::exception& error) {
        return std::puts(error.what()) < 0;
    }
}
"""
CONTROL = """Package: libsample
Version: 1.0
Architecture: alpha
Maintainer: Nobody <nobody@example.org>
Description: the sample library
"""


def _libc(folder: Path, request: pytest.FixtureRequest) -> None:
    shutil.copy(request.getfixturevalue("libc"), folder / "libc.so.6.1")


def _tuned(folder: Path, request: pytest.FixtureRequest) -> None:
    _libc(folder, request)
    (folder / "tuned").mkdir()
    shutil.copy(request.getfixturevalue("libc_ev67"), folder / "tuned" / "libc.so.6.1")


def _qemu(folder: Path, request: pytest.FixtureRequest) -> None:
    for name in ("qemu-alpha", "alpha-linux-gnu-gcc"):
        inputs.require_tool(name)
    inputs.or_skip(inputs.find_headers, "alpha-linux-headers")
    (folder / "hello.c").write_text(HELLO)


def _ppc(folder: Path, request: pytest.FixtureRequest) -> None:
    for name in ("qemu-ppc", "qemu-ppc64le", "powerpc-linux-gnu-g++", "powerpc64le-linux-gnu-g++"):
        inputs.require_tool(name)
    for name in ("ppc-libgcc_s", "ppc64el-libgcc_s"):
        inputs.require(name)
    (folder / "throw.cc").write_text(THROW)


def _package(folder: Path, request: pytest.FixtureRequest) -> None:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("no dpkg-deb: not a Debian system")
    made = folder / "made"
    (made / "DEBIAN").mkdir(parents=True)
    (made / "DEBIAN" / "control").write_text(CONTROL)
    (made / "usr" / "lib").mkdir(parents=True)
    shutil.copy(inputs.require("alpha-sample"), made / "usr" / "lib" / "libsample.so")
    out = folder / "libsample_1.0_alpha.deb"
    subprocess.run(("dpkg-deb", "--build", made, out), check=True, capture_output=True)


def _example(folder: Path, request: pytest.FixtureRequest) -> None:
    shutil.copytree(DOCS / "plugin-example", folder / "plugin-example")
    shutil.copy(inputs.or_skip(corners.assembled, "scaled.s"), folder / "scaled.so")


PREPARED: dict[str, Callable[[Path, pytest.FixtureRequest], None]] = {
    "libc": _libc,
    "tuned": _tuned,
    "qemu": _qemu,
    "package": _package,
    "ppc": _ppc,
    "example": _example,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which a user might stand: the checkout's fixtures are there."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    return tmp_path


def typed(folder: Path, command: str) -> tuple[int, str]:
    """Exit status and output of a command line.

    What pip installs stays in the folder, and is built with what is here, without a network.
    """
    site = str(folder / "site")
    pip = {"PIP_TARGET": site, "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1"}
    pip["PIP_NO_BUILD_ISOLATION"] = "0"  # to pip, of an option that says no, this means yes
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ("bash", "-c", command),
        cwd=folder,
        env={**os.environ, **pip, "PATH": path, "PYTHONPATH": site},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("block", SESSIONS, ids=str)
def test_a_session_is_as_it_is_shown(
    block: Block, folder: Path, request: pytest.FixtureRequest
) -> None:
    for need in block.needs:
        PREPARED[need](folder, request)
    for command, expected in block.commands:
        status, printed = typed(folder, command)
        assert status == 0, f"{command}\n{printed}"
        assert agrees(expected, printed), f"{command}\n{printed}"


@pytest.mark.parametrize("block", [b for b in EVERY if b not in SESSIONS], ids=str)
def test_what_is_not_run_here_is_run_by_a_test(block: Block) -> None:
    """What takes long, root, or another machine; plain text is not for this machine."""
    assert block.language in ("sh", "python", "text")
    if block.language != "text":
        path, _, name = block.tested_by.partition("::")
        assert (ROOT / path).is_file(), f"{block}: say which test runs it"
        assert f"def {name}" in (ROOT / path).read_text()


@pytest.mark.parametrize(
    ("expected", "printed", "agreed"),
    [
        (["a"], "a\n", True),
        (["a"], "b\n", False),
        (["a"], "a\nb\n", False),
        ([], "a\n", False),
        (["...", "b"], "a\na\nb\n", True),
        (["...", "b"], "a\nb\nc\n", False),
        (["a", "...", "b", "..."], "a\nx\nb\n", True),
    ],
)
def test_a_wrong_session_is_seen(expected: list[str], printed: str, agreed: bool) -> None:
    assert agrees(expected, printed) == agreed


def test_the_readme_is_short_and_names_every_command(folder: Path) -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= 150
    _, printed = typed(folder, "retune --help")
    commands = [line.split()[0] for line in printed.split("Commands:\n")[1].splitlines()]
    assert [name for name in commands if f"`{name}" not in text] == []


PAGES = [README, *sorted(DOCS.glob("*.md")), *sorted(ROOT.glob("*/README.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        there = (page.parent / path) if path else page
        if not there.exists() or (anchor and anchor not in _anchors(there)):
            wrong.append(link)
    assert wrong == []


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made where repositories are shown."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
