"""Laws 1 and 5: no edit is the same file; every edit can be taken back from the file alone."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import targets
from fixtures import inputs
from rewriter.cli import main
from rewriter.core.edit import Edit, Evidence, Grade, Skip
from rewriter.core.errors import BadInput, RetuneError, VerificationFailed
from rewriter.elf import emit, manifest, note
from rewriter.elf.emit import Patch
from rewriter.elf.headers import read_headers
from rewriter.elf.image import load
from targets import every
from tests.support.depth import depth
from tests.support.older_manifests import checked, document, packed

Patched = Callable[..., Path]


def made_up() -> tuple[bytes, bytes, manifest.Manifest]:
    """The sample, the sample with two changes, and the manifest of them."""
    old = inputs.require("alpha-sample").read_bytes()
    patches = (Patch(0x6D0, old[0x6D0:0x6D8], bytes(8)), Patch(0x700, old[0x700:0x701], b"\xff"))
    new = emit.apply(old, patches)
    evidence = Evidence(Grade.PROVED, ("alignment", "more"), ("key",), 0, "detail")
    edits = (
        Edit("bytes:f+10", "bytes", "byte load", "f", 0x10, "old\nold", "new", evidence, 3),
        Edit("bytes:f+8", "bytes", "byte load", "f", 0x8, "old", "", evidence, -1),
        Edit(
            "align:g+0", "align", "\udc80", "g", 1 << 63, "", "", Evidence(Grade.TESTED, cases=7), 0
        ),
    )
    skips = (Skip("bytes", "k", "f", 4, "b"), Skip("bytes", "k", "f", 8, "a differs: x"))
    record = manifest.record(
        old, new, target="alpha", cpu="ev67", edits=edits, patches=patches, skips=skips,
        options={"passes": ["bytes"], "max_edits": None},
    )  # fmt: skip
    return old, new, record


def null_edit(name: str, tmp_path: Path, *options: str) -> None:
    path, out = inputs.require(name), tmp_path / "out"
    arguments = ["patch", str(path), "-o", str(out), "--passes", "none", *options]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert (result.exit_code, result.output) == (4, "nothing to do\n")
    assert out.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", inputs.elf_names())
def test_the_null_edit_is_the_same_file(name: str, tmp_path: Path) -> None:
    """For every file, also of an architecture that has no target."""
    null_edit(name, tmp_path)


@pytest.mark.parametrize("name", inputs.elf_names())
def test_the_null_edit_for_a_cpu(name: str, tmp_path: Path) -> None:
    """For the first CPU that runs the file's code."""
    image = load(inputs.require(name))
    if not any(target.fits(image.ident) for target in every()):
        null_edit(name, tmp_path, "--cpu", "anything")
        return
    target = targets.of(image)
    cpus = (cpu.name for cpu in target.cpus.values() if target.baseline <= cpu.features)
    null_edit(name, tmp_path, "--cpu", next(cpus))


@pytest.mark.parametrize("cpu", ["ev67", "ev56"][: depth(1, 2)])
@pytest.mark.parametrize("name", ["alpha-sample", "alpha-libc"])
def test_a_tuned_file_goes_back(name: str, cpu: str, patched: Patched) -> None:
    original, tuned = inputs.require(name).read_bytes(), patched(name, cpu).read_bytes()
    record = manifest.read(tuned)
    assert record is not None
    assert record.edits
    assert len({edit.id for edit in record.edits}) == len(record.edits)
    assert manifest.revert(tuned) == original
    assert manifest.compare(original, tuned) == (note.detach(tuned), ())
    payload = note.find(tuned)
    assert payload is not None
    assert len(payload) < 0.08 * len(original)
    assert manifest.dump(record, note.detach(tuned)) == payload
    assert manifest.parse(manifest.dump(record)) == record


def test_a_manifest_comes_back_as_it_was() -> None:
    old, new, record = made_up()
    assert manifest.parse(manifest.dump(record)) == record
    assert manifest.dump(record) == manifest.dump(replace(record))
    assert record.skips == {"bytes: b": 1, "bytes: a differs": 1}
    attached = manifest.attach(new, record)
    assert manifest.read(attached) == record
    assert manifest.detach(attached) == (new, record)
    assert manifest.revert(attached) == old
    assert manifest.revert_with(new, record) == old
    assert manifest.read(old) is None


@settings(max_examples=200)
@given(st.data())
def test_any_flipped_bit_of_the_note_is_found(draw: st.DataObject) -> None:
    old, new, record = made_up()
    attached = bytearray(manifest.attach(new, record))
    section = read_headers(bytes(attached), "f").sections[-1]
    at = draw.draw(st.integers(section.sh_offset, len(attached) - 1))
    attached[at] ^= 1 << draw.draw(st.integers(0, 7))
    with pytest.raises(BadInput):
        manifest.revert(bytes(attached), "f")
    try:
        bare, findings = manifest.compare(old, bytes(attached), "f")
    except BadInput:
        return  # the section headers themselves
    # A note that lost its name is no note: then the file is compared as a whole.
    assert findings or bare == bytes(attached)


@settings(max_examples=100)
@given(st.data())
def test_any_flipped_bit_elsewhere_is_found(draw: st.DataObject) -> None:
    _, new, record = made_up()
    attached = bytearray(manifest.attach(new, record))
    at = draw.draw(st.integers(0, len(attached) - 1))
    attached[at] ^= 1 << draw.draw(st.integers(0, 7))
    with pytest.raises(RetuneError):
        manifest.revert(bytes(attached), "f")


def test_every_refusal_says_what_is_wrong() -> None:
    old, new, record = made_up()
    attached = manifest.attach(new, record)
    cases: list[tuple[Callable[[], object], type[RetuneError], str]] = [
        (lambda: manifest.revert(old, "f"), BadInput, r"^f: carries no manifest \(it was not made"),
        (lambda: manifest.revert_with(old, record, "f"), BadInput, "^f: is the original already"),
        (lambda: manifest.revert_with(attached, record, "f"), BadInput, "^f: is not the file"),
        (lambda: manifest.attach(attached, record, "f"), BadInput, "^f: already has a section"),
        (
            lambda: manifest.revert_with(new, replace(record, original="0" * 64), "f"),
            VerificationFailed,
            "^f: taking the edits back does not give the original",
        ),
        (
            lambda: manifest.revert_with(
                new, replace(record, patches=(Patch(0x6D0, b"x", b"y"),)), "f"
            ),
            BadInput,
            "expects 79 and finds 00",
        ),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()


def test_a_note_of_another_owner_is_not_ours() -> None:
    _, new, record = made_up()
    other = note.attach(new, payload=manifest.dump(record), owner="someone")
    with pytest.raises(BadInput, match="not as retune wrote it"):
        manifest.revert(other)
    with pytest.raises(BadInput, match=r"not a manifest of retune: it starts with '61626364'"):
        manifest.read(note.attach(new, payload=b"abcdefgh"))


MALFORMED: list[Callable[[dict[str, Any]], object]] = [
    lambda d: d.clear(),
    lambda d: d.update(edits=[]),
    lambda d: d.update(strings=None),
    lambda d: d.update(cpu=1),
    lambda d: d.update(options=3),
    lambda d: d.update(skips={"a": "b"}),
    lambda d: d["edits"]["id"].pop(),
    lambda d: d["edits"]["id"].__setitem__(0, 5),
    lambda d: d["edits"]["address"].__setitem__(0, 1.5),
    lambda d: d["edits"]["address"].__setitem__(0, True),
    lambda d: d["edits"]["old"].__setitem__(0, 10**6),
    lambda d: d["evidence"][0].__setitem__(0, "CERTAIN"),
    lambda d: d["patches"]["size"].__setitem__(0, -1),
    lambda d: d["patches"]["size"].__setitem__(0, 9),
    lambda d: d.update(appended=-1),
    lambda d: d.update(appended=2),
    lambda d: d.update(appended=10**6),
    lambda d: d.update(appended=""),
]


def older(record: manifest.Manifest) -> manifest.Manifest:
    return replace(record, format=3)


@pytest.mark.parametrize("change", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_manifest_is_bad_input(change: Callable[[dict[str, Any]], object]) -> None:
    content, raw = document(made_up()[2])
    assert manifest.parse(packed(content, raw)) == older(made_up()[2])
    change(content)
    with pytest.raises(BadInput, match=r"^m: the manifest is malformed: "):
        manifest.parse(packed(content, raw), "m")


@pytest.mark.parametrize("change", [lambda raw: raw[:-1], lambda raw: raw + b"xy", lambda raw: b""])
def test_other_bytes_than_the_patches_are_bad_input(change: Callable[[bytes], bytes]) -> None:
    content, raw = document(made_up()[2])
    with pytest.raises(BadInput, match=r"^m: the manifest is malformed: "):
        manifest.parse(packed(content, change(raw)), "m")


def test_a_manifest_of_another_format() -> None:
    content, raw = document(made_up()[2])
    with pytest.raises(BadInput, match=r"^m: the manifest has format 99, this retune reads 2 to 4"):
        manifest.parse(packed(content | {"format": 99}, raw), "m")


def test_a_manifest_of_format_2() -> None:
    """All old bytes, then all new ones."""
    record = replace(made_up()[2], patches=(Patch(1, b"abc", b"xyz"), Patch(9, b"d", b"w")))
    content, raw = document(record)
    assert raw == b"abcxyzdw" + record.appended
    apart = content | {"format": 2}
    found = manifest.parse(packed(apart, b"abcdxyzw" + record.appended))
    assert found == replace(record, format=2)
    with pytest.raises(BadInput, match="malformed"):
        manifest.parse(packed(apart, b"abcdxyzwv" + record.appended))


@pytest.mark.parametrize("content", [b"[]", b"1", b"[" * 100_000, b"", b"\xff"])
def test_a_manifest_of_something_else(content: bytes) -> None:
    stream = lzma.compress(content)
    with pytest.raises(BadInput, match="malformed"):
        manifest.parse(checked(stream))


def test_a_stream_that_goes_on_or_ends_early() -> None:
    stream = packed(*document(made_up()[2]))[36:]
    for bad in (stream + b"x", stream[:-1]):
        with pytest.raises(BadInput, match="its stream has no end or goes on after it"):
            manifest.parse(checked(bad))


def test_ten_thousand_edits_stay_small() -> None:
    """Ids, addresses and texts of a libc's size, each text different from the one before."""
    evidence = [Evidence(Grade.PROVED, (), (f"{n:012x}",)) for n in range(50)]
    edits = tuple(
        Edit(
            f"bytes:sub_{n * 64:x}+{n % 64:x}", "bytes", "byte load", f"sub_{n * 64:x}", n * 68,
            f"ldq_u t0,{n % 300}(a0)\nextbl t0,a{n % 6},t1", f"ldbu t1,{n % 300}(a0)",
            evidence[n % 50], 1,
        )
        for n in range(10_000)
    )  # fmt: skip
    patches = tuple(
        Patch(n * 24, hashlib.sha256(bytes(str(n), "ascii")).digest()[:4], b"\x01\x02\x03\x04")
        for n in range(15_000)
    )
    record = manifest.record(b"", b"x", target="t", cpu="c", edits=edits, patches=patches)
    data = manifest.dump(record)
    assert len(data) < 350_000
    assert manifest.parse(data) == record
