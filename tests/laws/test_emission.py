"""Laws 1, 5 and 8: what is written is exactly what was meant, and can be taken back."""

from __future__ import annotations

import itertools
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.errors import BadInput
from rewriter.elf import emit, note
from rewriter.elf.emit import CannotWrite, Patch
from rewriter.elf.headers import Layout, read_headers
from rewriter.elf.image import parse


def _without_sections(data: bytes) -> bytes:
    """Return an ELF file with e_shoff, e_shentsize, e_shnum and e_shstrndx zero."""
    layout = read_headers(data, "input").layout
    row = list(layout.ehdr.unpack_from(data, 16))
    row[5] = row[10] = row[11] = row[12] = 0
    return data[:16] + layout.ehdr.pack(*row) + data[16 + layout.ehdr.size :]


@pytest.mark.parametrize("name", inputs.NAMES)
def test_no_patch_is_the_same_file(name: str) -> None:
    data = inputs.require(name).read_bytes()
    assert emit.difference(data, data) == ()
    assert emit.apply(data, ()) == data


@pytest.mark.parametrize("name", inputs.NAMES)
@pytest.mark.parametrize("trailer", [0, 1000], ids=["names last", "names elsewhere"])
def test_detach_gives_back_what_attach_took(name: str, trailer: int) -> None:
    data = inputs.require(name).read_bytes() + b"\xa5" * trailer
    payload = b"manifest\x00\xff" * 77
    attached = note.attach(data, payload=payload)
    assert note.find(data) is None
    assert note.find(attached) == payload
    assert note.detach(attached) == data
    assert note.attach(data, payload=payload) == attached


@pytest.mark.parametrize("name", ["alpha-libc", "ppc-libc", "ppc64-libc", "ia64-libc"])
def test_attach_moves_no_section_and_loads_nothing(name: str) -> None:
    data = inputs.require(name).read_bytes()
    attached = note.attach(data, payload=b"x" * 5)
    before, after = read_headers(data, "before"), read_headers(attached, "after")
    assert after.segments == before.segments
    names = before.e_shstrndx
    for old, new in zip(before.sections, after.sections[:-1], strict=True):
        if old.index != names:
            assert old == new
    assert after.sections[names].sh_offset == before.sections[names].sh_offset
    added = after.sections[-1]
    assert (added.name, added.sh_flags, added.sh_addr) == (note.NAME, 0, 0)
    size = read_headers(data, "before").layout.ehdr.size
    assert attached[16 + size : added.sh_offset - 64] == data[16 + size : added.sh_offset - 64]
    assert parse(attached, "after").symbols == parse(data, "before").symbols


@settings(max_examples=40)
@given(payload=st.binary(max_size=300), trailer=st.binary(max_size=150))
def test_attach_any_payload_after_any_end(payload: bytes, trailer: bytes) -> None:
    data = inputs.require("alpha-sample").read_bytes() + trailer
    attached = note.attach(data, ".note.x", "owner", payload=payload, note_type=7)
    assert note.find(attached, ".note.x") == payload
    assert note.detach(attached, ".note.x") == data


def test_two_notes_come_off_in_reverse_order() -> None:
    data = inputs.require("alpha-sample").read_bytes()
    one = note.attach(data, ".note.one", payload=b"1")
    two = note.attach(one, ".note.two", payload=b"2")
    assert note.detach(two, ".note.two") == one
    with pytest.raises(BadInput, match=r"layout changed"):
        note.detach(two, ".note.one")


def test_note_refusals_say_what_to_do() -> None:
    data = inputs.require("alpha-sample").read_bytes()
    bare = _without_sections(data)
    with pytest.raises(note.NoSectionTable, match=r"^f: has no section headers, .*beside it\)$"):
        note.attach(bare, payload=b"", label="f")
    assert note.find(bare) is None
    with pytest.raises(BadInput, match=r"^f: has no section \.note\.retune to remove$"):
        note.detach(data, label="f")
    attached = note.attach(data, payload=b"")
    with pytest.raises(BadInput, match=r"already has a section"):
        note.attach(attached, payload=b"")
    with pytest.raises(BadInput, match=r"does not hold a note of retune"):
        note.find(data, ".text")


@settings(max_examples=150)
@given(st.data())
def test_detach_never_gives_bytes_that_attach_did_not_take(draw: st.DataObject) -> None:
    data = inputs.require("alpha-sample").read_bytes()
    attached = bytearray(note.attach(data, payload=b"payload"))
    start = read_headers(bytes(attached), "f").sections[-1].sh_offset
    where = draw.draw(st.integers(start, len(attached) - 1))
    attached[where] ^= 1 << draw.draw(st.integers(0, 7))
    try:
        before = note.detach(bytes(attached))
        found = note.find(bytes(attached))
    except BadInput:
        return
    # A changed payload or note type is no damage to the rest; anything else must be refused.
    assert found is not None
    assert before == data


def test_layouts_are_those_of_the_gabi() -> None:
    sizes = {32: (52, 32, 40), 64: (64, 56, 64)}
    for bits, expected in sizes.items():
        layout = Layout(bits, "big")
        assert (16 + layout.ehdr.size, layout.phdr.size, layout.shdr.size) == expected


same_length = st.integers(0, 60).flatmap(
    lambda n: st.tuples(st.binary(min_size=n, max_size=n), st.binary(min_size=n, max_size=n))
)


@given(same_length)
def test_difference_is_exact_minimal_and_reversible(pair: tuple[bytes, bytes]) -> None:
    old, new = pair
    patches = emit.difference(old, new)
    assert emit.apply(old, patches) == new
    back = [Patch(p.offset, p.new, p.old) for p in patches]
    assert emit.apply(new, back) == old
    for p in patches:
        assert all(a != b for a, b in zip(p.old, p.new, strict=True))
    assert all(a.end < b.offset for a, b in itertools.pairwise(patches))


@pytest.mark.parametrize(
    ("patches", "message"),
    [
        ([Patch(1, b"xx", b"yy")], "expects 7878 and finds 6263"),
        ([Patch(1, b"b", b"yy")], "changes the length from 1 to 2"),
        ([Patch(2, b"c", b"y"), Patch(0, b"a", b"y")], "overlaps or precedes"),
        ([Patch(0, b"ab", b"yy"), Patch(1, b"b", b"z")], "overlaps or precedes"),
        ([Patch(3, b"de", b"yy")], "after the file"),
        ([Patch(-1, b"", b"")], "overlaps or precedes"),
    ],
)
def test_wrong_patches_are_refused(patches: list[Patch], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        emit.apply(b"abcd", patches)


def test_different_lengths_have_no_difference() -> None:
    with pytest.raises(BadInput, match="3 and 2 bytes"):
        emit.difference(b"abc", b"ab")


def test_write_takes_the_mode_and_leaves_nothing_beside(tmp_path: Path) -> None:
    like, out = tmp_path / "like", tmp_path / "out"
    like.write_bytes(b"")
    like.chmod(0o751)
    emit.write_atomically(out, b"content", like)
    assert out.read_bytes() == b"content"
    assert stat.S_IMODE(out.stat().st_mode) == 0o751
    assert sorted(p.name for p in tmp_path.iterdir()) == ["like", "out"]


def test_write_in_place_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    emit.write_atomically(link, b"new", link)
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod"])
def test_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")

    def fail(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(emit.NoRoom, match=r"out: No space left on device$"):
        emit.write_atomically(out, b"new", out)
    assert out.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("place", ["missing/out", ".", "fifo"])
def test_write_refuses_what_is_not_a_file(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    like = tmp_path / "like"
    like.write_bytes(b"")
    with pytest.raises(CannotWrite, match=r"^cannot write "):
        emit.write_atomically(tmp_path / place, b"new", like)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fifo", "like"]
