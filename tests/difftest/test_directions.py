"""Which way conditional moves go: counted by an emulator, kept as text, and what comes of it."""

from __future__ import annotations

import random
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import corners, inputs
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import Flow
from rewriter.difftest.directions.counted import SOURCE
from rewriter.elf import image
from rewriter.identify import profiles
from rewriter.identify.profiles import Direction, directions
from rewriter.timing.engines import engine_of
from rewriter.timing.predictors import TwoLevel
from targets.alpha import Alpha, conditional
from targets.alpha.cpus import CPUS
from tests.conftest import Run

SUPPORT = Path(__file__).parents[1] / "support"
ROUNDS, PERIOD, PASSES = 2000, 500, 3
"""Of `fixtures/corners/chosen.c`."""


@pytest.fixture(scope="module")
def program() -> Path:
    flags = ("-O2", "-mcpu=ev4")
    return inputs.or_skip(lambda name: corners.compiled(name, flags), "chosen.c")


def test_a_program_is_counted_and_retuned(program: Path, run: Run, tmp_path: Path) -> None:
    """Both ways, proved; the new program prints what the old one prints, and comes back."""
    profile, twice, tuned, back = (tmp_path / name for name in ("one", "two", "tuned", "back"))
    assert run("profile", program, "-o", profile).exit_code == 0
    found = directions.parse(profile.read_text(), "profile")
    executed = ROUNDS * PASSES
    held = {one.held for (kind, _), one in found.counts.items() if kind == directions.MOVE}
    seldom = PASSES * ROUNDS // PERIOD  # one number in a period is 0, and one is 3
    assert held == {seldom, executed - seldom}
    assert {one.executed for (kind, _), one in found.counts.items() if kind == "move"} == {executed}
    assert run("profile", "--merge", profile, profile, "-o", twice).exit_code == 0
    doubled = directions.parse(twice.read_text(), "profile").counts
    assert doubled == {where: one + one for where, one in found.counts.items()}
    options = ("--cpu", "ev67", "--passes", "cmov,align", "--profile", profile, "-v")
    done = run("patch", program, "-o", tuned, *options)
    assert done.exit_code == 0, done.output
    kinds = re.findall(r"cmov:\w+\+\w+ at \w+: (\w+) moved", done.stdout)
    assert sorted(kinds) == ["mostly", "seldom"]
    assert run("verify", program, tuned).exit_code == 0
    before, after = corners.run(program), corners.run(tuned)
    assert before.returncode == 0 and before.stdout
    assert after == before
    assert run("revert", tuned, "-o", back).exit_code == 0
    assert back.read_bytes() == program.read_bytes()


def test_a_program_that_is_killed(run: Run, tmp_path: Path) -> None:
    """The emulator writes no counts then: which run it was is said, by which signal, what to do."""
    killed = inputs.or_skip(lambda name: corners.compiled(name, ("-O2", "-mcpu=ev4")), "killed.c")
    given, profile = tmp_path / "given", tmp_path / "profile"
    given.mkdir()
    (given / "numbers").write_text("3 9 4\n")
    assert run("profile", killed, "-o", profile, "--inputs", given).exit_code == 0
    profile.unlink()
    (given / "nothing").write_text("")
    said = "the program is killed by SIGTERM, and nothing was counted (a program is counted that"
    for options, name in (((), "no input"), (("--inputs", given), "nothing")):
        done = run("profile", killed, "-o", profile, *options)
        assert (done.exit_code, done.stdout) == (3, "")
        assert done.stderr.startswith(f"retune: {name}: {said}")
        assert not profile.exists()


def test_the_plugin_predicts_as_the_model_does(tmp_path: Path) -> None:
    """The same branches are foreseen as by the model of the CPU."""
    compiler, built = inputs.require_tool("cc"), tmp_path / "predictor"
    source, plugin = SUPPORT / "predictor.c", f'-DDIRECTIONS="{SOURCE}"'
    subprocess.run((compiler, "-w", "-O1", plugin, source, "-o", built), check=True)
    figures = engine_of(CPUS["ev67"]).tournament
    assert figures is not None
    sizes = {
        "local": figures.local_entries,
        "history": figures.local_history_bits,
        "counter": figures.local_counter_bits,
        "path": figures.global_history_bits,
        "global": figures.global_counter_bits,
        "choice": figures.choice_counter_bits,
    }
    rng = random.Random(5)
    stream = []
    for n in range(20000):
        place = 4 * rng.choice((3, 40, 41, 1027, 5000))
        likely = (0.5, 0.95, (n // 7) % 2, 0.05, (n % 3) / 2)[place // 4 % 5]
        stream.append((place, rng.random() < likely))
    options = [f"{name}={figure.value}" for name, figure in sizes.items()]
    text = "".join(f"{place} {int(taken)}\n" for place, taken in stream)
    done = subprocess.run(
        (built, "out=/dev/null", *options), input=text, capture_output=True, text=True, check=True
    )
    model = TwoLevel(figures)
    wanted = "".join(str(int(model.right(*one))) for one in stream)
    assert "0" in wanted
    assert done.stdout == wanted


# The text --------------------------------------------------------------------------------------

TEXT = "0" * 63 + "1"
GOOD = f"{directions.FIRST}\ntext {TEXT}\n# a note\nmove 10 7 6 1\nbranch 14 9 0 0\n"


def test_it_is_read_and_written() -> None:
    found = directions.parse(GOOD, "p")
    assert found.counts == {("move", 16): Direction(7, 6, 1), ("branch", 20): Direction(9, 0, 0)}
    assert found.notes == ("a note",)
    assert directions.parse(found.written(), "p") == found


def test_a_long_run_counts_no_more_than_a_short_one() -> None:
    """Of ten passes and of 70,000: each way of a branch that one took and one did not is as often.

    What was counted in neither is left out of the sums.
    """
    texts = ("branch 14 10 10 0", "branch 14 70000 0 7\nbranch 18 0 0 0", "")
    every = [directions.parse(f"{directions.FIRST}\ntext {TEXT}\n{text}\n", "p") for text in texts]
    found = directions.merged(directions.alike(every)).counts
    assert found["branch", 20] == Direction(140000, 70000, 7)
    assert found["branch", 24] == Direction(0, 0, 0)
    assert directions.merged(every).counts["branch", 20] == Direction(70010, 10, 7)


@pytest.mark.parametrize(
    "line",
    ("move 10 7 8 1", "move 10 7 6 8", "move 10 7 6", "move x 7 6 1", "move 10 -7 6 1",
     "moves 10 7 6 1", f"text {TEXT}", "move 10 7 6 1 2"),
)  # fmt: skip
def test_a_bad_line_is_named(line: str) -> None:
    with pytest.raises(BadInput, match="line 6"):
        directions.parse(f"{GOOD}{line}\n", "p")


def test_a_profile_is_of_one_text(program: Path) -> None:
    with pytest.raises(BadInput, match="does not say"):
        directions.parse(directions.FIRST + "\nmove 10 7 6 1\n", "p")
    other = replace(directions.parse(GOOD, "p"), text="0" * 64)
    with pytest.raises(BadInput, match="different texts"):
        directions.merged([directions.parse(GOOD, "p"), other])
    with pytest.raises(BadInput, match="another text"):
        profiles.parse(GOOD.encode(), "p", image.load(program))


def test_the_libc_has_a_profile_of_its_own(run: Run, tmp_path: Path) -> None:
    """What comes with retune is of this libc's text, and `--profile` takes it."""
    libc, tuned = inputs.require("alpha-libc"), tmp_path / "libc.so.6.1"
    loaded = image.load(libc)
    known = profiles.KNOWN / f"{directions.text_hash(loaded)[:16]}.txt"
    profile = profiles.parse(known.read_bytes(), "known", loaded)
    counts = profiles.of_kind(profile.directions, profiles.MOVE)
    listing = Alpha().listing(loaded)
    assert len(counts) > 500
    for address in counts:
        insn = listing.insn(listing.index(address))
        assert insn is not None and conditional.is_conditional(insn)
    options = ("--cpu", "ev67", "--passes", "cmov,align", "--funcs", "sub_9b620", "-v")
    options = (*options, "--profile", known)
    done = run("patch", libc, "-o", tuned, *options)
    assert done.exit_code == 0, done.output
    assert "cmov:sub_9b620+" in done.stdout


@pytest.mark.parametrize("library", ["alpha-libc", "ppc64el-libc", "ppc-libc"])
def test_profiles_for_layout_are_of_branches(library: str) -> None:
    """Those that come with retune are of Debian's libcs, and count nothing else."""
    loaded = image.load(inputs.require(library))
    known = profiles.KNOWN / f"{directions.text_hash(loaded)[:16]}-branches.txt"
    found = profiles.parse(known.read_bytes(), known.name, loaded)
    target = targets.of(loaded).sequential
    assert target is not None
    listing = target.listing(loaded)
    counts = profiles.of_kind(found.directions, profiles.BRANCH)
    assert len(counts) == len(found.directions) > 1000
    at = [listing.index(address) for address in counts]
    assert set(listing.flows[at].tolist()) == {FLOW_CODE[Flow.BRANCH]}
