"""What a signature is made of, the database's text, and the files that signatures come from."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import Made

from fixtures import inputs
from rewriter.contracts import CONTRACTS
from rewriter.core.errors import BadInput
from rewriter.core.target.protocol import Sequential
from rewriter.elf.archive.members import ARCHIVE, members, parts
from rewriter.elf.archive.text import read
from rewriter.identify.compiler import compile_file
from rewriter.identify.signatures import Database, parse, shipped
from rewriter.identify.symbols import contract_of
from targets.alpha.assembler import assemble
from targets.alpha.image.masks import coarse, normal


def _normal(text: str) -> list[int]:
    words = np.frombuffer(assemble(text).code, dtype="<u4").astype(np.uint32)
    return normal(words).tolist()


@pytest.mark.parametrize(
    ("one", "two"),
    [
        # A call through the GOT, and what a linker makes of it.
        (
            "ldq pv,64(gp)\n jsr ra,(pv)\n ldah gp,3(ra)\n lda gp,-8(gp)\n ret",
            "unop\n bsr ra,.+0x8000\n unop\n unop\n ret",
        ),
        ("ldq pv,8(gp)\n jsr t9,(pv)\n ret", "unop\n bsr t9,.+0x4000\n ret"),
        ("ldq pv,8(gp)\n jmp (pv)", "unop\n br .+0x4000"),
        ("ldah gp,1(pv)\n lda gp,5(gp)\n ret", "ldah gp,9(pv)\n lda gp,-7(gp)\n ret"),
        ("ldah t0,1(gp)\n ldq t1,8(t0)\n ret", "ldah t0,2(gp)\n ldq t1,-16(t0)\n ret"),
        ("ldq t0,8(gp)\n ret", "ldq t0,16(gp)\n ret"),
        ("beq a0,.+0x4000\n ret", "beq a0,.-0x4000\n ret"),
        ("nop\n ret", "unop\n ret"),
    ],
)
def test_place_and_link_do_not_count(one: str, two: str) -> None:
    assert _normal(one) == _normal(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("addq a0,1,v0\n ret", "addq a0,2,v0\n ret"),
        ("addq a0,a1,v0\n ret", "addq a0,a2,v0\n ret"),
        ("ldq t0,8(a0)\n ret", "ldq t0,16(a0)\n ret"),
        ("ldq ra,0(sp)\n ret", "ldq ra,8(sp)\n ret"),
        ("x: nop\n nop\n beq a0,x", "nop\n x: nop\n beq a0,x"),
        ("beq a0,x\n nop\n x: ret", "bne a0,x\n nop\n x: ret"),
        ("bsr ra,.+0x8000\n ret", "bsr t9,.+0x8000\n ret"),
        ("ldah t0,1(gp)\n mov a0,t0\n ldq t1,8(t0)", "ldah t0,1(gp)\n mov a0,t0\n ldq t1,0(t0)"),
    ],
)
def test_everything_else_counts(one: str, two: str) -> None:
    assert _normal(one) != _normal(two)


def test_coarse_words_do_not_depend_on_their_neighbours(libc: Path) -> None:
    """So a routine's first words hash the same wherever it stands."""
    content = libc.read_bytes()[0x60000:0x64000]
    words = np.frombuffer(content, dtype="<u4").astype(np.uint32)
    apart = np.concatenate([coarse(words[n : n + 1]) for n in range(len(words))])
    assert np.array_equal(coarse(words), apart)


@pytest.mark.parametrize(
    ("symbol", "contract"),
    [
        *((name, name) for name in ("memcpy", "__copy_user", "divqu")),
        *(("__GI_memcpy", "memcpy"), ("___memset", "memset"), ("index", "strchr")),
        *(("__divqu", "divqu"), ("rindex", "strrchr"), ("memcpy@@GLIBC_2.0", "memcpy")),
        *(("mpihelp_submul_1", "mpn_submul_1"), ("__mpn_add_n", "mpn_add_n")),
        *(
            (name, None)
            for name in ("memcpy_chk", "my_strlen", "", "_", "strlen2", "div", "mpihelp_mul")
        ),
    ],
)
def test_names(symbol: str, contract: str | None) -> None:
    assert contract_of(symbol, CONTRACTS) == contract


def test_the_database_does_not_depend_on_the_order(
    made: Made, archive: Path, libc: Path, target: Sequential
) -> None:
    one, two = made(archive), made(libc)
    text = Database.merged(target.name, [one, two]).text()
    assert Database.merged(target.name, [two, one]).text() == text
    assert parse(text, "x").text() == text
    again = compile_file(libc.read_bytes(), libc.name, target, CONTRACTS)
    assert Database.of(target.name, again.signatures).text() == two.text()


def test_what_comes_with_retune_is_in_order_and_holds_no_code(target: Sequential) -> None:
    text = target.signatures.read_text(encoding="utf-8")
    database = shipped(target)
    assert database.text() == text
    assert len(database.signatures) > 300 and len(database.routines()) >= 36
    for entry in json.loads(text)["signatures"]:
        assert entry.keys() == {"routine", "words", "start", "normal", "from"}
        assert entry["routine"] in CONTRACTS and entry["from"]
        assert len(entry["start"]) == 16 and len(entry["normal"]) == 64


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "nothing", '{"format": 2}', "\x00", '"' * 9, "[" * 100_000),
        '{"format": 1, "target": "alpha"}',
        '{"format": 1, "target": "alpha", "files": [], "signatures": []}',
        '{"format": 1, "target": "alpha", "files": {}, "signatures": [1]}',
        '{"format": 1, "target": "alpha", "files": {}, "signatures": [{"routine": "x", "words": 9,'
        ' "start": "zz", "normal": "", "from": []}]}',
    ],
)
def test_a_bad_database_is_one_line(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text, "x.json")
    assert str(caught.value).startswith("x.json: ") and "\n" not in str(caught.value)


def _ar(*content: tuple[str, bytes]) -> bytes:
    data = ARCHIVE
    for name, inner in content:
        data += f"{name:16}{0:<12}{0:<6}{0:<6}{644:<8}{len(inner):<10}`\n".encode()
        data += inner + b"\n" * (len(inner) % 2)
    return data


def _tar(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, inner in files.items():
            entry = tarfile.TarInfo(f"./usr/lib/{name}")
            entry.size = len(inner)
            tar.addfile(entry, io.BytesIO(inner))
    return packed.getvalue()


def _package(data: bytes, suffix: str) -> bytes:
    control = gzip.compress(b"")
    named = (("debian-binary", b"2.0\n"), ("control.tar.gz", control), (f"data.tar{suffix}", data))
    return _ar(*named)


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("suffix", PACKED)
def test_a_package_gives_what_its_files_give(
    suffix: str, target: Sequential, archive: Path
) -> None:
    sample = inputs.require("alpha-sample").read_bytes()
    inside = next(data for name, data in members(archive.read_bytes(), "a") if name == "strlen.o")
    nested = _ar(("strlen.o/", inside), ("text/", b"no code"))
    deb = _package(PACKED[suffix](_tar(sample=sample, nested=nested, text=b"no code")), suffix)
    found = compile_file(deb, "dir/x.deb", target, CONTRACTS)
    (signature,) = (s for s in found.signatures if s.routine == "strlen")
    (source,) = signature.sources
    assert (source.file.name, source.inside) == ("x.deb", "usr/lib/nested(strlen.o)")
    assert {part.inside for part in parts(deb, "x")} == {
        *("usr/lib/sample", "usr/lib/nested(strlen.o)"),
    }


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "neither ELF"),
        (b"\x1f\x8b\x08", "gzip data"),
        (b"!<thin>\n", "thin archive"),
        (ARCHIVE, "holds no code"),
        (ARCHIVE + b"x" * 60, "member header at 0x8 is damaged"),
        (_ar(("a", b"1234"))[:-2], "cut off"),
        (_package(b"nothing", ".xz"), "cannot be unpacked"),
        (_package(b"nothing", ".zst"), "zst|unpacked"),
        (_package(b"nothing", ".rar"), "does not know"),
        (_ar(("debian-binary", b"2.0\n")), "without data.tar"),
        (_ar(("a.o", b"\x7fELF")), "ELF header"),
    ],
)
def test_a_bad_file_is_one_line(data: bytes, said: str, target: Sequential) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        compile_file(data, "x", target, CONTRACTS)
    assert "\n" not in str(caught.value)


@settings(max_examples=150, derandomize=True)
@given(st.binary(max_size=300), st.sampled_from((b"", ARCHIVE, b"\x7fELF\x02\x01\x01")))
def test_any_bytes_are_one_line_or_parts(data: bytes, magic: bytes) -> None:
    _reads(magic + data)


@settings(max_examples=150, derandomize=True)
@given(st.data())
def test_a_damaged_archive_is_one_line_or_parts(data: st.DataObject) -> None:
    content = bytearray(_object())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    _reads(bytes(content[: data.draw(st.integers(0, len(content)))]))


def _object() -> bytes:
    path = Path("/usr/alpha-linux-gnu/lib/libc.a")
    if not path.is_file():
        pytest.skip("apt-get install libc6.1-dev-alpha-cross")
    inside = [data for name, data in members(path.read_bytes(), "a") if name == "memset.o"]
    return _ar(("memset.o/", inside[0]))


def _reads(data: bytes) -> None:
    try:
        for part in parts(data, "x"):
            read(part, "x")
    except BadInput as error:
        assert str(error).startswith("x") and "\n" not in str(error)
