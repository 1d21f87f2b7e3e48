"""`--symbols`: names out of a System.map for a file that lacks them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Run = Callable[..., Result]


def test_a_map_names_functions(sample: Path, tmp_path: Path, run: Run) -> None:
    """Of two global names the shorter one is shown."""
    made, out = tmp_path / "System.map", tmp_path / "out.so"
    made.write_text("00000000000006d0 T len\n0000000000000710 T sample_find\n")
    assert "0x6d0 0x710 sample_length (unwind" in run("identify", "-vv", sample).stdout
    listed = run("identify", "-vv", "--symbols", made, sample)
    assert listed.exit_code == 0
    assert "0x6d0 0x710 len (unwind" in listed.stdout
    options = ("--cpu", "ev67", "--passes", "bytes", "--funcs", "len")
    assert run("patch", sample, "-o", out, "--symbols", made, *options).exit_code == 0
    assert run("verify", sample, out, "--symbols", made).exit_code == 0
    shown = run("explain", sample, "len", "--cpu", "ev67", "--passes", "bytes", "--symbols", made)
    assert shown.stdout.startswith("len: 0x6d0 to 0x710")


def test_a_map_of_another_build(sample: Path, tmp_path: Path, run: Run) -> None:
    made = tmp_path / "System.map"
    made.write_text("0000000000000010 T sample_find\n0000000000000020 T sample_length\n")
    done = run("identify", "--symbols", made, sample)
    assert done.exit_code == 3
    assert "2 of 2 symbols that both have are elsewhere" in done.stderr
    made.write_text("fffffc0000310000 T _stext\n")
    done = run("identify", "--symbols", made, sample)
    assert done.exit_code == 3
    assert "none of its symbols is in the code of" in done.stderr


def test_a_bad_map_is_one_line(sample: Path, tmp_path: Path, run: Run) -> None:
    done = run("identify", "--symbols", tmp_path / "none", sample)
    assert (done.exit_code, len(done.stderr.splitlines())) == (3, 1)
