"""The two hottest engines interpreted, compiled by mypyc and compiled by Cython, on real code.

python benchmarks/compilers.py [NAME:CPU]   a name of fixtures/inputs.py; ppc64el-libgomp:power9

The engines are the pipeline of dispatch groups, which times every superblock of the file once, and
the store of terms, in which every superblock is run.  Printed is processor time, the least of three
runs, and its ratio to the interpreted engine's.  Cython, where it is installed (`pip install
cython`), compiles the sources of these engines as they are; the outcomes must agree.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fixtures import inputs
from rewriter.core.compiled import FINDER, LIST, PURE, ROOT, Compiled, digest, python, source

DEFAULT = "ppc64el-libgomp:power9"
RUNS = 3
MODULES = (
    "rewriter.core.terms.evaluate",
    "rewriter.core.terms.term",
    "rewriter.timing.dispatch.core",
    "rewriter.timing.dispatch.group",
    "rewriter.timing.dispatch.items",
    "rewriter.timing.dispatch.steady",
    "rewriter.timing.path",
    "rewriter.timing.steady",
    "rewriter.timing.steady_node",
)
"""What Cython compiles: the two engines."""


def built(folder: Path) -> str:
    """Compiles the modules by Cython below a folder; why it did not work, if so."""
    for module in MODULES:
        place = source(module, folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(source(module).read_bytes())
    paths = [str(source(module, folder).relative_to(folder)) for module in MODULES]
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "-i", "-3", *paths]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    sources = {module: digest(module) for module in MODULES}
    (folder / LIST).write_text(json.dumps({"python": python(), "sources": sources}))
    return done.stderr.strip()[-300:] if done.returncode else ""


def measured(name: str, cpu: str, folder: str = "") -> dict[str, tuple[float, int]]:
    """Seconds of each engine, and a sum that says what came out; with modules of a folder, if any.

    In a process of its own: what was imported stays.
    """
    code = f"from benchmarks.compilers import run; run({name!r}, {cpu!r}, {folder!r})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, tuple[float, int]] = json.loads(done.stdout)
    return found


def run(name: str, cpu: str, folder: str) -> None:
    """Prints what `measured` reads."""
    if folder:
        assert not FINDER.modules  # what is known now stays
        del os.environ[PURE]
        sys.meta_path.insert(0, Compiled(Path(folder)))
    import targets
    from passes.scheduling.dependence import accesses, bonding
    from rewriter.analysis.program import analyse
    from rewriter.core.code import dataflow
    from rewriter.elf.image import load
    from rewriter.timing.engines import engine_of

    assert all((sys.modules[m].__file__ or "").startswith(folder) for m in MODULES if folder)
    image = load(inputs.require(name))
    target = targets.of(image)
    assert target.sequential is not None
    program = analyse(image, target.sequential)
    steady = engine_of(target.cpus[cpu]).steady(target.table)
    blocks = [b for f in program.functions for b in program.superblocks(f) if 3 < len(b.insns) < 65]
    bonds = bonding(target.sequential)
    placed = [
        list(zip(b.addresses(), b.insns, accesses(map(bonds, b.insns)), strict=True))
        for b in blocks
    ]

    def timed() -> int:
        lines = [line for code in placed if (line := steady.line(code)) is not None]
        orders = [range(len(code)) for code in placed]
        times = [line.times(order) for line, order in zip(lines, orders, strict=True)]
        return sum(max(issue for issue, _ in one) for one in times)

    def terms() -> int:
        found = 0
        for block in blocks:
            with target.table.terms() as store:
                dataflow.run(target.table, store, block.insns, block.addresses(), ())
                found += len(block.insns)
        return found

    print(json.dumps({"pipeline": least(timed), "terms": least(terms)}))


def least(work: Callable[[], int]) -> tuple[float, int]:
    """The least processor time of some runs, and what came out."""
    times = []
    for _ in range(RUNS):
        begun = time.process_time()
        found = work()
        times.append(time.process_time() - begun)
    return min(times), found


def main(wanted: str) -> None:
    """Prints a row for each engine and compiler."""
    name, _, cpu = wanted.partition(":")
    rows = {}
    os.environ[PURE] = "1"
    rows["interpreted"] = measured(name, cpu)
    with tempfile.TemporaryDirectory() as folder:
        if reason := built(Path(folder)):
            print(f"not compiled by Cython: {reason}")
        else:
            rows["Cython"] = measured(name, cpu, folder)
    del os.environ[PURE]
    rows["mypyc"] = measured(name, cpu)
    print(f"{name}, {cpu}")
    for engine, (base, outcome) in rows["interpreted"].items():
        for compiler, row in rows.items():
            seconds, same = row[engine]
            assert same == outcome, (engine, compiler)
            print(f"{engine:10}{compiler:13}{seconds:7.3f} s{seconds / base:7.2f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT)
