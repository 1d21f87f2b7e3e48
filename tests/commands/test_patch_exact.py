"""`retune patch --exact`: the best order of a function's regions, and what bounds it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import ia64

Run = Callable[..., Result]

SUMS = """
        .explicit
        .text
        .global sums
        .proc sums
sums:   ld8 r14 = [r32] ;;
        adds r15 = 1, r14 ;;
        st8 [r32] = r15 ;;
        ld8 r16 = [r33] ;;
        adds r17 = 1, r16 ;;
        st8 [r33] = r17 ;;
        mov r18 = ar.k6 ;;
        add r8 = r18, r17 ;;
        br.ret.sptk.many b0 ;;
        .endp sums
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exact")
    source = folder / "sums.s"
    source.write_text(SUMS)
    return ia64.linked(source, folder, "-shared", "-soname", "libsums.so")


def test_it_says_what_no_order_beats_and_is_proved(library: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--cpu", "itanium2", "--exact", "su.s")
    done = run("patch", library, "-o", out, *options, "--json")
    (edit,) = [e for e in json.loads(done.stdout)["edits"] if e["pass"] == "schedule"]
    assert edit["new"].endswith("13 cycles; no order takes fewer than 13 cycles")
    assert run("verify", library, out).exit_code == 0
    assert run("revert", out, "-o", tmp_path / "back").exit_code == 0
    assert (tmp_path / "back").read_bytes() == library.read_bytes()


def test_other_functions_are_ordered_as_ever(library: Path, run: Run) -> None:
    done = run("patch", library, "--dry-run", "--cpu", "itanium2", "--json")
    assert "no order" not in done.stdout
    done = run("patch", library, "--dry-run", "--cpu", "itanium2", "--exact", "sum")
    assert done.exit_code == 2
    assert "--exact sum: no function is called so" in done.stderr


def test_a_target_without_bundles_has_no_exact_orders(sample: Path, run: Run) -> None:
    done = run("patch", sample, "--dry-run", "--cpu", "ev67", "--exact", ".*")
    assert done.exit_code == 3
    assert "--exact is not done for alpha" in done.stderr


def test_zeros_in_front_of_a_section_are_no_open_group(run: Run, tmp_path: Path) -> None:
    """As code they would be a bundle without a stop, which the first group could go on with."""
    source = tmp_path / "sums.s"
    source.write_text(SUMS)
    apart = ia64.linked(source, tmp_path, "-shared", "-Ttext=0x1000")
    done = run("patch", apart, "-o", tmp_path / "out", "--cpu", "itanium2", "--json")
    (edit,) = [e for e in json.loads(done.stdout)["edits"] if e["pass"] == "schedule"]
    assert edit["new"].endswith("13 cycles")
    assert run("verify", apart, tmp_path / "out").exit_code == 0
