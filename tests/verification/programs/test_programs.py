"""Real programs on the retuned libc print what they print on the original one."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from fixtures import inputs, programs
from tests.support.depth import depth


def _run(program: str, libc: Path, cpu: str) -> programs.Completed:
    try:
        return programs.run(program, libc, cpu)
    except inputs.Missing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("program", programs.PROGRAMS)
def test_program_runs_on_the_original(program: str, libc: Path) -> None:
    """The programs themselves are EV4 code and end as the table says."""
    done = _run(program, libc, "ev5")
    assert done.returncode == programs.PROGRAMS[program].returncode
    assert done.stdout


@pytest.mark.parametrize("program", programs.PROGRAMS)
def test_same_output_on_ev67(program: str, libc: Path, libc_ev67: Path) -> None:
    """Retuned for EV67, run on EV67."""
    assert _run(program, libc_ev67, "ev67") == _run(program, libc, "ev67")


@pytest.mark.parametrize("cpu", ["ev56", "ev6"])
@pytest.mark.parametrize("program", programs.PROGRAMS)
def test_ev56_file_needs_no_bit_counts(program: str, cpu: str, libc: Path, libc_ev56: Path) -> None:
    """Retuned for EV56: neither EV56 nor EV6 has CIX, so both must run it."""
    assert _run(program, libc_ev56, cpu) == _run(program, libc, cpu)


@pytest.mark.parametrize("program", tuple(programs.WORK)[:: depth(5, 1)])
def test_work_gives_the_same_on_ev67(program: str, libc: Path, libc_ev67: Path) -> None:
    """What the benchmark of whole programs counts prints the same, too."""
    done = _run(program, libc_ev67, "ev67")
    assert done.stdout and not done.returncode
    assert done == _run(program, libc, "ev67")


def test_ev67_file_dies_on_ev5(libc_ev67: Path) -> None:
    """The byte and word instructions are really used: an EV5 does not know them."""
    assert _run("strings", libc_ev67, "ev5").returncode == -signal.SIGILL


def test_ev56_file_dies_on_ev5(libc_ev56: Path) -> None:
    """The same for the file without counts of bits."""
    assert _run("strings", libc_ev56, "ev5").returncode == -signal.SIGILL


def test_ev67_file_dies_on_ev6(libc_ev67: Path) -> None:
    """The counts of bits are really used: an EV6 does not know them."""
    assert _run("bits", libc_ev67, "ev6").returncode == -signal.SIGILL


@pytest.mark.parametrize("program", programs.BENCH)
def test_fewer_instructions(program: str, libc: Path, libc_ev67: Path) -> None:
    """The workloads of the benchmark execute fewer instructions than before."""
    try:
        old = programs.count(program, libc, "ev67")
        new = programs.count(program, libc_ev67, "ev67")
    except inputs.Missing as missing:
        pytest.skip(str(missing))
    assert new.libc < old.libc
    assert new.total < old.total
