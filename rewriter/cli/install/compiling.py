"""Compiles the hottest modules, where mypyc, a C compiler and Python's headers are.

`python -m rewriter.cli.install.compiling` does it in a checkout, and a build for a wheel.  It says
in a line what it did; where something is missing Python runs the sources, and nothing else differs
(`rewriter/core/compiled.py`, docs/internals.md).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from rewriter.core.compiled import FOLDER, LIST, PURE, ROOT, Compiled, digest, python, source

MODULES = (
    "passes.scheduling.dependence",
    "passes.scheduling.superblocks",
    "rewriter.core.readings.extents",
    "rewriter.core.terms.evaluate",
    "rewriter.core.terms.term",
    "rewriter.timing.caches",
    "rewriter.timing.dispatch.chip",
    "rewriter.timing.dispatch.core",
    "rewriter.timing.dispatch.engine",
    "rewriter.timing.dispatch.foretold",
    "rewriter.timing.dispatch.group",
    "rewriter.timing.dispatch.items",
    "rewriter.timing.dispatch.memory",
    "rewriter.timing.dispatch.steady",
    "rewriter.timing.inorder.ahead",
    "rewriter.timing.inorder.engine",
    "rewriter.timing.inorder.pipeline",
    "rewriter.timing.inorder.steady",
    "rewriter.timing.outoforder.engine",
    "rewriter.timing.outoforder.fetch",
    "rewriter.timing.outoforder.issue",
    "rewriter.timing.outoforder.mapper",
    "rewriter.timing.outoforder.memory",
    "rewriter.timing.outoforder.pipeline",
    "rewriter.timing.outoforder.places",
    "rewriter.timing.outoforder.retire",
    "rewriter.timing.outoforder.steady",
    "rewriter.timing.path",
    "rewriter.timing.predictors",
    "rewriter.timing.result",
    "rewriter.timing.steady",
    "rewriter.timing.steady_node",
)
"""What is compiled: where the time of `patch` goes, and what pays (`benchmarks/compiled.py`)."""

NEEDS = "mypy>=1.11,<3"
"""What compiles, beside setuptools."""

_TYPES = ("--ignore-missing-imports", "--explicit-package-bases", "--python-version")
_OPTIMIZATION = "1"


def obstacle() -> str:
    """Why nothing can be compiled; empty where it can, but for mypyc."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler})"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Python's headers are not there (python3-dev)"
    return ""


def compiled(root: Path = ROOT) -> str:
    """Compiles what is not compiled yet, and says what was done."""
    folder = root / FOLDER.relative_to(ROOT)
    if os.environ.get(PURE):
        return f"nothing compiled, as {PURE} says"
    if set(Compiled(folder, root).modules) == set(MODULES):
        return ""
    reason = obstacle() or ("" if find_spec("mypyc") else "there is no mypyc")
    if not reason:
        digests = {name: digest(name, root) for name in MODULES}  # before they are read
        with tempfile.TemporaryDirectory() as scratch:
            reason = _built(root, Path(scratch))
            if not reason:
                _put(Path(scratch, "lib"), folder, digests)
                return f"{len(MODULES)} modules compiled"
    return f"modules are not compiled, which makes retune slower: {reason}"


def _built(root: Path, scratch: Path) -> str:
    """Builds the modules below a folder; why it did not work, if so."""
    command = (sys.executable, __file__, str(scratch))
    # Where a build stands apart, what it installed for itself is named there already.
    places = (str(root), *filter(None, [os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), PURE: "1"}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return ""
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "warning:" not in line]
    return "\n".join(lines[-20:])


def build(modules: Sequence[str], root: Path, scratch: Path) -> None:
    """Builds modules below a folder, in this process: mypyc and setuptools leave a lot behind.

    Two libraries of half the modules each, which are built at the same time.
    """
    from mypyc.build import mypycify
    from setuptools import Distribution

    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    files = [str(source(module, root).relative_to(root)) for module in modules]
    half = len(files) // 2
    extensions = mypycify(
        [*_TYPES, version, f"--cache-dir={scratch / 'types'}", *files],
        separate=[(files[:half], None), (files[half:], None)],
        opt_level=_OPTIMIZATION,
        debug_level="0",
        target_dir=str(scratch / "c"),
    )
    command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(scratch / "lib"), str(scratch / "objects")
    command.ensure_finalized()
    command.parallel = 2
    command.run()


def _put(built: Path, folder: Path, digests: Mapping[str, str]) -> None:
    """Puts what was built in its place: the list goes first and comes last."""
    place = folder / LIST
    place.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(built, folder)
    listed = {"python": python(), "sources": digests}
    place.write_text(json.dumps(listed, indent=1), encoding="ascii")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        build(MODULES, Path.cwd(), Path(sys.argv[1]))
    elif said := compiled():
        print(f"retune: {said}")
