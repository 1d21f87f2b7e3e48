"""`make demo`: what a visitor sees of it, on the real libc."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.report.summary import brief
from scripts import demo
from tests.conftest import SUMMARY
from tests.support.depth import DEEP

MOST = 40
"""Lines that fit a screen."""


def test_the_demo_fits_a_screen(
    libc: Path, libc_ev67: Path, libc_proved: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The summary of the patch, then verify and a program, with a line for each command.

    `verify` is shown on a share of the functions: of the whole file, `patch` says nothing else.
    """
    summary = (libc_ev67.parent / SUMMARY).read_text().splitlines()
    assert len(summary) <= brief.LINES
    assert demo.shown(libc, libc_ev67 if DEEP else libc_proved) == 0
    rest = capfd.readouterr().out.splitlines()
    assert rest.index("verified") == rest.index("manifest: leads back to the original") + 1
    assert len(["$ retune patch", *summary, *rest]) <= MOST


def test_the_summary_of_the_libc(libc_ev67: Path) -> None:
    """A line for what each pass did, for what was left alone, for evidence and assumptions."""
    lines = (libc_ev67.parent / SUMMARY).read_text().splitlines()
    for beginning in (
        "bytes: ",
        "align: ",
        "sink: ",
        "also: ",
        "read: ",
        "evidence: ",
        "assumed by ",
    ):
        assert [line for line in lines if line.startswith(beginning)] != [], beginning
    assert sum(line.startswith("left alone: ") for line in lines) == 2
    assert lines[-1].endswith(" instructions saved")
