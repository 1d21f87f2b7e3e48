"""Real loops that the list scheduler could not finish: nops stood between what may move."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures import inputs
from tests.support.depth import DEEP

SOURCES = Path(__file__).parents[3] / "fixtures" / "corners"
Retune = Callable[..., subprocess.CompletedProcess[str]]


def test_a_program_of_trapping_arithmetic(retune: Retune, tmp_path: Path) -> None:
    """It is tuned, verified, and prints what it printed."""
    compiler, qemu = map(inputs.require_tool, ("alpha-linux-gnu-gcc", "qemu-alpha"))
    system = inputs.require("alpha-libc").parent.parent
    old, new = tmp_path / "old", tmp_path / "new"
    flags = ("-O2", "-mcpu=ev4", "-ftrapv", "-w")
    subprocess.run((compiler, *flags, SOURCES / "p01.c", "-o", old), check=True)
    done = retune("patch", old, "-o", new, "--cpu", "ev67", "-v")
    assert done.returncode == 0, done.stderr
    assert "schedule:" in done.stdout
    assert retune("verify", old, new).returncode == 0
    printed = [
        subprocess.run((qemu, "-cpu", "ev67", "-L", system, one), capture_output=True, check=True)
        for one in (old, new)
    ]
    assert printed[0].stdout
    assert printed[1].stdout == printed[0].stdout


@pytest.mark.skipif(not DEEP, reason="long: `make test-deep` runs it")
@pytest.mark.parametrize("name", ("image_1draw.DrawMask",))
def test_a_long_function(name: str, retune: Retune, tmp_path: Path) -> None:
    """A function of the Go library, with all passes, which made room for the nops.

    The library comes with its line table, which its own runtime reads.
    """
    new = tmp_path / "new.so"
    done = retune(
        *("patch", inputs.require("alpha-libgo"), "-o", new, "--cpu", "ev67"),
        *("-j", "1", "-v", "--debug", "lines", "--funcs", name.replace(".", r"\.")),
    )
    assert done.returncode == 0, done.stderr
    assert f"schedule:{name}+" in done.stdout
