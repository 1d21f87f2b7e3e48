"""Debian packages in and out: what changes is code, and nothing else; hostile ones are refused.

The oracle is dpkg-deb, with tar and md5sum behind it.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import inputs, sources
from fixtures.deb_files import CONTROL, DIR, FILE, HARD, SYM, Entry, ar, package, tar
from rewriter.api import files
from rewriter.api.choose import Wanted
from rewriter.api.patch import patch
from rewriter.core.errors import BadInput, BadUsage
from rewriter.elf.archive import members as archive
from rewriter.packages import batch, control, debian
from rewriter.packages.batch import COPIED, REFUSED, RENAMED, RETUNED, Tree

ELF = b"\x7fELF"


def wanted(head: bytes) -> bool:
    """Alpha's linked files."""
    return head[:4] == ELF and head[18:20] == b"\x26\x90"


def retune(trees: Sequence[Tree], debug: Path) -> None:
    """Every file of the trees, as `retune patch` does it."""
    for tree in trees:
        for path in sorted(p for p in tree.path.rglob("*") if p.is_file()):
            made = patch(files.load(path), Wanted(cpu="ev67", passes="bytes"))
            files.write(path, made.data(), path)


def dpkg(*arguments: object) -> str:
    command = (inputs.require_tool("dpkg-deb"), *map(str, arguments))
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="session")
def real() -> Path:
    """A package with a library for Alpha, as Debian has it."""
    return inputs.or_skip(sources.package, "libgcc-s1-alpha-cross")


@pytest.fixture(scope="session")
def made(real: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That package retuned."""
    out = tmp_path_factory.mktemp("out")
    (result,) = batch.run([real], out, retune, wanted, suffix="+ev67")
    assert (result.status, result.files) == (RETUNED, 1), result
    assert result.output is not None
    assert [path.name for path in out.iterdir()] == [result.output.name]
    return result.output


def content(package: Path) -> dict[str, tuple[tarfile.TarInfo, bytes]]:
    """All members, as dpkg-deb unpacks them."""
    command = (inputs.require_tool("dpkg-deb"), "--fsys-tarfile", str(package))
    done = subprocess.run(command, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        files = {e.name: tar.extractfile(e) if e.isreg() or e.islnk() else None for e in tar}
        return {n: (tar.getmember(n), f.read() if f else b"") for n, f in files.items()}


def test_only_code_changes(real: Path, made: Path) -> None:
    """Names, order, owners, modes, times and links are as they were; so is every other file."""
    before, after = content(real), content(made)
    assert list(before) == list(after)
    changed = []
    for name, (entry, data) in before.items():
        now, again = after[name]
        if data != again:
            changed.append(name)
            now.size = entry.size
        assert (now.mode, now.uid, now.gid, now.uname, now.gname, now.mtime, now.type) == (
            entry.mode, entry.uid, entry.gid, entry.uname, entry.gname, entry.mtime, entry.type
        ), name  # fmt: skip
        assert (now.linkname, now.size) == (entry.linkname, entry.size), name
    assert [name.rsplit("/", 1)[-1] for name in changed] == ["libgcc_s.so.1"]
    assert real.read_bytes()[:8] == made.read_bytes()[:8]
    kinds = [subprocess.run(("ar", "t", p), capture_output=True, text=True, check=True).stdout
             for p in (real, made)]  # fmt: skip
    assert kinds[0] == kinds[1]


def test_the_control_archive_is_true(real: Path, made: Path, tmp_path: Path) -> None:
    """Check sums are those of the files, the size is right, and the version has its suffix."""
    dpkg("-x", made, tmp_path / "tree")
    dpkg("-e", made, tmp_path / "tree/DEBIAN")
    dpkg("-e", real, tmp_path / "before")
    sums = tmp_path / "tree/DEBIAN/md5sums"
    subprocess.run(("md5sum", "--check", "--strict", "--quiet", sums), cwd=tmp_path / "tree",
                   check=True)  # fmt: skip
    fields = {n: (dpkg("-f", real, n).strip(), dpkg("-f", made, n).strip())
              for n in ("Version", "Installed-Size", "Depends", "Architecture")}  # fmt: skip
    assert fields["Version"][1] == fields["Version"][0] + "+ev67"
    assert f"_{fields['Version'][1]}_" in made.name
    assert fields["Depends"][0] == fields["Depends"][1]
    before, after = (content(path) for path in (real, made))
    kib = [sum(-(-len(d) // 1024) for _, d in c.values()) for c in (before, after)]
    sizes = [int(size) for size in fields["Installed-Size"]]
    assert sizes[1] - sizes[0] == kib[1] - kib[0] > 0
    for path in (tmp_path / "before").iterdir():
        if path.name not in ("control", "md5sums"):
            again = tmp_path / "tree/DEBIAN" / path.name
            assert again.read_bytes() == path.read_bytes()
            assert again.stat().st_mode == path.stat().st_mode


def test_it_leads_back(real: Path, made: Path, tmp_path: Path, run: Callable[..., object]) -> None:
    """Each file in it is verified against the one of the original package, and reverts to it."""
    for name, path in (("old", real), ("new", made)):
        dpkg("-x", path, tmp_path / name)
    (old,), (new,) = (list((tmp_path / n).rglob("libgcc_s.so.1")) for n in ("old", "new"))
    assert run("verify", old, new).exit_code == 0  # type: ignore[attr-defined]
    back = tmp_path / "back.so"
    assert run("revert", new, "-o", back).exit_code == 0  # type: ignore[attr-defined]
    assert back.read_bytes() == old.read_bytes()


def test_nothing_to_do_is_the_same_file(real: Path, tmp_path: Path) -> None:
    """A package without a file of a known machine, or in which nothing changes."""
    for asked in (lambda head: False, wanted):
        (result,) = batch.run([real], tmp_path, lambda trees, debug: None, asked, suffix="+x")
        assert result.status == COPIED
        assert result.output == tmp_path / real.name
        assert result.output.read_bytes() == real.read_bytes()


def code() -> bytes:
    return inputs.require("alpha-sample").read_bytes()


HOSTILE: dict[str, tuple[str, list[Entry]]] = {
    "up": ("leads out of the package", [("./../evil", FILE, b"x")]),
    "deep": ("leads out of the package", [("./usr/../../evil", FILE, b"x")]),
    "root": ("leads out of the package", [("/etc/passwd", FILE, b"x")]),
    "link": ("leads through usr/lib, no folder",
             [("./usr/lib", SYM, "/etc"), ("./usr/lib/passwd", FILE, b"x")]),
    "file": ("leads through usr, no folder", [("./usr", FILE, b"x"), ("./usr/lib", FILE, b"x")]),
    "hard": ("is a hard link to what is no file before it", [("./a", HARD, "./b")]),
    "hard up": ("leads out of the package", [("./a", HARD, "../../etc/shadow")]),
    "hard to link": ("is a hard link to what is no file",
                     [("./b", SYM, "/etc/shadow"), ("./a", HARD, "./b")]),
    "twice": ("is there twice", [("./a", FILE, b"x"), ("./a", SYM, "/etc/passwd")]),
    "long": ("its name is too long", [("./" + "a" * 300, FILE, b"x")]),
    "strange": ("is of a kind that dpkg-deb does not pack", [("./a", b"S", b"")]),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(name: str, tmp_path: Path) -> None:
    """In one line, before anything of them is written; the next package is done all the same."""
    reason, entries = HOSTILE[name]
    out, start = tmp_path / "out", ("./usr/sample", FILE, code())
    out.mkdir()
    first = () if entries[0][0].startswith("./usr") else (start,)
    bad = package(tmp_path / "bad_1_alpha.deb", *first, *entries)
    good = package(tmp_path / "good_1_alpha.deb", start)
    results = batch.run([bad, good], out, retune, wanted)
    assert [one.status for one in results] == [REFUSED, RETUNED]
    assert reason in results[0].reason
    assert "\n" not in results[0].reason
    assert results[0].reason.startswith(str(bad))
    assert [path.name for path in out.iterdir()] == [good.name]
    assert not (tmp_path / "evil").exists()


def test_bombs_are_refused(tmp_path: Path) -> None:
    """By what they unpack to, whether as a file or as the name of one; and soon."""
    zeros = gzip.compress(bytes(100 << 20), 6)
    entry = tarfile.TarInfo("././@LongLink")
    entry.type, entry.size = tarfile.GNUTYPE_LONGNAME, 100 << 20
    file = tarfile.TarInfo("./zeros")
    file.size = 100 << 20
    for head in (entry, file):
        data = gzip.compress(head.tobuf(tarfile.GNU_FORMAT)) + zeros
        bomb = tmp_path / "bomb_1_alpha.deb"
        controls = tar(("./control", FILE, CONTROL))
        bomb.write_bytes(ar(("debian-binary", b"2.0\n"), ("control.tar", controls),
                            ("data.tar.gz", data)))  # fmt: skip
        with pytest.raises(BadInput, match="no archive that a distribution makes"):
            debian.unpack(debian.read(bomb), tmp_path / "tree", tmp_path / "debug", wanted)


_FIELDS = ((0, 100), (100, 8), (116, 8), (124, 12), (136, 12), (156, 1), (157, 100), (345, 155))
"""Of a tar header: offset and length."""


def damaged(good: bytes, chosen: random.Random) -> bytes:
    """An archive with fields of a tar header changed, whose check sums are right."""
    data = bytearray(good)
    headers = [at for at in range(len(good) - 512) if good[at + 257 : at + 262] == b"ustar"]
    for _ in range(chosen.choice((1, 1, 2))):
        at = chosen.choice(headers)
        start, length = chosen.choice(_FIELDS)
        new = bytes(chosen.choice((0, 0x80, 0xFF, *b"./07LKSxg")) for _ in range(length))
        kept = 0 if chosen.random() < 0.5 else chosen.randrange(length)
        data[at + start + kept : at + start + length] = new[kept:]
        data[at + 148 : at + 156] = b" " * 8
        data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return bytes(data)


@pytest.mark.parametrize("seed", range(3))
def test_headers_that_lie(seed: int, tmp_path: Path) -> None:
    """Whatever they say: packed again or refused in one line, soon, and nothing is elsewhere."""
    chosen, path = random.Random(seed), tmp_path / "q_1_alpha.deb"
    long = "./usr/" + "d" * 120 + "/" + "e" * 80
    entries = (
        ("./usr", DIR, b""), ("./usr/a", FILE, code()[:900]), ("./usr/b", HARD, "./usr/a"),
        ("./usr/l", SYM, "x" * 150), (long, FILE, b"x"), ("./null", tarfile.CHRTYPE, b""),
    )  # fmt: skip
    good = package(path, *entries).read_bytes()
    ends = {"packed": 0, "refused": 0}
    for _ in range(60):
        path.write_bytes(damaged(good, chosen))
        try:
            found = debian.unpack(debian.read(path), tmp_path / "t", tmp_path / "d", wanted)
            for name in found.digests:
                (found.root / name).write_bytes(b"another")
            debian.packed(found, debian.new_versions([found], "+x"), 1)
            ends["packed"] += 1
        except BadInput as refused:
            assert "\n" not in str(refused)
            ends["refused"] += 1
        assert {p.name for p in tmp_path.iterdir()} <= {path.name, "t", "d"}
    assert min(ends.values()) > 5


def test_a_member_of_ages(tmp_path: Path) -> None:
    """A size of exabytes: nobody reads up to its end, here or in `signatures make`."""
    entry = tarfile.TarInfo("./a")
    entry.size = 1 << 60
    path = tmp_path / "p_1_alpha.deb"
    controls = tar(("./control", FILE, CONTROL))
    data = entry.tobuf(tarfile.GNU_FORMAT) + bytes(1024)
    members = (("debian-binary", b"2.0\n"), ("control.tar", controls), ("data.tar", data))
    path.write_bytes(ar(*members))
    with pytest.raises(BadInput, match="has 1152921504606846976 bytes"):
        debian.unpack(debian.read(path), tmp_path / "t", tmp_path / "d", wanted)
    with pytest.raises(BadInput, match="has 1152921504606846976 bytes"):
        list(archive.parts(path.read_bytes(), "p.deb"))


def test_links_conffiles_and_special_bits(tmp_path: Path) -> None:
    """A file with two names is retuned once; a conffile stays; set-user-ID and devices stay."""
    entries = (
        ("./usr", DIR, b""), ("./usr/first", FILE, code()), ("./usr/second", HARD, "./usr/first"),
        ("./usr/link", SYM, "/anywhere/first"), ("./etc", DIR, b""), ("./etc/conf", FILE, code()),
    )  # fmt: skip
    sums = b"0" * 32 + b"  usr/first\n" + b"1" * 32 + b"  etc/conf\n"
    more = (
        *(("./conffiles", FILE, b"/etc/conf\n"), ("./postinst", FILE, b"#!/bin/sh\n")),
        ("./md5sums", FILE, sums),
    )
    path, out = package(tmp_path / "p_2-3_alpha.deb", *entries, more=more), tmp_path / "out"
    out.mkdir()
    (result,) = batch.run([path], out, retune, wanted, suffix="+ev67", epoch=1_000_000_000)
    assert (result.status, result.files) == (RETUNED, 1)
    assert result.output == out / "p_2-3+ev67_alpha.deb"
    assert dpkg("-f", result.output, "Version").strip() == "1:2-3+ev67"
    after = content(result.output)
    assert after["./usr/first"][1] == after["./usr/second"][1] != code()
    assert after["./usr/second"][0].islnk()
    assert after["./usr/link"][0].linkname == "/anywhere/first"
    assert after["./etc/conf"][1] == code()
    assert after["./usr/first"][0].mtime == 1_000_000_000
    assert after["./etc/conf"][0].mtime == 0
    dpkg("-e", result.output, tmp_path / "control")
    assert (tmp_path / "control/md5sums").read_text().endswith("1" * 32 + "  etc/conf\n")
    assert (tmp_path / "control/postinst").read_bytes() == b"#!/bin/sh\n"


def test_versions_of_packages_that_belong_together(tmp_path: Path) -> None:
    """Who depends on exactly a version that changes, changes too; others are copied."""
    out = tmp_path / "out"
    out.mkdir()
    main = package(tmp_path / "p_2-3_alpha.deb", ("./usr/a", FILE, code()))
    relation = b"Depends: q, p (>= 1:2), p:alpha (= 1:2-3) | pp (= 1:2-3),\n p (= 1:2-3)\n"
    rest = relation + b"Description: p (= 1:2-3)\n"
    texts = {"near": rest, "far": b"Depends: p (= 1:2-4)\n" + rest.replace(relation, b"")}
    for name, text in texts.items():
        whole = CONTROL.replace(b"Description: d\n", text).replace(b": p\n", f": {name}\n".encode())
        path = package(tmp_path / f"{name}_2-3_alpha.deb", ("./usr/b", FILE, b"x"), name=name)
        path.write_bytes(
            ar(("debian-binary", b"2.0\n"), ("control.tar", tar(("./control", FILE, whole))),
               ("data.tar", tar(("./usr/b", FILE, b"x"))))
        )  # fmt: skip
    given = [main, tmp_path / "near_2-3_alpha.deb", tmp_path / "far_2-3_alpha.deb"]
    results = batch.run(given, out, retune, wanted, suffix="+z")
    assert [one.status for one in results] == [RETUNED, RENAMED, COPIED]
    assert sorted(p.name for p in out.iterdir()) == [
        "far_2-3_alpha.deb", "near_2-3+z_alpha.deb", "p_2-3+z_alpha.deb"
    ]  # fmt: skip
    near = out / "near_2-3+z_alpha.deb"
    assert dpkg("-f", near, "Version").strip() == "1:2-3+z"
    depends = "q, p (>= 1:2), p:alpha (= 1:2-3+z) | pp (= 1:2-3), p (= 1:2-3+z)"
    assert " ".join(dpkg("-f", near, "Depends").split()) == depends
    assert dpkg("-f", near, "Description").strip() == "p (= 1:2-3)"
    assert content(near)["./usr/b"][1] == b"x"


def test_damaged_packages_are_bad_input(real: Path, tmp_path: Path) -> None:
    """Wherever it is cut off or changed: one line, and no traceback."""
    good, path = real.read_bytes(), tmp_path / "p_1_alpha.deb"
    for at in range(0, len(good), len(good) // 40):
        path.write_bytes(good[:at])
        with pytest.raises(BadInput):
            debian.unpack(debian.read(path), tmp_path / "t", tmp_path / "d", wanted)
    path.write_bytes(good + ar(("_gpgorigin", b"x"))[8:])
    with pytest.raises(BadInput, match="a signed one has more"):
        debian.read(path)
    for at in range(0, len(good), len(good) // 40):
        path.write_bytes(good[:at] + bytes((good[at] ^ 0x55,)) + good[at + 1 :])
        try:
            debian.unpack(debian.read(path), tmp_path / "t", tmp_path / "d", wanted)
        except BadInput as refused:
            assert str(path) in str(refused)


def test_what_is_no_package(tmp_path: Path) -> None:
    """A finished rpm package, a library, a folder: what to do is said."""
    out = tmp_path / "out"
    out.mkdir()
    rpm, library = tmp_path / "p.rpm", tmp_path / "libp.a"
    rpm.write_bytes(b"\xed\xab\xee\xdb\x03\x00")
    library.write_bytes(ar(("p.o/", b"x")))
    results = batch.run([rpm, library, tmp_path / "absent.deb"], out, retune, wanted)
    assert [one.status for one in results] == [REFUSED] * 3
    assert "brp-retune" in results[0].reason
    assert "a package has debian-binary" in results[1].reason
    assert list(out.iterdir()) == []


def test_outputs_that_cannot_be(real: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BadUsage, match=r"cannot write to .*/file: File exists"):
        batch.run([real], tmp_path / "file", retune, wanted)
    with pytest.raises(BadUsage, match="is in the output folder"):
        batch.run([real], real.parent, retune, wanted)
    for suffix in ("-1", " 1", "/../x"):
        with pytest.raises(BadUsage, match="no end of a version"):
            batch.run([real], tmp_path, retune, wanted, suffix=suffix)


def test_what_a_killed_run_left_goes(real: Path, tmp_path: Path) -> None:
    """The folder of a process that is no more; not that of one that runs."""
    dead = subprocess.Popen(("true",))
    dead.wait()
    old, living = (tmp_path / f".retune-packages-{pid}-abc" for pid in (dead.pid, os.getpid()))
    for folder in (old, living):
        (folder / "0").mkdir(parents=True)
    batch.run([real], tmp_path, lambda trees, debug: None, wanted)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted((living.name, real.name))


@given(st.binary(max_size=200), st.text("abc/.~ ", min_size=1, max_size=8))
def test_check_sums_of_other_files_stay(junk: bytes, name: str) -> None:
    """Whatever is in the file of check sums: only lines of named files become others."""
    line = b"0" * 32 + b"  " + name.encode() + b"\n"
    found = control.with_sums(junk + b"\n" + line, {"no such file": "1" * 32})
    assert found == junk + b"\n" + line
    found = control.with_sums(line, {name.removeprefix("./"): "1" * 32})
    assert found == b"1" * 32 + line[32:]
