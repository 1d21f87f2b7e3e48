"""A CPU that does not run a file's code is refused, wherever the two meet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.api import report
from rewriter.api.choose import Wanted
from rewriter.api.files import load
from rewriter.api.patch import patch
from rewriter.batch.engine import run as batch
from rewriter.batch.outcome import NOTHING, REFUSED, TUNED
from rewriter.batch.policy import Policy
from rewriter.core.errors import BadInput
from rewriter.elf.image import parse
from tests.conftest import Run

NARROW, WIDE, LITTLE = "ppc-libnss_dns", "ppc64-libnsl", "ppc64el-libresolv"
UNFIT = {
    WIDE: ("64-bit big-endian", ("603e", "750", "7400", "7450")),
    LITTLE: ("64-bit little-endian", ("7450", "970", "power4", "power7")),
}
"""By file, what its code is, and CPUs that do not run that: by their manuals those of 32 bits, and
POWER4 and the 970 have no little-endian order; Linux has such programs for POWER8 and later."""
FIT = ((NARROW, "603e"), (NARROW, "970"), (NARROW, "power9"), (WIDE, "power4"), (LITTLE, "power8"))


@pytest.mark.parametrize(
    ("name", "cpu"), [(name, cpu) for name, (_, cpus) in UNFIT.items() for cpu in cpus]
)
def test_a_cpu_that_does_not_run_a_file(name: str, cpu: str, run: Run) -> None:
    file, said = inputs.require(name), f"runs no {UNFIT[name][0]} code (known for this file: "
    for command in (
        ("patch", file, "--dry-run", "--cpu", cpu),
        ("patch", file, "--dry-run", "--cpu", cpu, "--passes", "none"),
        ("explain", file, "_init", "--cpu", cpu),
        ("bench", file, "--cpu", cpu),
    ):
        result = run(*command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"retune: --cpu {cpu}: {said}")
        assert result.stderr.endswith("power8, power9, power10)\n")
    result = run("patch", file, "--dry-run", "--cpu", "power9", "--tune", cpu)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"retune: --tune {cpu}: {said}")


@pytest.mark.parametrize(("name", "cpu"), FIT)
def test_a_cpu_that_runs_a_file(name: str, cpu: str, run: Run) -> None:
    """64-bit processors run 32-bit programs too."""
    command = ("patch", inputs.require(name), "--dry-run", "--cpu", cpu, "--max-edits", "1")
    assert run(*command).exit_code in (0, 4)  # 4: no pass finds anything


def test_of_a_tree_only_such_files_are_refused(tmp_path: Path) -> None:
    for name in (NARROW, WIDE):
        (tmp_path / name).write_bytes(inputs.require(name).read_bytes())
    policy = Policy({"ppc": Wanted(cpu="7450", passes="bitscan")}).check()
    summary = batch([tmp_path], policy, jobs=1)
    said = {Path(line.path).name: line for line in summary.each}
    assert said[NARROW].status in (TUNED, NOTHING)
    assert said[WIDE].status == REFUSED
    assert said[WIDE].reason.startswith("--cpu 7450: runs no 64-bit big-endian code")


def test_a_manifest_with_such_a_cpu_has_no_page() -> None:
    old = load(inputs.require(WIDE))
    made = patch(old, Wanted(cpu="970", passes="align"))
    assert made.tuned is not None
    assert made.record is not None
    new, record = parse(made.tuned.data, "new.so"), replace(made.record, cpu="7450")
    with pytest.raises(BadInput, match="its manifest: cpu 7450: runs no 64-bit big-endian code"):
        report.of_pair(old, new, record)
