"""CPUs and passes of other packages: shown, used, proved, and refused by name when broken."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from fixtures import corners, inputs
from fixtures.hostile import powerpc
from tests.interface.plugins import EXAMPLE, installed, retune, written
from tests.support.depth import DEEP

CPU = """
from dataclasses import replace
from targets.alpha.cpus import ev67
CPU = replace(ev67.CPU, name="NAME")
"""

FAILING = """
from rewriter.core.target.protocol import Trigger
class Odd:
    name, needs, triggers = "odd", frozenset(), (Trigger(frozenset({"addq"})),)
    def sites(self, trace, target, cpu):
        raise LookupError("lost")
"""
VERSION = importlib.metadata.version("retune")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of docs/, built and installed."""
    return installed(EXAMPLE, tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def scaled() -> Path:
    """Four functions, of which the example's pass may change two."""
    return inputs.or_skip(corners.assembled, "scaled.s")


def test_cpus_of_the_example_are_listed(site: Path) -> None:
    done = retune(site, "cpus")
    assert (done.returncode, done.stderr) == (0, "")
    assert "alpha ev68: 21264C; features: BWX CIX FIX MVI WH64\n" in done.stdout


def test_edits_of_the_example_are_proved(site: Path, scaled: Path, tmp_path: Path) -> None:
    """On its CPU, beside our own passes; the verifier, which knows no plug-in, agrees."""
    tuned = tmp_path / "tuned.so"
    done = retune(site, "patch", scaled, "-o", tuned, "--cpu", "21264c", "-v", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    edits = {one["id"]: one["grade"] for one in json.loads(done.stdout)["edits"]}
    assert edits.keys() >= {"scaled:by_eight+4", "scaled:by_four+4"}
    assert not any(name.startswith(("scaled:changed", "scaled:kept")) for name in edits)
    assert edits["scaled:by_eight+4"] == "PROVED"
    checked = retune(tmp_path, "verify", scaled, tuned)
    assert (checked.returncode, checked.stderr) == (0, "")
    text = inputs.require_tool("alpha-linux-gnu-objdump")
    assert re.findall(r"\bs[48]addq\b", _disassembled(text, tuned)) == ["s8addq", "s4addq"]


def _disassembled(objdump: str, path: Path) -> str:
    return subprocess.run((objdump, "-d", path), capture_output=True, text=True, check=True).stdout


def test_the_pass_can_be_named_alone_or_left_out(site: Path, scaled: Path) -> None:
    alone = retune(site, "patch", scaled, "--dry-run", "--cpu", "ev4", "--passes", "scaled", "-v")
    assert "scaled, scaled sum: 4 sites, 2 rewritten, 2 instructions saved" in alone.stdout
    left = retune(site, "patch", scaled, "--dry-run", "--cpu", "ev4", "--passes", "bytes,nothing")
    assert left.returncode == 2
    assert "known: substitute, bytes, bitscan, combine, dead, scaled, replay," in left.stderr


@pytest.mark.parametrize("abi", powerpc.CPUS)
def test_another_target_goes_its_way_beside_it(abi: str, site: Path, tmp_path: Path) -> None:
    """The pass looks for instructions that PowerPC does not have: it sees nothing there."""
    library = tmp_path / "in"
    library.write_bytes(inputs.or_skip(powerpc.library, abi))
    chosen = ("--cpu", powerpc.CPUS[abi], "--funcs", "sample_rle")
    done = retune(site, "patch", library, "--dry-run", *chosen)
    assert (done.returncode in (0, 4), done.stderr) == (True, "")
    alone = retune(site, "patch", library, "--dry-run", *chosen, "--passes", "scaled")
    assert (alone.returncode, alone.stderr) == (4, "")


def test_where_a_pass_failed_is_shown_on_request(
    scaled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reason of the function by default; with the variable also how it came about."""
    site = written(tmp_path, "retune.passes", "odd = odd_module:Odd", FAILING)
    asked = ("patch", scaled, "--dry-run", "--cpu", "ev67", "--passes", "odd", "-j1", "-v")
    done = retune(site, *asked)
    assert (done.returncode, done.stderr) == (4, "")
    assert "internal error in odd: LookupError: lost" in done.stdout
    monkeypatch.setenv("RETUNE_TRACEBACK", "1")
    again = retune(site, *asked)
    assert again.stdout == done.stdout
    assert again.stderr.startswith("Traceback (most recent call last):")
    assert "odd_module.py" in again.stderr and "LookupError: lost" in again.stderr


@pytest.mark.skipif(not DEEP, reason="asks the package index")
def test_the_documented_line_installs_in_a_fresh_environment(tmp_path: Path) -> None:
    """Beside a retune of this version, with nothing but the Python and pip of the environment."""
    python = tmp_path / "fresh" / "bin" / "python"
    venv.create(python.parents[1], with_pip=True)
    page = (EXAMPLE.parent / "extending.md").read_text()
    (line,) = re.findall(r"^\$ (pip install .*)$", page, re.MULTILINE)
    site = next((tmp_path / "fresh" / "lib").glob("python*/site-packages"))
    about = site / f"retune-{VERSION}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: retune\nVersion: {VERSION}\n")
    shutil.copytree(EXAMPLE, tmp_path / EXAMPLE.name)
    command = (python, "-m", *line.split())
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "Failed to establish a new connection" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    assert (site / "retune_example" / "ev68.py").is_file()


def test_a_wrong_pass_is_refuted(scaled: Path, tmp_path: Path) -> None:
    """The example with its two instructions exchanged: nothing of it is believed."""
    source = tmp_path / "wrong"
    shutil.copytree(EXAMPLE, source)
    module = source / "retune_example" / "scaled.py"
    text = module.read_text()
    module.write_text(text.replace('2: "s4addq", 3: "s8addq"', '3: "s4addq", 2: "s8addq"'))
    assert module.read_text() != text
    site = installed(source, tmp_path)
    done = retune(site, "patch", scaled, "--dry-run", "--cpu", "ev67", "--passes", "scaled", "-v")
    assert done.returncode == 4
    assert "scaled, scaled sum: 4 sites, 0 rewritten" in done.stdout


@pytest.mark.parametrize(
    ("group", "line", "code", "fault"),
    [
        ("cpus", "alpha.ev9 = odd_module:CPU", "import no_such_thing", "ModuleNotFoundError: No"),
        ("cpus", "alpha.ev9 = odd_module:CPU", "1 / 0", "ZeroDivisionError: division by zero"),
        ("cpus", "alpha.ev9 = odd_module:CPU", "CPU = 9", "it is no Cpu, but int"),
        ("cpus", "alpha.ev9 = odd_module:CPU", CPU, "the CPU calls itself 'NAME'"),
        ("cpus", "alpha.ev67 = odd_module:CPU", CPU, "retune has a CPU ev67"),
        ("cpus", "vax.ev9 = odd_module:CPU", CPU, "the name is not TARGET.NAME"),
        (
            "passes",
            "odd = odd_module:Odd",
            "class Odd: name = 'odd'",
            "it is no ExternalPass, but Odd",
        ),
        ("passes", "bytes = odd_module:Odd", "Odd = 1", "retune has a pass of this name"),
    ],
)
def test_a_broken_plugin_is_one_line_with_its_name(
    group: str, line: str, code: str, fault: str, tmp_path: Path
) -> None:
    site = written(tmp_path, f"retune.{group}", line, code)
    sample = inputs.require("alpha-sample")
    asked = ("cpus",) if group == "cpus" else ("patch", sample, "--dry-run", "--cpu", "ev67")
    done = retune(site, *asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"retune: plug-in retune.{group} {line} of odd 1.0: {fault}")
    assert done.stderr.endswith("(repair or uninstall odd)\n")
    assert done.stderr.count("\n") == 1


def test_what_is_not_asked_for_is_not_loaded(tmp_path: Path) -> None:
    """A broken plug-in stands in nobody's way who does not use it."""
    site = written(tmp_path, "retune.cpus", "alpha.ev9 = odd_module:CPU", "1 / 0")
    written(site, "retune.passes", "other = other_module:Pass", "1 / 0", package="other")
    sample = inputs.require("alpha-sample")
    chosen = ("--cpu", "ev67", "--passes", "bytes,align,schedule")
    done = retune(site, "patch", sample, "--dry-run", *chosen)
    assert (done.returncode, done.stderr) == (0, "")
