"""`retune bench`: the article's suite on the real kernel."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fixtures import inputs
from rewriter.contracts.calls import COMPILING
from rewriter.elf.image import load
from rewriter.suites.article import MEASURED, MIX, SEEN, UNSEEN, Job, sizes
from rewriter.suites.run import Clocked, SequentialClocks
from rewriter.suites.weighed import Weighed, weighed
from rewriter.verify.trials.image import function_named
from targets.alpha import Alpha
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.systems import UP1000

Run = Callable[..., Result]
PAGE = 8192
KEPT = json.loads(COMPILING.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def kernel() -> Path:
    return inputs.require("alpha-vmlinux")


@pytest.fixture(scope="module")
def document(run: Run, kernel: Path) -> dict[str, Any]:
    result = run("bench", kernel, "--cpu", "ev67", "--json")
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_every_job_is_timed_in_both_machines(document: dict[str, Any]) -> None:
    assert document["not_timed"] == {}
    jobs = len(MIX) + len(SEEN) + len(sizes(PAGE))
    for machine in document["machines"]:
        assert len(machine["jobs"]) == jobs
        for job in machine["jobs"]:
            assert 0 < job["warm"][0] < job["cold"][0]
        # WH64 saves the read of each line that is stored: a third of the bus's work for a copy.
        pages = {job["routine"]: job["cold"] for job in machine["jobs"] if job["call"] == "a page"}
        assert pages["clear_page"][1] < 0.7 * pages["clear_page"][0]
        assert pages["copy_page"][1] < 0.8 * pages["copy_page"][0]


def test_shares_are_of_recorded_cycles(document: dict[str, Any]) -> None:
    for machine in document["machines"]:
        kept = KEPT["machines"][machine["machine"]]
        for routine in machine["routines"]:
            share = kept["routines"][routine["routine"]] / kept["cycles"]
            assert routine["share"] == pytest.approx(share)
    # What it is about: pages take more of the cycles than of the instructions.
    up1000 = {one["routine"]: one["share"] for one in document["machines"][0]["routines"]}
    assert up1000["clear_page"] > 2 * KEPT["executed"]["clear_page"] / KEPT["instructions"]


def test_both_definitions_follow_from_what_routines_save(document: dict[str, Any]) -> None:
    for machine in document["machines"]:
        fall = sum(one["share"] * (1 - one["left"]) for one in machine["routines"])
        assert machine["falls_by"] == pytest.approx(fall)
        assert machine["old_over_new_less_one"] == pytest.approx(1 / (1 - fall) - 1)


def test_the_machines_come_in_the_articles_order(document: dict[str, Any]) -> None:
    up1000, cs20 = document["machines"]
    assert (up1000["machine"], cs20["machine"]) == ("up1000", "cs20")
    assert up1000["falls_by"] > cs20["falls_by"]
    assert document["in_the_articles_order"] is True
    assert len(document["missing"]) == 2


def test_times_of_the_article_have_its_percentages() -> None:
    """25.0 to 18.0 seconds are 38.8 % to the article, from times with more digits."""
    timed = [row for row in MEASURED if row.seconds]
    assert {row.machine for row in timed} == {"up1000", "cs20"}
    for row in timed:
        assert row.seconds is not None
        old, new = row.seconds
        assert old / new - 1 == pytest.approx(row.gains[0], abs=0.004)
        assert (old - new) / old == pytest.approx(row.falls[0], abs=0.002)


def test_machine_and_share_count(run: Run, kernel: Path) -> None:
    """What is said, as tables; a share that is given stands for the one that was counted."""
    result = run("bench", kernel, "--cpu", "ev67", "--machine", "cs20", "--share", "1")
    assert result.exit_code == 0
    assert "take 100.0% of the cycles of system time (--share)" in result.stdout
    assert f"the mix, counted: {KEPT['source']}" in result.stdout
    assert f"cycles, recorded: {KEPT['recorded']}" in result.stdout
    for what in UNSEEN:
        assert f"not seen: {what}" in result.stdout
    assert "in a up1000" not in result.stdout
    assert "order" not in result.stdout


def test_the_mix_is_what_was_counted_in_a_boot_of_this_kernel(kernel: Path) -> None:
    """But for groups of calls below a hundredth of a routine's."""
    assert KEPT["kernel_sha256"] == hashlib.sha256(kernel.read_bytes()).hexdigest()
    for name, groups in KEPT["calls"].items():
        every = sum(group[-1] for group in groups)
        assert 0.9 * every <= sum(job.calls for job in MIX if job.routine == name) <= every
    assert sum(KEPT["executed"].values()) < KEPT["instructions"]


def test_what_patch_left_alone_saves_nothing(kernel: Path) -> None:
    """The routines of a retuned file are timed, whatever stands there."""
    image = load(kernel)
    address, _ = function_named(image, "clear_page") or (0, 0)
    at = image.offset_of(address)
    returns = assemble("ret zero,(ra),1").code
    data = image.data[:at] + returns + image.data[at + len(returns) :]
    for retuned, faster in ((image, False), (replace(image, data=data), True)):
        clocks = SequentialClocks(image, Alpha(), CPUS["ev67"], UP1000, retuned)
        pair = clocks.pair("clear_page")
        assert not isinstance(pair, str)
        old, new = (clock({"number": 0}, False) for clock in pair)
        assert (new < old / 100) if faster else new == old


def test_a_call_is_as_cold_as_it_was_recorded() -> None:
    """10 warm and 110 cold cycles: one of 35 was a quarter of the way."""
    one = Weighed("memcpy", 4, 140, 1400, (10, 8), (110, 60))
    assert one.share == pytest.approx(0.1)
    assert one.coldness == pytest.approx(0.25)
    assert one.ratio == pytest.approx((8 + 0.25 * 52) / (10 + 0.25 * 100))
    for cycles, coldness in ((20, 0), (4000, 1)):
        assert replace(one, cycles=cycles).coldness == coldness


def test_means_are_of_calls() -> None:
    """Calls that weigh nothing do not count, nor a routine that was not recorded."""
    from rewriter.contracts.calls import Counted, Recorded

    kept = Counted("", 1, {}, {}, "", {"memcpy": 2}, {"x": Recorded(100, {"memcpy": 50})})
    timed = [
        Clocked(Job("memcpy", "", 3), (10, 5), (20, 10)),
        Clocked(Job("memcpy", "", 1), (30, 20), (40, 20)),
        Clocked(Job("memcpy", "", 0), (999, 9), (999, 9)),
        Clocked(Job("strlen", "", 7), (1, 1), (2, 2)),
    ]
    (one,) = weighed(timed, kept, "x")
    assert (one.warm, one.cold) == ((15, 8.75), (25, 12.5))


@pytest.mark.parametrize(
    ("name", "cpu"),
    [("alpha-libc", "ev67"), ("ppc32-vmlinux", "750"), ("ia64-libc", "itanium2")],
)
def test_only_kernels_for_its_machines_are_taken(name: str, cpu: str, run: Run) -> None:
    result = run("bench", inputs.require(name), "--cpu", cpu)
    assert result.exit_code == 3
    assert "is about kernels for the machines up1000 and cs20" in result.stderr
    assert "--suite mackerras" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--cpu", "ev99"), 2, "--cpu ev99: no such CPU"),
        (("--cpu", "ev67", "--machine", "pc"), 2, "--machine pc: no such machine"),
        (("--cpu", "ev67", "--machine", "pc164"), 2, "the article has up1000 and cs20"),
        (("--cpu", "ev67", "--retuned", "IN"), 3, "manifest"),
    ],
)
def test_bad_options(
    arguments: tuple[str, ...], status: int, message: str, run: Run, kernel: Path
) -> None:
    given = [str(kernel) if word == "IN" else word for word in arguments]
    result = run("bench", kernel, *given)
    assert result.exit_code == status
    assert message in result.stderr
