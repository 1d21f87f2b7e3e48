"""Profiles: the samples of the programs' documentation, readprofile(8) itself, and junk."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.code.program import Function
from rewriter.core.errors import BadInput
from rewriter.elf.headers import Segment
from rewriter.elf.image import Image
from rewriter.elf.linking import Symbol
from rewriter.identify import profiles
from rewriter.identify.profiles import Heat

TEXT, SIZE = 0x400000, 0x200000


def made(name: str, symbols: Sequence[tuple[str, int, int]], kind: int = 2) -> Image:
    """An image with text from TEXT on, loaded from offset 0x1000, and functions by name."""
    table = [Symbol(n, at, size, 2, 1, 0, 1, False) for n, at, size in symbols]
    segment = Segment(1, 5, 0x1000, TEXT, SIZE, SIZE, 0x1000)
    return Image(name, b"", 0x9026, 64, "little", kind, TEXT, (), (segment,), tuple(table), ())


MAIN = [("main", 0x41BE00, 0x100), ("far", 0x4B1900, 0x100), ("callee", 0x500000, 0x40)]


def heat(data: str | bytes, image: Image) -> Heat:
    """The shares of an image's functions."""
    raw = data.encode() if isinstance(data, str) else data
    functions = [
        Function(s.st_value, s.st_value + s.st_size, s.name, "symbol")
        for s in image.symbols
        if s.st_size
    ]
    return profiles.heat(profiles.parse(raw, "p", image), functions)


def rounded(found: Heat) -> dict[str, float]:
    """Shares in thousandths."""
    return {name: round(share, 3) for name, share in found.share.items()}


# bolt/docs/profiles.md, "Examples"; the addresses of its F, B and T lines.
BOLT = {
    "samples": ("E cycles\nS 41be50 3\nE br_inst_retired\nS 41be60 6\nS 4b1900 1\n",
                "samples", {"main": 0.9, "far": 0.1}),
    "trace": ("T 4b196f 4b19e0 4b19ef 2\n", "executed bytes", {"far": 1.0}),
    "trace, mispredicted": ("T 4b196f 4b19e0 4b19ef 2 1\n", "executed bytes", {"far": 1.0}),
    "trace without run": ("T 4b196f 4b19e0 -1 2\nR -2 41be50 41be50 2", "executed bytes",
                          {"far": 0.5, "main": 0.5}),
    "legacy": ("F 41be50 41be50 3\nF 41be90 41be94 2\nB 4b1942 500000 3 0\nf 500000 500004 1\n"
               "r 500000 500004 1\n", "executed bytes", {"main": 28 / 44, "callee": 16 / 44}),
    "branches alone": ("B 4b1942 500000 3 0\nB 4b196f 4b19e0 1 0\n", "branches",
                       {"callee": 0.75, "far": 0.25}),
    "elsewhere": ("S X:41be50 3\nS abcdef01:41be50 2\nS 41be50 5\n", "samples", {"main": 0.5}),
    "minus one in full": ("T 4b196f 41be50 ffffffffffffffff 1\n", "executed bytes", {"main": 1.0}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "unit", "expected"), BOLT.values(), ids=BOLT)
def test_bolt(text: str, unit: str, expected: dict[str, float]) -> None:
    found = heat(text, made("a.out", MAIN))
    assert (found.format, found.unit) == ("BOLT", unit)
    assert rounded(found) == {name: round(share, 3) for name, share in expected.items()}


def test_bolt_counts_a_shared_file_from_where_it_is_loaded() -> None:
    image = made("lib.so", MAIN, kind=3)
    assert rounded(heat("S 1be50 3\n", image)) == {"main": 1.0}


# perf 6.1, as it printed; the file and symbol replaced.
PERF = {
    "default": "sh  7278  1357.190114:     250000 cpu-clock:      7fb61be50 main+0x50 (/x/a.out)\n"
               "sh  7278  1357.190364:     750000 cpu-clock:      7fb6b1900 far+0x0 (/x/a.out)\n",
    "cpu, thread, modifier": "a b 12/13 [001] 1.5: 1 cycles:u: 41be50 main+0x50 (/usr/lib/a.out)\n"
                             "a b 12/13 [001] 1.5: 3 cycles:u: 4b1900 far+0x0 (/usr/lib/a.out)\n",
    "no period": "".join(f"sh 7 1.5: cycles: {at} {s} (/x/a.out)\n" for at, s in
                         [("41be50", "main+0x50"), *[("4b1900", "far+0x0")] * 3]),
    "ip,sym,dso": "".join(f"     {at:x} {s} (/x/a.out)\n" for at, s in
                          [(0x41BE50, "main"), *[(0x4B1900, "far")] * 3]),
    "ip alone": "   41be50\n   4b1900\n   4b1900\n   4b1904\n",
    "chains": "# captured\nsh  7278  1357.1: 1 cpu-clock: \n"
              "\t          41be50 main+0x50 (/x/a.out)\n\t          4b1900 far+0x0 (/x/a.out)\n\n"
              "sh  7278  1357.2: 3 cpu-clock: \n\t       4b1900 operator new(int)+0x2 (inlined)\n"
              "\t          41be50 main+0x50 (/x/a.out)\n\n",
    "mappings": "sh 9 0.0: PERF_RECORD_MMAP2 9/9: [0x7f0000(0x100000) @ 0x1c000 08:01 5 0]: r-xp"
                " /x/a.out\nsh 9 0.0: PERF_RECORD_COMM exec: sh:9/9\n"
                "sh  9  1.1: 1 cycles: 7f0e50 [unknown] (/x/a.out)\n"
                "sh  9  1.2: 3 cycles: 886900 [unknown] (/x/a.out)\n",
    "the kernel": "x 1 1.0: 1 cycles: 41be50 main+0x50 ([kernel.kallsyms])\n"
                  "x 1 1.0: 3 cycles: 4b1900 far+0x0 (/usr/lib/debug/vmlinux)\n",
}  # fmt: skip


@pytest.mark.parametrize("text", PERF.values(), ids=PERF)
def test_perf_script(text: str) -> None:
    """main has one of four, far three, however they are written."""
    kernel = [("_stext", TEXT, 0)] if "vmlinux" in text else []
    found = heat(text, made("in/vmlinux.new" if kernel else "in/a.out", [*MAIN, *kernel]))
    assert found.format == "perf script"
    assert rounded(found) == {"far": 0.75, "main": 0.25}


def test_perf_of_other_files_is_outside() -> None:
    text = PERF["default"] + "sh 7 1.5: 1000000 cpu-clock: 7fb6295063e0 memcpy+0x4 (/x/libc.so)\n"
    found = heat(text, made("a.out", MAIN))
    assert (found.unit, found.total, found.inside) == ("events", 2000000, 0.5)
    with pytest.raises(BadInput, match=r"no sample of this perf script profile is in b \(it is of"):
        heat(text, made("b", MAIN))


# docs.redhat.com, Deployment Guide, "Using opreport on a Single Executable"; OProfile manual,
# "Image summaries and symbol summaries" (its CPU and headings), symbols replaced.
OPREPORT = {
    "one image": "samples  %        symbol name\n12       21.4286  main\n"
                 "36        8.9286  far@@V1\n",
    "images": "CPU: Core 2, speed 2.534e+06 MHz (estimated)\n"
              "Counted CPU_CLK_UNHALTED events (Clock cycles) with a unit mask of 0x00\n"
              "samples  %        image name               symbol name\n"
              "1        24.9447  a.out                    main\n"
              "3         9.2183  a.out                    far\n",
    "images and programs, two events, addresses":
        "vma      samples  %        samples  %      image name  app name   symbol name\n"
        "0041be00 1        25.0000  7        50     /x/a.out    sh         main\n"
        "004b1900 3        75.0000  0        0      /x/a.out    sh         far\n",
}  # fmt: skip


@pytest.mark.parametrize("text", OPREPORT.values(), ids=OPREPORT)
def test_opreport(text: str) -> None:
    found = heat(text, made("a.out", MAIN))
    assert (found.format, found.unit) == ("opreport", "samples")
    assert rounded(found) == {"far": 0.75, "main": 0.25}


def test_opreport_of_other_images_is_outside() -> None:
    text = OPREPORT["images"] + "4 8 libc.so memcpy\n2 8 a.out (no symbols)\n2 1 a.out gone\n"
    found = heat(text, made("a.out", MAIN))
    assert (found.total, found.inside) == (12, 4 / 12)


def kernel_profile(order: str, step: int, said: int, counts: dict[int, int], size: int) -> bytes:
    """/proc/profile: the step as it is said, a count for each step of text, what was outside."""
    words = [0] * (size // step)
    for at, count in counts.items():
        words[at // step] += count
    return struct.pack(f"{order}{len(words) + 1}I", said, *words)


KERNEL = [("_stext", TEXT, 0), *MAIN, ("_etext", TEXT + SIZE, 0)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("step", [4, 64, 1024])
@pytest.mark.parametrize("known", [True, False], ids=["step", "step 0"])
def test_readprofile(order: str, step: int, known: bool) -> None:
    """Either byte order, also where a big-endian kernel writes no step."""
    counts = {0x1BE00: 10, 0xB1900: 30}
    data = kernel_profile(order, step, step if known else 0, counts, SIZE)
    found = heat(data, made("vmlinux", KERNEL))
    assert (found.format, found.total) == ("readprofile", 40)
    if step <= 64:
        assert rounded(found) == {"far": 0.75, "main": 0.25}
    else:  # a step is longer than a function
        assert rounded(found) == {"far": round(0.75 / 4, 3), "main": round(0.25 / 4, 3)}


def test_as_readprofile_itself_counts(tmp_path: Path) -> None:
    """The program's ticks for every function, from the same file and a System.map."""
    tool = inputs.require_tool("readprofile")
    draw = random.Random(5)
    starts = sorted(draw.sample(range(TEXT, TEXT + SIZE, 16), 300))
    names = [(f"f{n}", at, end - at) for n, (at, end) in enumerate(
        zip(starts, [*starts[1:], TEXT + SIZE], strict=True))]  # fmt: skip
    image = made("vmlinux", [("_stext", TEXT, 0), *names, ("_etext", TEXT + SIZE, 0)])
    counts = {draw.randrange(0, SIZE - 16, 16): draw.randint(1, 9) for _ in range(2000)}
    # The program gives the last step of a function to the next one (`indx < ...` over words whose
    # first is the step): the kernel counts an address at word 1 + (address - _stext) / step.
    last = {at - TEXT - 16 for at in starts}
    counts = {at: count for at, count in counts.items() if at not in last}
    (tmp_path / "profile").write_bytes(kernel_profile("<", 16, 16, counts, SIZE))
    lines = [f"{s.st_value:016x} T {s.name}" for s in image.symbols]
    (tmp_path / "map").write_text("\n".join(sorted(lines)) + "\n")
    command = (tool, "-m", tmp_path / "map", "-p", tmp_path / "profile")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    expected = {row[1]: int(row[0]) for row in rows if row[1] not in ("total", "*unknown*")}
    found = heat((tmp_path / "profile").read_bytes(), image)
    ours = {name: round(share * found.total) for name, share in found.share.items()}
    assert len(expected) > 250
    assert {n: t for n, t in ours.items() if n in expected} == {
        n: t for n, t in expected.items() if n in ours
    }
    assert set(expected) - set(ours) <= {"_stext", "_etext"}
    assert set(ours) - set(expected) == set()


BAD = {
    "empty": (b"", "p: is empty"),
    "text": (b"hello\n", "p: not a profile that retune knows"),
    "bolt letter": (b"S 41be50 3\nQ 1 2\n", "p: line 2 is not one of E, S, B, F, f, r, T, R: 'Q"),
    "bolt count": (b"S 41be50 3\nS 41be50 x\n", "p: line 2 is not S with its addresses and counts"),
    "bolt fields": (b"B 41be50 41be54 3\n", "p: line 1 is not B with its addresses and counts"),
    "bolt address": (b"\n\nS 0x41be50 3\n", "p: line 3 is not S with its addresses and counts"),
    "bolt outside": (b"S 10 3\n", "p: no sample of this BOLT profile is in vmlinux"),
    "perf": (b"41be50 main (/x/vmlinux)\nwhat is this\n", "p: line 2 is not a sample of perf"),
    "opreport": (b"samples  %  symbol name\n1 2 main\nx 2 main\n", "p: line 3 is not a row of opr"),
    "opreport row": (b"samples  %  symbol name\n\n1 main\n", "p: line 3 is not a row of opreport"),
    "opreport images": (b"  samples|      %|\n 22 28.9 /x\n", "p: line 1: this opreport summary"),
    "readprofile": (b"\0" * 40, "9 counts and a step of 0 or 0 do not cover 2097152 bytes of text"),
    "elf": (b"\x7fELF" + bytes(60), "do not cover 2097152 bytes of text"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        heat(data, made("vmlinux", KERNEL))
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_readprofile_needs_the_bounds_of_text() -> None:
    data = kernel_profile("<", 16, 16, {0: 1}, SIZE)
    with pytest.raises(BadInput, match=r"from _stext to _etext, which a.out does not name \(give"):
        heat(data, made("a.out", MAIN))


WORDS = st.sampled_from([
    "S", "B", "T", "F", "E", "41be50", "X:1", "-1", "3", "0", "samples", "%", "symbol name",
    "image name", "main+0x50", "(/x/a.out)", "cycles:", "1.5:", "sh", "12/12", "[001]", "\t",
    "PERF_RECORD_MMAP2", "[0x40(0x10) @ 0x0 08:01 5 0]:", "r-xp", "#", "\x00", "é", "\x1b[31m",
])  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.lists(WORDS, max_size=9), max_size=6), st.binary(max_size=40))
def test_anything_gives_a_profile_or_one_line(rows: list[list[str]], junk: bytes) -> None:
    image = made("a.out", KERNEL)
    for data in ("\n".join(map(" ".join, rows)).encode() + junk, junk):
        try:
            found = heat(data, image)
        except BadInput as error:
            assert str(error).startswith("p: ")
            assert str(error).isprintable()
        else:
            assert 0 <= found.inside <= 1.000001


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(1, 1000)), min_size=1))
def test_no_sample_is_lost(points: list[tuple[int, int]]) -> None:
    """All formats that have addresses say the same of the same samples."""
    whole = [("_stext", TEXT, 0), ("all", TEXT, SIZE), ("_etext", TEXT + SIZE, 0)]
    image = made("vmlinux", whole)
    bolt = heat("".join(f"S {TEXT + at:x} {n}\n" for at, n in points), image)
    perf = heat(
        "".join(f"x 1 1.0: {n} c: {TEXT + at:x} all (/vmlinux)\n" for at, n in points), image
    )
    total = sum(count for _, count in points)
    assert (bolt.total, perf.total) == (total, total)
    assert rounded(bolt) == rounded(perf) == {"all": 1.0}
