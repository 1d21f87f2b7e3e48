"""`import retune`: the same work as the commands, with types, defaults and one set of errors."""

from __future__ import annotations

import ast
import gzip
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import retune

from fixtures import inputs
from rewriter.difftest.setting import Wishes
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import load


@pytest.fixture
def sample() -> Path:
    return inputs.require("alpha-sample")


@pytest.fixture(scope="module")
def tuned() -> retune.Patched:
    """The sample for an EV67."""
    return retune.patch(inputs.require("alpha-sample"), cpu="ev67")


def test_patch_gives_what_the_command_writes(
    sample: Path, tuned: retune.Patched, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "retune", "patch", str(sample), "-o", str(tmp_path / "out")]
    subprocess.run([*command, "--cpu", "ev67", "-q"], check=True)
    assert (tmp_path / "out").read_bytes() == tuned.data()


def test_every_kind_of_source_is_taken(sample: Path) -> None:
    few = {"cpu": "ev67", "passes": ["bytes"], "funcs": ["sample_length"]}
    results = [
        retune.patch(source, **few).data()
        for source in (sample, str(sample), sample.read_bytes(), retune.load(sample))
    ]
    assert len(set(results)) == 1
    assert results[0] != sample.read_bytes()


def test_options_arrive(sample: Path) -> None:
    def ids(**options: object) -> list[str]:
        record = retune.patch(sample, "ev67", **options).record
        return [edit.id for edit in record.edits] if record is not None else []

    every = ids(passes=["bytes"])
    assert ids(passes=["bytes"], max_edits=3) == every[:3]
    assert ids(passes="bytes", skip=every[:1]) == every[1:]
    assert ids(passes=["bytes"], only=every[4:5]) == every[4:5]
    assert ids(passes=["bytes"], skip_funcs=[".*"]) == []
    assert ids(passes=[]) == []
    stages = []
    retune.patch(sample, "ev67", passes=["bytes"], progress=lambda *at: stages.append(at[0]))
    assert {"analyse", "prove"} <= set(stages)


def test_verify_accepts_what_patch_made(sample: Path, tuned: retune.Patched) -> None:
    verdict = retune.verify(sample, tuned.data())
    assert (verdict.ok, verdict.findings) == (True, ())
    assert verdict.manifest == "leads back to the original"


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_verify_refuses_one_wrong_bit(share: float, sample: Path, tuned: retune.Patched) -> None:
    """Each is a register of an instruction that retune wrote."""
    assert tuned.tuned is not None
    patches = tuned.tuned.patches
    changed = bytearray(with_old_identity(load(sample), tuned.tuned.data))
    changed[patches[int(share * len(patches))].offset & ~3] ^= 1
    verdict = retune.verify(sample, bytes(changed))
    assert not verdict.ok
    assert verdict.findings


def test_identify_is_the_command(sample: Path) -> None:
    command = [sys.executable, "-m", "retune", "identify", str(sample)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert list(retune.identify(sample).lines()) == done.stdout.splitlines()


def test_revert_gives_the_original(sample: Path, tuned: retune.Patched) -> None:
    assert retune.revert(tuned.data()) == sample.read_bytes()
    with pytest.raises(retune.BadInput, match="carries no manifest"):
        retune.revert(sample)


def test_a_gzip_file_is_patched_inside(sample: Path) -> None:
    packed = gzip.compress(sample.read_bytes(), mtime=0)
    patched = retune.patch(packed, "ev67", passes=["bytes"]).data()
    assert gzip.decompress(patched) != sample.read_bytes()
    assert retune.verify(packed, patched).ok
    assert retune.revert(patched) == packed


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        ("BadUsage", "--cpu ev99: no such CPU", lambda p: retune.patch(p, "ev99")),
        ("BadUsage", "no such pass: 'no'", lambda p: retune.patch(p, "ev67", passes=["no"])),
        ("BadUsage", "is no assumption", lambda p: retune.patch(p, "ev67", assume=["no"])),
        ("BadInput", "cannot be read", lambda p: retune.load(p / "none")),
        ("BadInput", "not an ELF file", lambda p: retune.load(b"nothing")),
    ],
)
def test_errors_say_what_is_wrong(error: str, text: str, call: object, sample: Path) -> None:
    with pytest.raises(getattr(retune, error)) as caught:
        call(sample)
    assert text in str(caught.value)
    assert isinstance(caught.value, retune.RetuneError)


def test_difftest_runs_a_program_with_both_files() -> None:
    """The machine's own true and false: each is itself, and they are not the same."""
    true, false = (Path(shutil.which(name) or name) for name in ("true", "false"))
    native = Wishes(emulator=())
    assert retune.difftest.program(true, true, ["{}"], wishes=native).same
    found = retune.difftest.program(true, false, ["{}"], wishes=native)
    assert not found.same
    assert found.first is not None
    assert "status" in found.first.detail


def test_difftest_tries_a_routine(sample: Path, tuned: retune.Patched, tmp_path: Path) -> None:
    new = tmp_path / "tuned.so"
    new.write_bytes(tuned.data())
    found = retune.difftest.routine(sample, new, "sample_length", "strlen")
    assert found.same
    assert found.cases


def test_names_are_those_that_it_says() -> None:
    for name in retune.__all__:
        assert getattr(retune, name) is not None
        assert name in dir(retune)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = retune.no_such_name
    for function in ("load", "identify", "patch", "verify", "revert"):
        assert getattr(retune, function).__doc__
        assert "return" in getattr(retune, function).__annotations__


def test_types_are_known_of_every_name() -> None:
    """What a type checker sees is what is there: the module says both."""
    tree = ast.parse(Path(retune.__file__).read_text(encoding="utf-8"))
    seen = next(
        node.body
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    imported = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in seen
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    declared = {node.target.id for node in seen if isinstance(node, ast.AnnAssign)}
    assert imported.keys() | declared == set(retune.__all__)
    for name, place in imported.items():
        module, _, attribute = place.rpartition(".")
        known = getattr(retune, name)
        assert getattr(import_module(module), attribute) is known


def test_no_module_is_there_twice_and_import_is_cheap() -> None:
    code = """
import sys, retune
print(sorted({"numpy", "lief", "click", "rewriter.api"} & sys.modules.keys()))
import retune.__main__
retune.patch
places = {}
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in ("retune", "rewriter", "passes", "targets"):
        places.setdefault(module.__file__, []).append(name)
print(len(places) > 50, [names for names in places.values() if len(names) > 1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nTrue []\n"


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "retune", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: retune [OPTIONS] COMMAND")
