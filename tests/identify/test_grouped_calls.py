"""What may be read beyond calls and returns of a small library, against what its text says."""

from __future__ import annotations

from pathlib import Path

import pytest

import targets
from fixtures.ia64 import CROSSING, linked
from rewriter.analysis.bundled_liveness import Beyond
from rewriter.analysis.functions import find_functions
from rewriter.core.isa.instruction import Flow
from rewriter.elf.image import load
from rewriter.verify.routines.bundled_known import KnownBundled
from targets.ia64.registers import NUMBERS


def known(file: Path) -> KnownBundled:
    """What is known of a file."""
    image = load(file)
    target = targets.of(image).bundling
    assert target is not None
    code = target.code(image, find_functions(image, target.described(image)))
    return KnownBundled(image, target, code)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> KnownBundled:
    return known(linked(CROSSING, tmp_path_factory.mktemp("library"), "-shared"))


def site(found: KnownBundled, name: str, *flows: Flow) -> int:
    """The slot of a function's first call, or of its return."""
    function = next(f for f in found.code.functions if f.name == name)
    code = found.image.read(function.start, function.end - function.start)
    slots = found.target.straight(code, function.start)
    return next(slot.address for slot in slots if slot.insn.op.flow in flows)


def _of_call(found: KnownBundled, name: str) -> int | None:
    return found.beyond.get(site(found, name, Flow.CALL, Flow.INDIRECT_CALL))


def _names(mask: int, names: str) -> str:
    return " ".join(name for name in names.split() if mask >> NUMBERS[name] & 1)


_STANDARD = "r1 r4 r8 r12 r15 r44 r45 f8 p1 p6 b0 b6 ar.pfs"
_SAVED = "r35 r36"  # of the caller's frame: unwinders look there
_NOT = "r2 r3 r14 r21 r31 r32 r34 r37 r41 r43"


@pytest.mark.parametrize(("name", "beside", "dead"), [
    ("calls_plain", "", "r20 r22"),
    ("calls_reader", "r20", "r22"),
    ("calls_through", "r20", "r22"),
    ("calls_setting", "", "r20 r22"),
    ("calls_other_file", "", "r20 r22"),
    ("calls_pointer", "", "r20 r22"),
    ("keeps", "", "r20 r22 r23"),
])  # fmt: skip
def test_a_callee_reads_what_it_reads_and_what_the_standard_passes(
    library: KnownBundled, name: str, beside: str, dead: str
) -> None:
    mask = _of_call(library, name)
    assert mask is not None
    passed = f"{_STANDARD} {_SAVED} {beside}".strip()
    assert _names(mask, f"{passed} {_NOT} {dead}") == passed


@pytest.mark.parametrize("name", ["calls_otherwise", "calls_twice"])
def test_another_linkage_and_what_returns_twice_read_everything(
    library: KnownBundled, name: str
) -> None:
    assert _of_call(library, name) is None


@pytest.mark.parametrize(("name", "read", "dead"), [
    ("plain", "r4 r8 r9 r15 r32 r39 f8", "r1 r2 r14 r20 r23 r31 r40 r127"),
    ("kept_for", "r1 r8 r23", "r20 r22 r24"),
    ("tail", "r1 r20 r23 r31", "r40 r127"),
    ("keeps", "r35 r36", "r20 r23 r40"),
])  # fmt: skip
def test_callers_read_what_they_kept_and_what_the_standard_returns(
    library: KnownBundled, name: str, read: str, dead: str
) -> None:
    mask = library.beyond[site(library, name, Flow.RETURN)]
    assert _names(mask, f"{read} {dead}") == read


def test_all_is_read_in_a_program(tmp_path: Path) -> None:
    """What is no library (kernels among it) has linkages of its own."""
    options = ("--unresolved-symbols=ignore-all", "-e", "plain")
    found: Beyond = known(linked(CROSSING, tmp_path, *options)).beyond
    assert not found


def test_a_frame_of_many_outputs_shows_registers_to_callees(tmp_path: Path) -> None:
    """Where a caller may have more registers in common with a callee, more is read behind it."""
    source = tmp_path / "crossing.s"
    source.write_text(CROSSING.read_text().replace("ar.pfs, 2, 10, 2, 0", "ar.pfs, 2, 10, 9, 0"))
    found = known(linked(source, tmp_path, "-shared"))
    mask = found.beyond[site(found, "plain", Flow.RETURN)]
    assert _names(mask, "r20 r40 r127") == "r40 r127"
