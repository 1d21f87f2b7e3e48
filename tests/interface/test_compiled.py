"""Compiled modules are taken where they are of the sources that are there, and change nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.cli.install import compiling
from rewriter.core.compiled import FINDER, LIST, PURE, Compiled, digest, python, source
from rewriter.elf import manifest
from rewriter.timing.engines import engine_of


@pytest.fixture
def made(tmp_path: Path) -> Compiled:
    """A module of one line, as if it was compiled."""
    place = source("rewriter.one", tmp_path)
    place.parent.mkdir()
    place.write_text("ONE = 1\n")
    sources = {"rewriter.one": digest("rewriter.one", tmp_path)}
    (tmp_path / LIST).write_text(json.dumps({"python": python(), "sources": sources}))
    return Compiled(tmp_path, tmp_path)


@pytest.fixture(autouse=True)
def compiled_where_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PURE, raising=False)


def test_a_module_of_the_same_source_is_taken(made: Compiled) -> None:
    spec = made.find_spec("rewriter.one", None)
    assert spec is not None
    assert spec.origin == str(made.folder / "rewriter" / f"one{python()}")
    assert made.state == "1 compiled"
    assert made.find_spec("rewriter.two", None) is None
    assert made.find_spec("json", None) is None


def _changed(made: Compiled) -> None:
    source("rewriter.one", made.root).write_text("ONE = 2\n")


def _gone(made: Compiled) -> None:
    source("rewriter.one", made.root).unlink()


def _of_another_python(made: Compiled) -> None:
    text = (made.folder / LIST).read_text()
    (made.folder / LIST).write_text(text.replace(python(), ".cpython-39.so"))


def _half_built(made: Compiled) -> None:
    (made.folder / LIST).unlink()


@pytest.mark.parametrize("damage", [_changed, _gone, _of_another_python, _half_built])
def test_nothing_is_taken_that_is_of_anything_else(
    made: Compiled, damage: Callable[[Compiled], None]
) -> None:
    damage(made)
    assert made.find_spec("rewriter.one", None) is None
    assert made.state.startswith("interpreted, as ")


def test_sources_are_run_where_that_is_asked_for(
    made: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PURE, "1")
    assert made.find_spec("rewriter.one", None) is None
    assert made.state == f"interpreted, as {PURE} says"


def test_every_module_that_is_to_be_compiled_is_there() -> None:
    assert list(compiling.MODULES) == sorted(set(compiling.MODULES))
    assert all(source(module).is_file() for module in compiling.MODULES)


def test_no_compiled_class_computes_anew_what_it_would_keep() -> None:
    """mypyc makes a property of a `cached_property`, and nothing is kept."""
    keeping = [m for m in compiling.MODULES if "cached_property" in source(m).read_text()]
    assert keeping == []


def _run(script: str, *arguments: object, pure: str = "") -> str:
    command = (sys.executable, "-c", script, *map(str, arguments))
    environment = {**os.environ, PURE: pure}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


LOADED = """
import sys, {first}, passes, targets, rewriter.road.pipeline
from rewriter.core.compiled import FINDER
print(*sorted({{n for n in FINDER.modules if n in sys.modules}}
    - {{n for n in FINDER.modules if sys.modules[n].__file__.startswith(str(FINDER.folder))}}))
print(len(FINDER.modules))
"""


@pytest.mark.parametrize("first", ["passes.lib.steps", "targets", "rewriter.elf.image"])
def test_none_is_interpreted_where_others_are_compiled(first: str) -> None:
    """Whatever is imported first; one that is interpreted would not be what the others know."""
    interpreted, number = _run(LOADED.format(first=first)).splitlines()
    assert interpreted == ""
    assert int(number) == len(FINDER.modules)


HEIRS = """
import importlib, sys
from tests.laws.test_floors import modules
skipped = ("rewriter.__main__", "rewriter.cli.install.backend")
for name in modules():
    if name not in skipped:
        importlib.import_module(name)
for name, module in list(sys.modules.items()):
    for kind in vars(module).values() if name in modules() else ():
        bases = kind.__mro__[1:] if isinstance(kind, type) else ()
        if any("__mypyc_attrs__" in vars(base) for base in bases):
            if "__mypyc_attrs__" not in vars(kind):
                print(kind)
"""


def test_what_inherits_from_a_compiled_class_is_compiled() -> None:
    """No object could be made of a class that is not."""
    assert _run(HEIRS) == ""


def test_every_pipeline_says_what_schedulers_ask() -> None:
    """An attribute that only a class had a value for was not there in a compiled heir's objects."""
    for target in targets.every():
        for cpu in target.cpus.values():
            if target.sequential is not None and cpu.pipeline is not None:
                steady = engine_of(cpu).steady(target.table)
                assert steady.in_order is None or steady.slotted is None
                assert engine_of(cpu).asks_ahead in (True, False)


CASES = (
    ("alpha-sample", "ev56", ".*"),
    ("alpha-sample", "ev67", ".*"),
    ("ppc-libgcc_s", "750", "__(mul|div).*"),
    ("ppc64-libgcc_s", "970", "__(mul|div).*"),
    ("ppc64el-libgcc_s", "power9", "__(mul|div).*"),
    ("ia64-libjnidispatch", "itanium2", "Java_com_sun_jna_Native_[a-c].*"),
)
"""For each kind of pipeline a file, a CPU and functions of which some are put in another order."""

PATCHED = """
import sys
from pathlib import Path
from rewriter.cli import main
from rewriter.core.compiled import FINDER
sources = sys.argv[2:]
for number, (source, cpu, functions) in enumerate(zip(*[iter(sources)] * 3)):
    try:
        output = Path(sys.argv[1], str(number))
        main(["patch", source, "-o", str(output), "--cpu", cpu, "--funcs", functions, "-j1", "-q"])
    except SystemExit as ended:
        assert not ended.code
print(len(FINDER.modules))
"""


def test_outputs_have_the_same_bytes_both_ways(tmp_path: Path) -> None:
    """Each CPU times code by a pipeline of another kind, or with other figures."""
    if not FINDER.modules:
        pytest.skip(f"modules are {FINDER.state}")
    cases = [case for case in CASES if case[0] in inputs.available()]
    wanted = [part for name, *rest in cases for part in (inputs.require(name), *rest)]
    folders = tmp_path / "compiled", tmp_path / "interpreted"
    numbers = []
    for folder in folders:
        folder.mkdir()
        pure = "1" if folder.name == "interpreted" else ""
        numbers.append(int(_run(PATCHED, folder, *wanted, pure=pure)))
    assert numbers == [len(FINDER.modules), 0]
    for number, case in enumerate(cases):
        one, other = ((folder / str(number)).read_bytes() for folder in folders)
        assert one == other, case
        record = manifest.read(other, case[0])
        assert record is not None
        assert any(edit.technique == "schedule" for edit in record.edits), case
