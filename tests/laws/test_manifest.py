"""What a manifest of today stores, what it may say, and what a hostile one costs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.note import columns_of, report
from fixtures import inputs
from rewriter.analysis.functions import find_functions
from rewriter.cli import main
from rewriter.core.edit import Edit, Evidence, Grade
from rewriter.core.errors import BadInput
from rewriter.core.varints import packed, packed_signed, unpacked, unpacked_signed
from rewriter.elf import manifest, note
from rewriter.elf.image import load
from rewriter.elf.manifest import columns, edits, former, stored, texts
from rewriter.elf.manifest.aligned import align, follow
from rewriter.elf.unwind import entries
from rewriter.report.edits import Listed
from rewriter.verify.listed import contradictions
from targets.forms import ALPHA, IA64
from tests.support.format_reader import original_of
from tests.support.older_manifests import document
from tests.support.older_manifests import packed as packed_document

SAMPLE = Path(__file__).parent / "manifest_format_3.b64"
TEXT = st.text(st.characters(codec=None), max_size=12)
ADDRESS = st.integers(0, (1 << 64) - 1)
EVIDENCE = st.builds(
    Evidence,
    st.sampled_from(list(Grade)),
    st.lists(TEXT, max_size=2).map(tuple),
    st.lists(TEXT, max_size=2).map(tuple),
    st.integers(0, 1 << 40),
    TEXT,
)
EDIT = st.builds(
    Edit, TEXT, st.sampled_from(["bytes", "align"]), TEXT, TEXT, ADDRESS, TEXT, TEXT, EVIDENCE,
    st.integers(-(1 << 40), 1 << 40),
)  # fmt: skip
"""An edit with any text in each field."""


def real() -> tuple[bytes, bytes, manifest.Manifest]:
    """The sample, the sample with a manifest of format 3 that an older retune wrote, and that."""
    old = inputs.require("alpha-sample").read_bytes()
    payload = base64.b64decode(SAMPLE.read_text())
    record = manifest.parse(payload)
    bare = bytearray(old)
    for patch in record.patches:
        bare[patch.offset : patch.end] = patch.new
    return old, bytes(bare) + record.appended, record


@cache
def real_dump() -> tuple[bytes, bytes]:
    """The sample as it was changed, and its manifest in today's format."""
    _, bare, record = real()
    return bare, manifest.dump(record, bare)


def blank(record: manifest.Manifest, *made: Edit) -> manifest.Manifest:
    return replace(record, edits=made)


def test_a_manifest_of_format_3_that_was_written_then() -> None:
    old, bare, record = real()
    assert (record.format, len(record.edits)) == (3, 8)
    attached = note.attach(bare, payload=base64.b64decode(SAMPLE.read_text()))
    assert manifest.revert(attached) == old
    again = manifest.attach(bare, replace(record, format=4))
    assert manifest.read(again) == replace(record, format=4)
    assert manifest.revert(again) == old
    assert len(again) < len(attached)


def test_a_reader_made_from_the_page_gives_the_original(patched: Callable[..., Path]) -> None:
    """docs/format.md is enough: the reader in tests/support uses nothing of ours."""
    old, bare, record = real()
    tuned = patched("alpha-sample", "ev67").read_bytes()
    assert original_of(tuned) == old
    assert original_of(manifest.attach(bare, replace(record, format=4))) == old
    damaged = bytearray(tuned)
    damaged[0x400] ^= 1
    assert original_of(bytes(damaged)) != old


def test_without_the_patched_file_the_edits_are_still_there() -> None:
    _, bare, record = real()
    payload = manifest.dump(record, bare)
    lone = manifest.parse(payload)
    assert lone.edits == record.edits
    assert (lone.patches, lone.unread, lone.places) == ((), len(record.patches), 4)
    assert Listed(lone).as_json()["patches"] is None
    assert manifest.parse(payload, patched=bare) == replace(record, format=4)
    # Beside, everything is stored; and where the file is not the one of the record.
    assert manifest.parse(manifest.dump(record)) == replace(record, format=4)
    assert manifest.dump(record, bare[:-1]) == manifest.dump(record)


def test_verify_compares_the_list_with_the_changes(
    patched: Callable[..., Path], tmp_path: Path
) -> None:
    """A list that is short of an edit, or has one more, is a finding; the file's own is none."""
    source, tuned = inputs.require("alpha-sample"), patched("alpha-sample", "ev67").read_bytes()
    bare, record = manifest.detach(tuned)
    out, first = tmp_path / "out", record.edits[0]
    image = load(source)
    functions = find_functions(image, entries.frames(image))
    assert list(contradictions(image, bare, functions, record.edits)) == []
    unchanged = list(contradictions(image, image.data, functions, [first]))
    assert unchanged == [
        f"manifest: edit {first.id} is listed, and no byte of {first.routine} changed"
    ]
    more = replace(first, id="bytes:made+0", address=0x8)
    for made, said in (
        ([e for e in record.edits if e.routine != first.routine], "and no edit of it is listed"),
        ([*record.edits, more], "edit bytes:made.0 is at 0x8, where no function is"),
    ):
        out.write_bytes(manifest.attach(bare, replace(record, edits=tuple(made))))
        done = CliRunner().invoke(main, ["verify", str(source), str(out), "-j", "1"])
        assert done.exit_code == 1
        assert re.search(f"found: manifest: .*{said}", done.output)
        assert "manifest: refused" in done.output


@settings(max_examples=150, deadline=None)
@given(st.lists(EDIT, max_size=6))
def test_any_text_comes_back_and_is_printed_on_one_line(made: list[Edit]) -> None:
    record = blank(real()[2], *made)
    found = manifest.parse(manifest.dump(record))
    assert found.edits == tuple(made)
    lines = list(Listed(found).lines())
    assert len(lines) == len(made) + 2 + len(record.skips)
    assert all(line.isprintable() for line in lines)
    assert all(cell.isprintable() for grid in Listed(found).grids() if not isinstance(grid, str)
               for row in grid.rows for cell in row)  # fmt: skip
    json.loads(json.dumps(Listed(found).as_json(), allow_nan=False))


HOSTILE = [
    ({"cpu": "a\nretune: verified"}, "cpu"),
    ({"retune": "\ud800"}, "retune"),
    ({"original": "0" * 63}, "original"),
    ({"options": {"a": {}}}, "options"),
    ({"options": {"a": [1]}}, "options"),
    ({"options": {"a": float("nan")}}, "options"),
    ({"skips": {"a": -1}}, "skips"),
]


@pytest.mark.parametrize(("change", "field"), HOSTILE, ids=[str(c) for c, _ in HOSTILE])
def test_a_value_that_no_record_has_is_refused(change: dict[str, object], field: str) -> None:
    content, raw = document(real()[2])
    assert manifest.parse(packed_document(content, raw)) == real()[2]
    with pytest.raises(BadInput, match=f"^m: the manifest is malformed: {field}"):
        manifest.parse(packed_document(content | change, raw), "m")


EVIDENCES = [
    (["PROVED", [], [], float("nan"), 0], "cases of an edit's evidence"),
    (["PROVED", [], [], {}, 0], "cases of an edit's evidence"),
    (["CERTAIN", [], [], 0, 0], ""),
]


@pytest.mark.parametrize(("row", "field"), EVIDENCES)
def test_evidence_that_is_none_is_refused(row: list[object], field: str) -> None:
    content, raw = document(real()[2])
    content["evidence"][0] = row
    with pytest.raises(BadInput, match=f"^m: the manifest is malformed: .*{field}"):
        manifest.parse(packed_document(content, raw), "m")


@pytest.mark.parametrize("address", [-1, 1 << 64, 10**4000])
def test_an_address_of_no_machine_is_refused(address: int) -> None:
    content, raw = document(real()[2])
    content["edits"]["address"][0] = address
    with pytest.raises(BadInput, match=r"^m: the manifest is malformed: "):
        manifest.parse(packed_document(content, raw), "m")


def signed(block: bytes) -> bytes:
    """A block of columns as a manifest with the right checksum."""
    content = bytes(64) + block
    return stored.MAGIC + hashlib.sha256(content).digest() + content


def head(**more: object) -> bytes:
    values = {"retune": "1", "target": "t", "cpu": "c", "options": {}, "skips": {}}
    return json.dumps(values | {"classes": [], "evidence": []} | more).encode()


def hollow(size: int) -> bytes:
    return b"[" + b"[]," * size + b"[]]"


BOMBS = {
    "lists": columns.pack({stored.HEAD: hollow(300_000)}),
    "deep": columns.pack({stored.HEAD: b"[" * 50_000}),
    "texts": columns.pack(
        {
            stored.HEAD: head(),
            stored.EDITS + edits.TEXTS: texts.lines(["\x02" + "\x0b" * 9_000]),
            stored.EDITS + edits.TEXTS + texts.WHICH: bytes(1000),
            stored.EDITS + edits.TEXTS + texts.WORDS: texts.lines(["a" * 900] * 1000),
        }
    ),
    "size": packed(np.array([1, 0, 0, 1 << 40, 1])) + b"x",
    "columns": packed(np.array([1 << 40])),
    "nothing": b"",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_and_costs_little(name: str, tmp_path: Path) -> None:
    """In a process that may have no more than 600 MB, libraries included."""
    path = tmp_path / "m"
    path.write_bytes(signed(BOMBS[name]))
    run = "from rewriter.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", run, "edits", str(path)],
        capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (600 << 20,) * 2),
        env={"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("\n") == 1
    assert "the manifest is malformed" in done.stderr


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_changed_block_is_read_or_refused(data: st.DataObject) -> None:
    """With the right checksum: each column with bytes replaced, cut off or added."""
    bare, dumped = real_dump()
    found = columns.unpack(dumped[100:])
    number = data.draw(st.sampled_from(sorted(found)))
    column = bytearray(found[number])
    at = data.draw(st.integers(0, len(column) - 1))
    column[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    content = dumped[36:100] + columns.pack(found | {number: bytes(column)})
    payload = stored.MAGIC + hashlib.sha256(content).digest() + content
    try:
        manifest.parse(payload, "m", bare)
    except BadInput as error:
        assert str(error).startswith("m: the manifest ")


@pytest.mark.parametrize("size", [300, 4_096, 4_097, 70_000, 300_000])
def test_a_dictionary_for_the_column_packs_as_the_largest_does(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real code: it repeats itself from near and far."""
    code = inputs.require("alpha-libc").read_bytes()[0x30000:][:size]
    packed_alone = columns.pack({1: code})
    monkeypatch.setattr(columns, "_LEAST", columns._MOST)
    assert columns.pack({1: code}) == packed_alone
    assert columns.unpack(packed_alone) == {1: code}


def test_the_benchmark_of_the_page_tells_each_column(tmp_path: Path) -> None:
    _, bare, record = real()
    path = tmp_path / "f"
    path.write_bytes(manifest.attach(bare, replace(record, format=4)))
    lines = list(report(path))
    assert "8 edits in 4 places" in lines[0]
    payload = note.find(path.read_bytes())
    assert payload is not None
    sizes = [short for *_, short in columns_of(payload)]
    assert len(lines) == 1 + len(sizes)
    assert 100 < len(payload) - sum(sizes) < 250
    path.write_bytes(bare)
    assert list(report(path)) == [f"{path}: carries no manifest"]


NUMBERS = st.lists(st.one_of(st.integers(0, 200), st.integers(0, (1 << 63) - 1)))


@given(NUMBERS, st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
def test_numbers_come_back(plain: list[int], signed_ones: list[int]) -> None:
    assert unpacked(packed(np.array(plain, np.int64))).tolist() == plain
    assert unpacked_signed(packed_signed(np.array(signed_ones, np.int64))).tolist() == signed_ones
    for bad in (b"\x80", b"\xff" * 9 + b"\x7f", b"\xff" * 10 + b"\x01"):
        with pytest.raises(ValueError, match="a number that"):
            unpacked(bad)


ROW = st.lists(st.integers(0, 6), max_size=60)


@settings(deadline=None)
@given(ROW, ROW)
def test_a_row_follows_from_another(old: list[int], new: list[int]) -> None:
    before, after = np.array(old, np.uint64), np.array(new, np.uint64)
    home = [min(n, len(new)) for n in range(len(old))]
    script, partner = align(before, after, home)
    values, found = follow(script, after)
    assert values.tolist() == old
    assert found.tolist() == partner.tolist()
    assert all(old[n] == new[at] for n, at in enumerate(partner.tolist()) if at >= 0)


@settings(deadline=None)
@given(st.permutations([2**63, 2**64 - 1, *range(10)]), st.integers(0, 3))
def test_another_order_is_told_without_a_value(order: list[int], same: int) -> None:
    """The shortest stretch that has the same values is one gap, none of it spelled out."""
    old, kept, behind = sorted(order), list(range(20, 20 + same)), list(range(30, 40))
    rows = (np.array([*kept, *some, *behind], np.uint64) for some in (old, order))
    script, _ = align(*rows, range(same + len(order) + 10))
    assert not len(script.spelled)
    ends = [n for n in range(len(old) + 1) if sorted(order[:n]) == old[:n]]
    long = [end - start for start, end in pairwise(ends) if end - start > 1]
    assert [gap for gap, _ in script.gaps.reshape(-1, 2).tolist() if gap] == long


@settings(deadline=None)
@given(st.binary(max_size=400), st.booleans(), st.data())
def test_code_of_any_bytes_comes_back(code: bytes, is_words: bool, data: st.DataObject) -> None:
    form = ALPHA if is_words else IA64
    code = code[: len(code) // 16 * 16]
    if is_words:
        nops = b"".join(n.to_bytes(4, "little") for n in ALPHA.nops)
        code = b"".join((code[n : n + 4], nops * data.draw(st.integers(0, 9)))[k]
                        for n in range(0, len(code), 4) for k in (0, 1))  # fmt: skip
    places = np.arange(5, 5 + len(code) // form.unit)
    items = form.items(code, places)
    where, laid_out = form.placed(form.layout(code, places, items.values), places, items.values)
    assert where.tolist() == items.places.tolist()
    assert form.code(items, places, laid_out) == code


@pytest.mark.parametrize("name", ["alpha-sample", "alpha-libc", "ia64-libc"])
def test_any_change_of_a_real_file_is_told(name: str) -> None:
    """Code moved by a nop, exchanged and replaced, data and headers changed."""
    old = inputs.require(name).read_bytes()
    form = former._form(old)
    assert form is not None
    start, end = max(former._text(old, form.unit), key=lambda span: span[1] - span[0])
    rng, new = np.random.default_rng(1), bytearray(old)
    for at in rng.integers(start, end - 2048, 40) // 16 * 16:
        size = int(rng.integers(1, 60)) * 16
        new[at + 16 : at + size] = new[at : at + size - 16]
        new[at + 2 * size : at + 2 * size + 8] = rng.bytes(8)
    new[60:64], new[-40:-30] = b"abcd", b"0123456789"
    told = former.told(old, bytes(new))
    assert former.untold(told, bytes(new)) == old
    assert sum(map(len, told)) < 60_000
