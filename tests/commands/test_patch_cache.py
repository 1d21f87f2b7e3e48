"""`patch --cache`: the same bytes cold, warm, with damage, and for a file that changed a little."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fixtures import inputs, members
from rewriter.analysis.program import Program, analyse
from rewriter.api.choose import Wanted
from rewriter.api.files import Loaded
from rewriter.api.patch import Patched, patch
from rewriter.core.errors import VerificationFailed
from rewriter.core.run.ledger import keeping
from rewriter.elf import manifest
from rewriter.elf.image import Image, load
from rewriter.elf.manifest.record import Manifest, record
from rewriter.road.remembered import results as stored
from rewriter.road.remembered.checked import Checks
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


def _edit(part: int, field: int, value: object) -> Callable[[Any], None]:
    """Another value of every edit: its names are part 0, what was shown of it part 1."""

    def change(document: Any) -> None:
        for edit in document[0]:
            edit[part][field] = value

    return change


def _shown(field: int, value: object) -> Callable[[Any], None]:
    """Another value in the evidence of every edit."""

    def change(document: Any) -> None:
        for edit in document[0]:
            edit[1][0][field] = value

    return change


def _stages(field: int, value: object) -> Callable[[Any], None]:
    """Another value of every stage."""

    def change(document: Any) -> None:
        for stage in document[2]:
            stage[field] = value

    return change


def _part(number: int, value: object) -> Callable[[Any], None]:
    """Other edits, skips or stages."""

    def change(document: Any) -> None:
        document[number] = value

    return change


HOSTILE = {
    "a gain that is a text": _edit(1, 1, "x"),
    "no gain": _edit(1, 1, None),
    "a gain that is no whole number": _edit(1, 1, 1e308),
    "an id that is a number": _edit(0, 0, 5),
    "another edit's id": _edit(0, 0, "bytes:other+0"),
    "a pass that is none": _edit(0, 1, "nopass"),
    "another function's name": _edit(0, 3, "other"),
    "an address that is a text": _edit(0, 4, "x"),
    "an address below 0": _edit(0, 4, -1),
    "another function's address": _edit(0, 4, 8),
    "cycles by 0": _edit(1, 2, "1/0"),
    "cycles of a thousand million digits": _edit(1, 2, "1e999999999"),
    "not proved": _shown(0, "TESTED"),
    "patterns that are numbers": _shown(2, [1, 2]),
    "cases that are a text": _shown(3, "x"),
    "skips of nothing": _part(1, [[None] * 5]),
    "no stages": _part(2, []),
    "edits that changed nothing": _stages(1, []),
    "changes of which no edit is": _part(0, []),
    "a stage of no pass": _stages(0, "nopass"),
    "a place before the file": _stages(1, [[-8, "00000000"]]),
    "a place behind the file": _stages(1, [[10**18, "00000000"]]),
    "places out of order": _stages(3, [[1, 2]]),
}


def _documents(filled: bytes) -> Iterator[tuple[bytes, Any]]:
    """What became of functions, by key."""
    for key, kept in Results.parse(filled, b"").kept.items():
        document = json.loads(zlib.decompress(kept))
        if isinstance(document, list) and len(document) == 3 and document[0]:
            yield key, document


def _hostile(document: Any, change: Callable[[Any], None]) -> bytes:
    change(document)
    return zlib.compress(json.dumps(document).encode())


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_run_says_of_a_function_is_damage(
    name: str, program: Program, filled: bytes
) -> None:
    """With the right digest: types, ranges, and whether what is listed is what changed."""
    for key, document in _documents(filled):
        (function,) = (f for f in program.functions if f.name == document[0][0][0][3])
        packed = _hostile(document, HOSTILE[name])
        results = Results(kept={key: packed})
        assert results.done(key, function, Checks(program)) is None
        assert results.damaged == 1 and not results.used


def test_no_function_is_changed_by_what_is_known_of_another(
    program: Program, filled: bytes
) -> None:
    (key, one), (_, other) = list(_documents(filled))[:2]
    (function,) = (f for f in program.functions if f.name == one[0][0][0][3])
    packed = _hostile(one, lambda document: document[2][-1][1].extend(other[2][-1][1]))
    assert Results(kept={key: packed}).done(key, function, Checks(program)) is None


def test_where_nothing_was_done_no_byte_changed(program: Program) -> None:
    stage = ["", [[0, "41414141"]], [], []]
    packed = zlib.compress(json.dumps([[], [], [stage]]).encode())
    assert Results(kept={b"k": packed}).done(b"k", program.functions[0], Checks(program)) is None


def test_a_result_that_would_fill_the_memory_is_damage(program: Program) -> None:
    for text in (b" " * (64 << 20), b"[" * 100_000, b"[" + b"[]," * (2 << 20) + b"[]]"):
        results = Results(kept={b"k": zlib.compress(text)})
        assert results.done(b"k", program.functions[0], Checks(program)) is None
        assert results.seen(b"k", lambda: 3) is None
        assert results.damaged == 2


@pytest.mark.parametrize("number", [-1, 3, "x", None, 1e308])
def test_a_routine_that_there_is_not_is_damage(number: object) -> None:
    tried = ["TESTED", [], [], 5, ""]
    for document in ([number, [], tried, []], [0, [], tried, [[number, None]]]):
        packed = zlib.compress(json.dumps(document).encode())
        assert Results(kept={b"k": packed}).seen(b"k", lambda: 3) is None
    good = zlib.compress(json.dumps([2, [], tried, [[1, None]]]).encode())
    assert Results(kept={b"k": good}).seen(b"k", lambda: 3) is not None


def test_hostile_results_change_no_byte(image: Image, cold: Patched, filled: bytes) -> None:
    changes = list(HOSTILE.values())
    kept = {
        key: _hostile(document, changes[number % len(changes)])
        for number, (key, document) in enumerate(_documents(filled))
    }
    results = Results.parse(filled, b"")
    results.kept.update(kept)
    data, recalled = _again(image, results)
    assert data == cold.data() and recalled > 0 and results.damaged == len(kept) > 3


def test_a_manifest_that_does_not_lead_back_is_not_written(
    image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*arguments: Any, **options: Any) -> Manifest:
        made = record(*arguments, **options)
        return replace(made, patches=made.patches[1:])

    monkeypatch.setattr(manifest, "record", short)
    with pytest.raises(VerificationFailed, match="does not give the original"):
        patch(Loaded(image, None), WANTED)


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
