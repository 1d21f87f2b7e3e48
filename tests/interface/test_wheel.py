"""The source distribution and the wheel: all of the product, nothing else, working anywhere."""

from __future__ import annotations

import ast
import configparser
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.core.compiled import FINDER, FOLDER, PURE

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("rewriter", "passes", "targets")
EXTRA = ("distributed", "hypothesis")
"""Libraries of extras: who asks for what needs one is told which is missing before any work."""
LEFT = shutil.ignore_patterns("__pycache__", "*.egg-info", "compiled")


def settings() -> configparser.ConfigParser:
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg")
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both, built from a copy of the sources as `python3 -m build` does it.

    Nothing is compiled: that takes long.
    """
    sources, out = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("dist")
    for name in (*PRODUCT, "fixtures", "docs"):
        shutil.copytree(ROOT / name, sources / name, ignore=LEFT)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy(path, sources)
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out))
    done = subprocess.run(
        command,
        cwd=sources,
        env={**os.environ, PURE: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the wheel; the libraries are those of this one."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    ours = subprocess.run(
        (sys.executable, "-c", "import numpy; print(numpy.__path__[0])"),
        capture_output=True,
        text=True,
        check=True,
    )
    site = next((folder / "lib").glob("python*/site-packages"))
    wheel = next(built.glob("*.whl"))
    pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet")
    subprocess.run((*pip, "--no-deps", "--no-index", str(wheel)), check=True, capture_output=True)
    # Last on the path, so that what is there once more, and the checkout, is not looked at.
    (site / "libraries.pth").write_text(str(Path(ours.stdout.strip()).parent) + "\n")
    return folder


def test_every_package_is_named() -> None:
    """A new folder of the product has to be added to `packages` of setup.cfg."""
    named = set(settings()["options"]["packages"].split())
    folders = {p.parent for top in PRODUCT for p in (ROOT / top).rglob("__init__.py")}
    there = {str(p.relative_to(ROOT)).replace(os.sep, ".") for p in folders}
    assert named == there - {"rewriter.interface"} | {"retune"}


def test_dependencies_have_bounds_and_are_used() -> None:
    needed = settings()["options"]["install_requires"].split("\n")
    wanted = [line for line in needed if line]
    assert all(">=" in line and "<" in line for line in wanted)
    modules = {"z3-solver": "z3"}
    names = {modules.get(n, n) for n in (line.split(">=")[0] for line in wanted)}
    imported = set()
    for top in PRODUCT:
        for path in (ROOT / top).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imported |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    imported.add(node.module.split(".")[0])
    ours = {*PRODUCT, "retune"} | set(sys.stdlib_module_names)
    assert imported - ours == {*names, *EXTRA, "setuptools", "mypyc"}  # which build the wheel


def test_the_backend_is_the_one_of_pyproject() -> None:
    system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    assert (ROOT / system["backend-path"][0] / f"{system['build-backend']}.py").is_file()


def test_the_wheel_holds_the_product_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    tops = {name.split("/")[0] for name in names if not name.startswith("retune-")}
    assert tops == {*PRODUCT, "retune"}
    modules = {name for name in names if name.endswith(".py")}
    sources = {str(p.relative_to(ROOT)) for top in PRODUCT for p in (ROOT / top).rglob("*.py")}
    moved = {name.replace("rewriter/interface/", "retune/") for name in sources}
    assert modules == moved
    files = {p for top in PRODUCT for p in (ROOT / top).rglob("*") if p.is_file()}
    files = {p for p in files if FOLDER not in p.parents}
    data = {str(p.relative_to(ROOT)) for p in files if p.suffix not in (".py", ".pyc", ".md")}
    assert data - {"rewriter/interface/py.typed"} <= set(names)
    for path in ("man/man1/retune.1", "man/man1/retune-patch.1", "doc/retune/README.md"):
        assert any(name.endswith(f"data/share/{path}") for name in names)
    for path in ("bash-completion/completions/retune", "zsh/site-functions/_retune"):
        assert any(name.endswith(f"data/share/{path}") for name in names)


def test_a_wheel_with_compiled_modules_is_for_one_python(tmp_path: Path) -> None:
    """Those that are there already are taken into it."""
    if not FINDER.modules:
        pytest.skip(f"modules are {FINDER.state}")
    sources = tmp_path / "sources"
    for name in (*PRODUCT, "docs"):
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    command = (sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path)
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    path = next(tmp_path.glob("*.whl"))
    assert f"-cp{sys.version_info.major}{sys.version_info.minor}-" in path.name
    assert not path.name.endswith("-any.whl")
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if name.startswith("rewriter/compiled/")}
    there = {p for p in FOLDER.rglob("*") if p.is_file()}
    assert names == {str(p.relative_to(ROOT)) for p in there}


def test_the_source_distribution_makes_the_same_wheel(built: Path) -> None:
    """`build` makes the wheel from it; what else it holds is what a reader needs."""
    with tarfile.open(next(built.glob("*.tar.gz"))) as sources:
        names = {name.split("/", 1)[1] for name in sources.getnames() if "/" in name}
    assert {"setup.cfg", "pyproject.toml", "LICENSE", "README.md", "docs/guide.md"} <= names
    assert not any(name.startswith(("fixtures", "tests", "build")) for name in names)


def test_powerpc_needs_no_other_library(environment: Path, tmp_path: Path) -> None:
    """Tuned routines are put into a libc where what only tests have is not there."""
    libc, new = inputs.require("ppc-libc"), tmp_path / "new.so"
    gone = ("keystone", "capstone", "unicorn", "elftools", "pytest", *EXTRA)
    program = f"import sys; sys.modules.update(dict.fromkeys({gone})); " + (
        "from rewriter.__main__ import run; run()"
    )
    options = ("--cpu", "7450", "--passes", "substitute", "--funcs", "strlen|memset")
    command = (environment / "bin" / "python", "-c", program, "patch", libc, "-o", new, *options)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "evidence: 1 TESTED" in done.stdout


def test_it_works_outside_the_checkout(environment: Path, tmp_path: Path) -> None:
    sample, tuned = inputs.require("alpha-sample"), tmp_path / "tuned.so"

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = (str(environment / "bin" / arguments[0]), *map(str, arguments[1:]))
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    place = run(
        "python", "-c", "import retune, rewriter; print(retune.__file__, rewriter.__file__)"
    )
    assert all(part.startswith(str(environment)) for part in place.stdout.split()), place.stdout
    done = run("retune", "patch", sample, "-o", tuned, "--cpu", "ev67")
    assert (done.returncode, done.stderr) == (0, "")
    here = (sys.executable, "-m", "retune", "patch", sample, "-o", tmp_path / "here.so")
    subprocess.run([*here, "--cpu", "ev67"], check=True, capture_output=True)
    assert tuned.read_bytes() == (tmp_path / "here.so").read_bytes()
    done = run("retune", "verify", sample, tuned)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "verified")
    done = run("python", "-m", "retune", "revert", tuned, "-o", tmp_path / "again.so")
    assert done.returncode == 0
    assert (tmp_path / "again.so").read_bytes() == sample.read_bytes()
    assert (environment / "share" / "man" / "man1" / "retune-patch.1").is_file()
