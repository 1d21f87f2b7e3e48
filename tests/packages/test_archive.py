"""A distribution's packages: what they need, one tuned, its program run, a wrong one noticed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import archive
from benchmarks.archive import Roots, Wanted
from fixtures.archive import packages, tuning
from fixtures.archive.left import Weight, weighed
from fixtures.archive.packages import PACKAGES
from fixtures.archive.tasks import TASKS, Task
from fixtures.archive.tuning import TUNED, Left
from fixtures.inputs import or_skip, require_tool
from rewriter.elf.image import load

CPU, PACKAGE, PROGRAM = "power9", "bzip2", "bin/bzip2"
SCRIPT = """# text compressed and back
# packages: bzip2
bzip2 -c <"$0" >packed
bzip2 -dc packed
bzip2 --help 2>&1
"""


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Roots:
    """The package with what it needs, and no texts."""
    for name in ("qemu-ppc64le", "cc", "dpkg-deb"):
        require_tool(name)
    folder = tmp_path_factory.mktemp("archive")
    old = folder / "old"
    old.mkdir()
    packages.unpack(or_skip(lambda name: packages.needed([name]), PACKAGE), old)
    return Roots(old, folder / "texts", folder / "new", folder / "scratch")


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """What the program does here."""
    script = tmp_path / "task.sh"
    script.write_text(SCRIPT, encoding="utf-8")
    return Task("task", script, "", (PACKAGE,))


def test_each_package_is_there_once() -> None:
    """At least 60 are tuned, and each task names packages of the list."""
    assert sum("*" not in one.left for one in PACKAGES.values()) >= 60
    assert len(TASKS) >= 25
    assert all(set(task.packages) <= PACKAGES.keys() for task in TASKS.values())


def test_a_package_brings_what_it_needs(roots: Roots) -> None:
    """And nothing else of the list."""
    assert packages.needed([PACKAGE]) == ["libc6", "libgcc-s1", "libbz2-1.0", "bzip2"]


def test_a_tuned_program_does_the_same(roots: Roots, task: Task) -> None:
    """It is tuned, and executes no more."""
    wanted = Wanted((PACKAGE,), (PACKAGE,), (task,), float("inf"), 1)
    lines = list(archive.report(wanted, roots, CPU))
    assert not [line for line in lines if line.startswith(tuning.WRONG)]
    (row,) = (line for line in lines if line.startswith("| task |") and "same" not in line)
    *_, ratio, _, same, _ = (cell.strip() for cell in row.split("|"))
    assert same == "yes" and 0 < float(ratio) <= 1
    (fate,) = (line for line in lines if line.startswith("| 1 | "))
    assert fate.split("|")[4].strip() != "0", "nothing is tuned"


def test_executions_are_counted_where_they_are(roots: Roots, task: Task) -> None:
    """In the program and its library, at addresses of code; as many in each run."""
    ran = roots.run(task, roots.old, CPU)
    assert ran.total == roots.run(task, roots.old, CPU).total
    for path in (PROGRAM, "lib/powerpc64le-linux-gnu/libbz2.so.1.0.4"):
        image, offsets = load(roots.old / path), ran.executed[path][:, 0].tolist()
        places = [
            (image.offset_of(a), image.offset_of(a) + b - a) for a, b in image.executable_ranges()
        ]
        assert len(offsets) > 100
        assert all(any(low <= at < high for low, high in places) for at in offsets)


def test_another_output_is_noticed(roots: Roots, task: Task, tmp_path: Path) -> None:
    """A file in whose data one letter is another."""
    damaged, content = tmp_path / "damaged", (roots.old / PROGRAM).read_bytes()
    assert content.count(b"force compression") == 1
    damaged.write_bytes(content.replace(b"force compression", b"force compressing"))
    other = tmp_path / "other"
    packages.copied(roots.old, other, {PROGRAM: damaged})
    old = roots.run(task, roots.old, CPU)
    pair = archive.compared(old, task, Roots(roots.old, roots.texts, other, roots.scratch), CPU)
    assert old.status == 0 and not pair.same
    assert [*archive.wrongs([], [pair])] == ["wrong: task does something else"]


def test_what_is_kept_leads_to_the_same_file(roots: Roots) -> None:
    """A second time nothing is worked out."""
    content = (roots.old / PROGRAM).read_bytes()
    made = tuning.tuned(content, CPU)
    assert made.status == TUNED and made == tuning.kept(content, CPU)
    assert made.path.read_bytes() != content


def test_reasons_weigh_what_was_executed(roots: Roots) -> None:
    """A function by all that is executed in it, a place by itself; each once."""
    image = load(roots.old / PROGRAM)
    start, _ = image.executable_ranges()[0]
    at = image.offset_of(start)
    rows = np.array([[at, 5], [at + 4, 7], [at + 64, 100]], np.uint64)
    left = [
        Left("align", "register r3 differs: r3", start, start + 32),
        Left("combine", "parts may be read later: r7", start + 4, start + 8),
        Left("combine", "parts may be read later: r9, r10", start + 12, start + 16),
        Left("combine", "parts may be read later: r7", start + 4, start + 8),
    ]
    assert weighed([(image, left, rows)]) == [
        Weight("align", "register r3 differs: ...", 1, 1, 12),
        Weight("combine", "parts may be read later: ...", 2, 1, 7),
    ]
