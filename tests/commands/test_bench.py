"""`retune bench`: the article's suite on the real kernel."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs
from rewriter.contracts.calls import KEPT
from rewriter.suites.article import COUNTED, MIX, SHARE, UNSEEN

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def kernel() -> Path:
    return inputs.require("alpha-vmlinux")


def test_every_job_is_timed_on_the_kernels_routines(run: Run, kernel: Path) -> None:
    document = json.loads(run("bench", kernel, "--cpu", "ev67", "--json").stdout)
    assert document["not_timed"] == {}
    assert len(document["jobs"]) == len(MIX)
    total = {"cycles": 0, "retuned": 0}
    for job in document["jobs"]:
        assert job["cycles"] > 0
        assert job["retuned"] > 0
        for name in total:
            total[name] += job["calls"] * job[name]
    assert total == {name: document[name] for name in total}
    # WH64 saves the read of each line that is stored: a third of the bus's work for a copy.
    pages = {job["routine"]: job for job in document["jobs"] if "page" in job["routine"]}
    assert pages["clear_page"]["retuned"] < 0.7 * pages["clear_page"]["cycles"]
    assert pages["copy_page"]["retuned"] < 0.8 * pages["copy_page"]["cycles"]


def test_machine_and_share_count(run: Run, kernel: Path) -> None:
    arguments = ("bench", kernel, "--cpu", "ev67", "--json")
    slow = json.loads(run(*arguments).stdout)
    fast = json.loads(run(*arguments, "--machine", "cs20", "--share", "1").stdout)
    assert (slow["machine"], fast["machine"]) == ("up1000", "cs20")
    assert fast["cycles"] < slow["cycles"]
    for document in (slow, fast):
        saved = 1 - document["retuned"] / document["cycles"]
        assert document["system_time_saved"] == pytest.approx(
            saved * document["share_of_system_time"]
        )


def test_what_was_counted_and_what_is_not_seen_is_said(run: Run, kernel: Path) -> None:
    result = run("bench", kernel, "--cpu", "ev6")
    assert result.exit_code == 0
    assert f"the mix, counted: {COUNTED.source}" in result.stdout
    for what in UNSEEN:
        assert f"not seen: {what}" in result.stdout
    given = run("bench", kernel, "--cpu", "ev6", "--share", "0.5")
    assert "take 50.0% of system time (--share)" in given.stdout


def test_the_mix_is_what_was_counted_in_a_boot_of_this_kernel(kernel: Path) -> None:
    """But for groups of calls below a hundredth of a routine's."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert kept["kernel_sha256"] == hashlib.sha256(kernel.read_bytes()).hexdigest()
    calls = Counter[str]()
    for job in MIX:
        calls[job.routine] += job.calls
    assert set(kept["calls"]) <= set(calls)
    for name, groups in kept["calls"].items():
        every = sum(group[-1] for group in groups)
        assert 0.9 * every <= calls[name] <= every
    assert 0 < SHARE < sum(kept["executed"].values()) / kept["instructions"] < 1


def test_what_a_file_lacks_is_said(run: Run) -> None:
    """The libc has no page routines."""
    libc = inputs.require("alpha-libc")
    document = json.loads(run("bench", libc, "--cpu", "ev67", "--json").stdout)
    assert document["not_timed"]["clear_page"] == "the file has no such symbol"
    assert {job["routine"] for job in document["jobs"]} >= {"memcpy", "strlen", "strchr"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cpu", "ev99"), "--cpu ev99: no such CPU"),
        (("--cpu", "ev67", "--machine", "pc"), "--machine pc: no such machine (known for alpha:"),
    ],
)
def test_bad_names(arguments: tuple[str, ...], message: str, run: Run) -> None:
    result = run("bench", inputs.require("alpha-sample"), *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
