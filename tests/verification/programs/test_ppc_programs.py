"""Real programs on retuned PowerPC libraries print what they print on the original ones.

Of the three ABIs on every CPU with RETUNE_TESTS=deep; else a share of the 32-bit C library runs.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from fixtures import inputs, programs
from tests.conftest import FEW, Patched
from tests.support.depth import DEEP

ABIS = {"750": "ppc", "7450": "ppc", "970": "ppc64", "power9": "ppc64el", "power10": "ppc64el"}
"""The libraries that are retuned for each CPU, on which the emulator runs them."""
CPUS = tuple(ABIS) if DEEP else ("7450",)
_FEW = ("strings", "stdio", "threads", "backtrace", "faults", "locale")
NAMES = tuple(programs.PROGRAMS) if DEEP else _FEW
LIBRARIES = ("libc", "libm", "libstdc++", "libgcc_s")


@cache
def _original(program: str, abi: str, cpu: str) -> programs.Completed:
    return _run(program, [inputs.require(f"{abi}-libc")], cpu)


def _run(program: str, libraries: Sequence[Path], cpu: str) -> programs.Completed:
    try:
        return programs.run(program, libraries[0], cpu, others=libraries[1:])
    except inputs.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module", params=CPUS)
def cpu(request: pytest.FixtureRequest) -> str:
    """A CPU by the product's name, which is the emulator's, too."""
    assert isinstance(request.param, str)
    return request.param


@pytest.fixture(scope="module")
def libc(cpu: str, patched: Patched) -> Path:
    """The C library retuned for the CPU."""
    return patched(f"{ABIS[cpu]}-libc", cpu, () if DEEP else ("--funcs", FEW))


@pytest.mark.parametrize("program", NAMES)
def test_same_output(program: str, cpu: str, libc: Path) -> None:
    """It ends as the table of programs says, and prints the same on both libraries."""
    before = _original(program, ABIS[cpu], cpu)
    assert before.returncode == programs.PROGRAMS[program].returncode
    assert before.stdout
    assert _run(program, [libc], cpu) == before


@pytest.mark.skipif(not DEEP, reason="four libraries are retuned in RETUNE_TESTS=deep")
@pytest.mark.parametrize("program", [*programs.OTHERS, "throw", "backtrace"])
def test_same_output_where_all_libraries_are_retuned(
    program: str, cpu: str, patched: Patched
) -> None:
    """Bit-exact results of libm, C++ of libstdc++, frames and exceptions of libgcc_s."""
    before = _original(program, ABIS[cpu], cpu)
    assert before.returncode == 0
    retuned = [patched(f"{ABIS[cpu]}-{name}", cpu) for name in LIBRARIES]
    assert _run(program, retuned, cpu) == before


@pytest.mark.skipif(not DEEP, reason="whole libraries are retuned in RETUNE_TESTS=deep")
@pytest.mark.parametrize("program", ["strings", "stdio", "sort"])
def test_power9_file_dies_on_power8(program: str, patched: Patched) -> None:
    """The instructions of POWER9 are really used: the emulated POWER8 does not know them."""
    libc = patched("ppc64el-libc", "power9")
    assert _run(program, [libc], "power8").returncode == -signal.SIGILL


@pytest.mark.skipif(not DEEP, reason="whole libraries are retuned in RETUNE_TESTS=deep")
@pytest.mark.parametrize("program", programs.BENCH)
def test_no_more_instructions(program: str, cpu: str, libc: Path) -> None:
    """The workloads of the benchmark do not execute more instructions than before."""
    try:
        old = programs.count(program, inputs.require(f"{ABIS[cpu]}-libc"), cpu)
        new = programs.count(program, libc, cpu)
    except inputs.Missing as missing:
        pytest.skip(str(missing))
    assert new.libc <= old.libc
    assert new.total <= old.total
