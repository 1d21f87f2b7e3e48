"""What was measured on real machines against the model: the tables of benchmarks/measured.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import measured, timing
from benchmarks.limbs import ROUTINES, Limbs
from benchmarks.timing import Check
from fixtures import timed_code
from fixtures.inputs import Missing
from tests.support.depth import DEEP

CHECKS = measured.checks()
PAGE = Path(__file__).resolve().parents[2] / "docs" / "timing.md"
LINES = PAGE.read_text(encoding="utf-8").splitlines()
START = LINES.index(measured.HEAD[0])
ROWS = LINES[START + len(measured.HEAD) : LINES.index("", START)]
# How far the model may be off.  What sets a parameter of a machine is met exactly.
TOLERANCE = {"ev4": 0.07, "ev5": 0.13, "ev6": 0.43, "ev67": 0.21}
LMBENCH = 0.3  # the same cache by another program; the machine's clock is not known


def allowed(check: Check) -> float:
    """As a part of the measured figure."""
    if "probe" in check.what:
        return 0
    return LMBENCH if "LMbench" in check.source else TOLERANCE[check.cpu]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.cpu}: {check.what}")
def test_measured_figure(check: Check) -> None:
    if "Linux' xor" in check.what and not DEEP:
        pytest.skip("it unpacks the source of Linux: RETUNE_TESTS=deep")
    try:
        got = check.model()
    except Missing as missing:
        pytest.skip(str(missing))
    assert abs(got - check.published) <= allowed(check) * check.published + 1e-9
    assert ROWS.count(timing.row(check, got)) == 1


def test_the_page_has_a_line_for_each_check() -> None:
    assert [row.split(" | ")[:2] for row in ROWS] == [[f"| {c.cpu}", c.what] for c in CHECKS]
    assert len(CHECKS) == len({(c.cpu, c.what) for c in CHECKS})


def test_the_page_has_the_mean_errors_of_its_lines() -> None:
    errors: dict[str, list[float]] = {}
    for row, check in zip(ROWS, CHECKS, strict=True):
        published, model = row.split(" | ")[2:4]
        if measured.is_code(check):
            errors.setdefault(check.cpu, []).append(float(model) / float(published) - 1)
    shown = "\n".join(measured.means(errors))
    assert shown in "\n".join(LINES[START:])


@pytest.mark.parametrize("routine", ROUTINES, ids=lambda routine: routine.file)
def test_gmps_source_says_so(routine: Limbs) -> None:
    """Each figure stands in the routine's own file, behind the name of the chip."""
    try:
        text = timed_code.gmp_source(routine.file).read_text(encoding="latin-1")
    except Missing as missing:
        pytest.skip(str(missing))
    for cpu, cycles in routine.cycles.items():
        said = re.findall(rf"(?i){cpu}:\s*([\d.]+)|([\d.]+) cycles/limb on {cpu}", text)
        assert cycles in [float(one or other) for one, other in said], cpu
