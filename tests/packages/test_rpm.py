"""An rpm package built for Alpha with brp-retune: after strip, in the package, running.

The oracles are rpmbuild, qemu-alpha and the same package built without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from fixtures import inputs

ROOT = Path(__file__).parents[2]
FILES = ("usr/bin/tuneme", "usr/lib/libtuneme.so.1")
Run = Callable[..., Result]
_HOOK = """
%{{load:{macros}/macros.retune}}
%global __brp_retune {root}/usr/lib/rpm/brp-retune
%global _retune_options --cpu ev67 -j1
%global __os_install_post %{{__os_install_post}} %{{_retune_install_post}}
"""
_SPEC = """
Name: tuneme
Version: 1.0
Release: 1
Summary: Program of the tests of retune
License: MIT

%description
It works on bytes, and prints what it finds.

%build
make -C %{_sourcedir} CC=alpha-linux-gnu-gcc CFLAGS=-O2

%install
make -C %{_sourcedir} install DESTDIR=%{buildroot}

%files
/usr/bin/tuneme
/usr/lib/libtuneme.so.1
"""


def built(folder: Path, head: str) -> tuple[str, Path]:
    """What rpmbuild prints, and the files of the package that it builds."""
    spec, name = folder / "tuneme.spec", "tuned" if head else "plain"
    spec.write_text(head + _SPEC)
    defined = {
        "_topdir": folder / "top", "_sourcedir": folder / "source",
        "__strip": "alpha-linux-gnu-strip", "__objdump": "alpha-linux-gnu-objdump",
    }  # fmt: skip
    options = [part for k, v in defined.items() for part in ("--define", f"{k} {v}")]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ("rpmbuild", "-bb", "--target", "alpha", *options, spec),
        env={**os.environ, "PATH": path}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    (package,) = (folder / "top/RPMS/alpha").glob("*.rpm")
    files = folder / name
    files.mkdir()
    unpack = f"rpm2archive - < '{package}' | tar -xz -C '{files}'"
    subprocess.run(("sh", "-c", unpack), check=True)
    package.unlink()
    return done.stdout, files


def test_an_rpm_package_is_retuned_as_it_is_built(run: Run, tmp_path: Path) -> None:
    """brp-retune comes after brp-strip; what is installed reverts to the build without it."""
    qemu = inputs.require_tool("qemu-alpha")
    for tool in ("rpmbuild", "alpha-linux-gnu-gcc", "alpha-linux-gnu-strip"):
        inputs.require_tool(tool)
    inputs.or_skip(inputs.find_headers, "alpha-linux-headers")
    subprocess.run(("cp", "-r", ROOT / "fixtures/tuneme", tmp_path / "source"), check=True)
    install = ("make", "-s", "-C", ROOT / "packaging", "install-rpm", f"DESTDIR={tmp_path}")
    subprocess.run(install, check=True)
    macros = tmp_path / "usr/lib/rpm/macros.d"
    log, new = built(tmp_path, _HOOK.format(macros=macros, root=tmp_path))
    steps = [log.index(name) for name in ("/brp-strip ", "/brp-retune ", "2 files: 2 tuned")]
    assert steps == sorted(steps)
    plain, old = built(tmp_path, "")
    assert "brp-retune" not in plain
    for name in FILES:
        assert (new / name).read_bytes() != (old / name).read_bytes()
        assert run("verify", old / name, new / name).exit_code == 0
        back = tmp_path / "back"
        assert run("revert", new / name, "-o", back).exit_code == 0
        assert back.read_bytes() == (old / name).read_bytes()
    where = ("-L", "/usr/alpha-linux-gnu", "-E", f"LD_LIBRARY_PATH={new}/usr/lib")
    command = (qemu, "-cpu", "ev67", *where, new / FILES[0], "retune")
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split()[:3] == ["retune", "enuter", "3"]


def test_brp_retune_wants_a_build_root() -> None:
    """Never the machine itself."""
    for value in ("", "/"):
        done = subprocess.run(
            (ROOT / "packaging/rpm/brp-retune", "--cpu", "ev67"),
            env={**os.environ, "RPM_BUILD_ROOT": value}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr == "brp-retune: RPM_BUILD_ROOT is not set\n"
