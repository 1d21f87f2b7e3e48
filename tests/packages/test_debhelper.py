"""A source package built for Alpha with `dh --with retune`: order, files, running program.

The oracles are dpkg, qemu-alpha and the same package built without retune.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import Result

from fixtures import inputs

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "fixtures" / "tuneme"
FILES = ("usr/bin/tuneme", "usr/lib/libtuneme.so.1")
WORDS = ("retune", "aeiou", "21264", "zzz")
Run = Callable[..., Result]


@dataclass(frozen=True)
class Built:
    """A source tree after a build, and what was built from it."""

    source: Path
    environment: dict[str, str]
    tuned: Path
    plain: Path

    def call(self, *command: object, **more: str) -> subprocess.CompletedProcess[str]:
        """A command in the source tree, as dpkg-buildpackage calls it."""
        return subprocess.run(
            tuple(map(str, command)), cwd=self.source, env=self.environment | more,
            capture_output=True, text=True, check=False,
        )  # fmt: skip


def build(built: Built, options: str, name: str) -> None:
    """Has dpkg-buildpackage build with some DEB_BUILD_OPTIONS; the packages go to a folder."""
    command = ("dpkg-buildpackage", "-aalpha", "-d", "-us", "-uc", "-b")
    done = built.call(*command, DEB_BUILD_OPTIONS=options)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = built.source.parent / name
    folder.mkdir()
    for found in built.source.parent.glob("*.deb"):
        found.rename(folder / found.name)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Built twice in one folder, with retune and without; once for all workers of this run."""
    for tool in ("dh", "dpkg-buildpackage", "alpha-linux-gnu-gcc", "alpha-linux-gnu-strip"):
        inputs.require_tool(tool)
    inputs.or_skip(inputs.find_headers, "alpha-linux-headers")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # a worker's folder is one of this run's
        shared = shared.parent
    folder = shared / "debhelper"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return made(folder)


def made(folder: Path) -> Built:
    """The builds in a folder, made unless they are there."""
    built = Built(folder / "tuneme-1.0", environment(folder), folder, folder)
    if not built.source.is_dir():
        shutil.copytree(SOURCE, built.source)
        install = ("make", "-s", "-C", ROOT / "packaging", "install-debhelper")
        subprocess.run((*install, f"DESTDIR={folder}"), check=True)
        for name, options in (("tuned", "nocheck"), ("plain", "nocheck noretune")):
            build(built, options, name)
    packages = (folder / name / "tuneme_1.0_alpha.deb" for name in ("tuned", "plain"))
    return Built(built.source, built.environment, *packages)


def environment(folder: Path) -> dict[str, str]:
    """That of a build: dh finds what is installed in a folder."""
    ours = ("DEB_", "DH_", "MAKE", "MFLAGS")
    places = (folder / "usr/local/bin", Path(sys.executable).parent)
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith(ours)},
        "PATH": ":".join((*map(str, places), os.environ["PATH"])),
        "PERL5LIB": str(folder / "usr/local/lib/site_perl"),
    }


def unpacked(path: Path, folder: Path) -> Path:
    subprocess.run(("dpkg-deb", "-x", path, folder), check=True)
    return folder


def test_the_order_of_commands(built: Built, tmp_path: Path) -> None:
    """After dh_strip, which lays files out anew; before what looks at installed files."""
    fresh = shutil.copytree(SOURCE, tmp_path / "fresh")  # dh leaves out what is done
    built = replace(built, source=fresh)
    done = built.call("dh", "binary", "--no-act", "--with", "retune")
    assert done.returncode == 0, done.stderr
    said = done.stdout.replace("debian/rules override_", "")
    order = [line.split()[0] for line in said.splitlines() if line.strip()]
    steps = ("dh_dwz", "dh_strip", "dh_retune", "dh_makeshlibs", "dh_shlibdeps", "dh_md5sums")
    places = [order.index(name) for name in steps]
    assert places == sorted(places)
    without = built.call("dh", "binary", "--no-act").stdout
    assert "dh_retune" not in without


def test_the_package_installs_and_runs(built: Built, tmp_path: Path) -> None:
    """dpkg takes it into a root, its check sums are right, its program prints what it should."""
    qemu = inputs.require_tool("qemu-alpha")
    root = tmp_path / "root"
    if os.geteuid() == 0:
        (root / "var/lib/dpkg").mkdir(parents=True)
        for name in ("status", "available"):
            (root / "var/lib/dpkg" / name).touch()
        command = ("dpkg", f"--root={root}", "--force-architecture", "--force-depends", "-i")
        subprocess.run((*command, built.tuned), check=True, capture_output=True)
        sums = root / "var/lib/dpkg/info/tuneme.md5sums"
        assert len(sums.read_text().splitlines()) == 3
        subprocess.run(("md5sum", "--check", "--strict", "--quiet", sums), cwd=root, check=True)
    else:
        unpacked(built.tuned, root)
    program = (root / FILES[0], *WORDS)
    where = ("-L", "/usr/alpha-linux-gnu", "-E", f"LD_LIBRARY_PATH={root}/usr/lib")
    done = subprocess.run(
        (qemu, "-cpu", "ev67", *where, *program), check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [expected(word) for word in WORDS]


def expected(word: str) -> str:
    total = 0
    for letter in word.encode():
        total = (total * 31 + letter) % 2**32
    return f"{word} {word[::-1]} {sum(word.count(v) for v in 'aeiou')} {total}"


def test_it_is_what_was_built_and_retuned(built: Built, run: Run, tmp_path: Path) -> None:
    """Files verify against the build without retune, and revert to it byte for byte."""
    new, old = unpacked(built.tuned, tmp_path / "new"), unpacked(built.plain, tmp_path / "old")
    names = [{str(p.relative_to(t)) for t in (tree,) for p in t.rglob("*")} for tree in (new, old)]
    assert names[0] == names[1]
    for name in FILES:
        assert (new / name).read_bytes() != (old / name).read_bytes()
        done = run("verify", old / name, new / name)
        assert done.exit_code == 0, done.output
        assert "manifest: leads back to the original" in done.stdout
        back = tmp_path / "back"
        assert run("revert", new / name, "-o", back).exit_code == 0
        assert back.read_bytes() == (old / name).read_bytes()
    for name in names[0] - set(FILES):
        if (new / name).is_file():
            assert (new / name).read_bytes() == (old / name).read_bytes()
    # The debug package is the same: it describes both.
    debug = [p.with_name("tuneme-dbgsym_1.0_alpha.deb") for p in (built.tuned, built.plain)]
    trees = [unpacked(path, tmp_path / path.parent.name) for path in debug]
    found = sorted(p.relative_to(trees[0]) for p in trees[0].rglob("*.debug"))
    assert len(found) == 3
    for path in found:
        assert (trees[0] / path).read_bytes() == (trees[1] / path).read_bytes()


def test_lines_are_those_of_the_build(built: Built, tmp_path: Path) -> None:
    """eu-addr2line says the same of every address in both builds, with the debug package."""
    addr2line = inputs.require_tool("eu-addr2line")
    nm, said = inputs.require_tool("alpha-linux-gnu-nm"), []
    for path in (built.tuned, built.plain):
        root = unpacked(path, tmp_path / path.parent.name)
        unpacked(path.with_name("tuneme-dbgsym_1.0_alpha.deb"), root)
        library = root / FILES[1]
        symbols = subprocess.run((nm, "-D", "--defined-only", library), capture_output=True,
                                 text=True, check=True).stdout  # fmt: skip
        starts = [int(line.split()[0], 16) for line in symbols.splitlines() if "tuneme_" in line]
        assert len(starts) == 2
        places = [hex(start + 4 * n) for start in starts for n in range(12)]
        command = (addr2line, f"--debuginfo-path={root}/usr/lib/debug", "-e", library, *places)
        said.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert said[0] == said[1]
    assert said[0].count("library.c:") > 20


def test_what_dh_retune_calls(built: Built) -> None:
    """Options of debhelper and its own become options of `retune batch`; or nothing is called."""
    host = {"DEB_HOST_ARCH": "alpha", "DEB_HOST_ARCH_CPU": "alpha"}
    done = built.call("dh_retune", "--no-act", "-v", "-Xlib", "-Xbin/a", **host)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        *("retune", "batch", "debian/tuneme", "--package", "tuneme", "--in-place"),
        *("--jobs", "1", "--policy", "debian/retune.toml", "--debuginfo", "refuse"),
        *("--exclude", "lib", "--exclude", "bin/a"),
        *("--debug-root", "debian/.debhelper/tuneme/dbgsym-root"),
    ]
    cpu = built.call("dh_retune", "--no-act", "-v", "--cpu=ev6", "--debuginfo=ignore", **host)
    assert "--cpu ev6 --debuginfo ignore" in cpu.stdout
    assert "--policy" not in cpu.stdout
    jobs = built.call("dh_retune", "--no-act", "-v", **host, DEB_BUILD_OPTIONS="parallel=3")
    assert "--jobs 3 " in jobs.stdout
    for arch in ("ppc64el", "powerpc", "ppc64", "ia64"):
        other = {"DEB_HOST_ARCH": arch, "DEB_HOST_ARCH_CPU": arch}
        assert "retune batch" in built.call("dh_retune", "--no-act", "-v", **other).stdout, arch
    foreign = {"DEB_HOST_ARCH": "amd64", "DEB_HOST_ARCH_CPU": "amd64"}
    said = built.call("dh_retune", "--no-act", "-v", **foreign).stdout
    assert "# tuneme: retune knows no amd64" in said
    for arguments, more in (
        (("-Ntuneme",), {}), ((), {"DEB_BUILD_OPTIONS": "noretune"}),
        ((), {"DEB_HOST_ARCH": "amd64", "DEB_HOST_ARCH_CPU": "amd64"}),
    ):  # fmt: skip
        nothing = built.call("dh_retune", "-v", "--no-act", *arguments, **{**host, **more})
        assert "retune batch" not in nothing.stdout, arguments


def test_the_manual_page(built: Built) -> None:
    """It is installed where man looks, without a complaint, and has each option of the command."""
    (page,) = built.source.parent.glob("usr/local/share/man/man1/dh_retune.1")
    tool = inputs.require_tool("mandoc")
    linted = subprocess.run((tool, "-T", "lint", "-W", "error", page), capture_output=True)
    assert linted.returncode == 0, linted.stdout
    shown = subprocess.run((tool, "-T", "ascii", page), capture_output=True, text=True).stdout
    text = re.sub(r".\x08", "", shown)
    for said in ("--cpu=name", "--policy=file", "--debuginfo=refuse", "ppc64el", "retune.toml"):
        assert said in text, said


def test_a_build_ends_where_retune_cannot_go_on(built: Built, tmp_path: Path) -> None:
    """Without a CPU, with a policy that is wrong: the error names what to do."""
    host = {"DEB_HOST_ARCH": "alpha", "DEB_HOST_ARCH_CPU": "alpha"}
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[alpha]\ncpu = "ev67"\ncolour = 1\n')
    done = built.call("dh_retune", f"--policy={wrong}", **host)
    assert done.returncode != 0
    assert "wrong.toml:3: alpha.colour: no such key" in done.stderr
    without = shutil.copytree(built.source, tmp_path / "without", symlinks=True)
    (without / "debian/retune.toml").unlink()
    done = replace(built, source=without).call("dh_retune", **host)
    assert done.returncode != 0
    assert "no CPU: write debian/retune.toml or give --cpu" in done.stderr


def test_the_commands_of_the_page(built: Built, tmp_path: Path) -> None:
    """docs/packages.md: commands are run as they stand, snippets are those of the test package."""
    text = (ROOT / "docs/packages.md").read_text()
    for path in built.plain.parent.glob("*.deb"):
        shutil.copy(path, tmp_path)
    blocks = re.findall(r"(?ms)^```console\n(.*?)^```", text)
    commands = [line[2:] for block in blocks for line in block.splitlines()]
    assert len(commands) == 7
    script = "\n".join(commands).replace("hello", "tuneme").replace("2.10-3", "1.0")
    done = subprocess.run(
        ("bash", "-exc", script), cwd=tmp_path, env=built.environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 packages: 1 given the new version, 1 retuned" in done.stdout
    assert "verified" in done.stdout
    names = sorted(path.name for path in (tmp_path / "tuned").iterdir())
    assert names == ["tuneme-dbgsym_1.0+ev67_alpha.deb", "tuneme_1.0+ev67_alpha.deb"]
    (rules,) = re.findall(r"(?ms)^```make\n(.*?)^```", text)
    assert rules in (SOURCE / "debian/rules").read_text()
    (policy,) = re.findall(r"(?ms)^```toml\n(.*?)^```", text)
    assert policy == (SOURCE / "debian/retune.toml").read_text()
    (spec,) = re.findall(r"(?ms)^```spec\n(.*?)^```", text)
    macros = (ROOT / "packaging/rpm/macros.retune").read_text()
    assert all(f"#   {line}" in macros for line in spec.splitlines())
