"""`patch --cache`: the same bytes cold, warm, with damage, and for a file that changed a little."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import inputs, members
from rewriter.analysis.program import Program, analyse
from rewriter.api.choose import Wanted
from rewriter.api.files import Loaded
from rewriter.api.patch import Patched, patch
from rewriter.core.run.ledger import keeping
from rewriter.elf.image import Image, load
from rewriter.road.remembered import results as stored
from rewriter.road.remembered.results import Results
from targets import of
from tests.commands.conftest import Run
from tests.support.depth import depth

WANTED = Wanted(cpu="ev67", passes="substitute,bytes,align")
NOP = 0x47FF041F  # bis $31,$31,$31


@pytest.fixture(scope="module")
def image() -> Image:
    return load(inputs.require("alpha-sample"))


@pytest.fixture(scope="module")
def program(image: Image) -> Program:
    return analyse(image, of(image))


@pytest.fixture(scope="module")
def cold(image: Image) -> Patched:
    return patch(Loaded(image, None), WANTED)


@pytest.fixture(scope="module")
def filled(image: Image, cold: Patched) -> bytes:
    return _filled(image, cold)


def _filled(image: Image, cold: Patched) -> bytes:
    """What a first run leaves for others."""
    results = Results()
    assert patch(Loaded(image, None), WANTED, results=results).data() == cold.data()
    return results.dump()


def _again(image: Image, results: Results) -> tuple[bytes, int]:
    """The file made with earlier results, and how many functions were recalled."""
    with keeping() as ledger:
        data = patch(Loaded(image, None), WANTED, results=results).data()
    return data, ledger.counts["functions recalled"]


def test_a_second_run_works_on_no_function_and_gives_the_same(
    image: Image, cold: Patched, filled: bytes
) -> None:
    results = Results.parse(filled, b"")
    data, recalled = _again(image, results)
    assert data == cold.data()
    assert recalled == cold.report.functions - sum(cold.report.refusals.values())
    assert Results.parse(results.dump(), b"").kept == Results.parse(filled, b"").kept


def test_only_routines_that_are_replaced_are_looked_at_again() -> None:
    image = load(inputs.or_skip(members.library, "libroutines.so"))
    cold = patch(Loaded(image, None), WANTED)
    data, recalled = _again(image, Results.parse(_filled(image, cold), b""))
    assert data == cold.data()
    understood = cold.report.functions - sum(cold.report.refusals.values())
    assert 0 < understood - recalled <= len({e.routine for e in cold.report.edits if _placed(e)})


def _placed(edit: object) -> bool:
    return getattr(edit, "technique", "") == "substitute"


def test_what_is_damaged_is_worked_out_again(image: Image, cold: Patched, filled: bytes) -> None:
    hurt = bytearray(filled)
    for at in range(50, len(hurt), len(hurt) // 9):
        hurt[at] ^= 0x10
    results = Results.parse(bytes(hurt[:-5]), b"")
    assert results.damaged >= 5
    data, recalled = _again(image, results)
    assert data == cold.data() and 0 < recalled < _again(image, Results.parse(filled, b""))[1]


@pytest.mark.parametrize("data", [b"", b"R", b"RTR1", b"RTR2" + bytes(200), bytes(1000)])
def test_what_is_no_file_of_results_has_none(data: bytes) -> None:
    assert not Results.parse(data, b"").kept


def test_a_result_is_not_believed_under_another_key(filled: bytes) -> None:
    size, (first, second) = len(stored.MAGIC), list(Results.parse(filled, b"").kept)[:2]
    swapped = filled.replace(first, second)
    assert filled[size : size + 32] == first
    assert Results.parse(swapped, b"").damaged == 1


def test_no_more_is_kept_than_there_is_room_for(
    filled: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "LARGEST", len(filled) // 2)
    results = Results.parse(filled, b"")
    last = list(results.kept)[-1]
    results.used[last] = results.kept[last]
    short = results.dump()
    assert len(short) <= len(filled) // 2
    assert last in Results.parse(short, b"").kept


def test_other_options_are_other_results(image: Image, filled: bytes) -> None:
    assert _again(image, Results.parse(filled, b"other"))[1] == 0


def test_a_changed_file_is_as_if_nothing_had_been_kept(
    image: Image, program: Program, filled: bytes
) -> None:
    """An instruction goes, somewhere: what is recalled is what would be made again."""
    plain = [
        int(program.listing.addresses[at])
        for at in range(len(program.listing))
        if program.listing.rows[at] >= 0 and not program.nops[at]
    ]
    count = depth(1, 60)
    for address in plain[len(plain) // (2 * count) :: len(plain) // count][:count]:
        offset, order = image.offset_of(address), image.byteorder
        word = NOP.to_bytes(4, order)
        changed = replace(image, data=image.data[:offset] + word + image.data[offset + 4 :])
        data, recalled = _again(changed, Results.parse(filled, b""))
        assert data == patch(Loaded(changed, None), WANTED).data(), hex(address)
        assert recalled > 0


def test_the_command_keeps_and_uses_a_folder(sample: Path, tmp_path: Path, run: Run) -> None:
    options = ("--cpu", "ev67", "--passes", "bytes", "--cache", tmp_path / "kept", "-q")
    for name in ("cold", "warm"):
        assert run("patch", sample, "-o", tmp_path / name, *options).exit_code == 0
    assert (tmp_path / "warm").read_bytes() == (tmp_path / "cold").read_bytes()
    (kept,) = (tmp_path / "kept" / "functions").iterdir()
    kept.write_bytes(kept.read_bytes()[:-3])
    result = run("patch", sample, "-o", tmp_path / "hurt", *options)
    assert result.exit_code == 0 and "1 damaged, and not used" in result.stderr
    assert (tmp_path / "hurt").read_bytes() == (tmp_path / "cold").read_bytes()
