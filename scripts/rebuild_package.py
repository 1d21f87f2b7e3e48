"""A Debian source package rebuilt for Alpha with `dh --with retune`, installed and run.

    rebuild_package.py [PACKAGE [PROGRAM [ARGUMENT...]]]      default: hello usr/bin/hello

What the package is built with must be installed (for hello: texinfo).

The source comes from Debian by name.  It is built twice by dpkg-buildpackage with the cross
compiler, with retune and without, in one folder; dpkg installs the first into a root of its own,
its program runs under qemu-alpha, and every file that differs is verified against the second.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from fixtures.apt import NotFetched, source_packages  # noqa: E402
from fixtures.inputs import Missing, cache_dir, find_headers, tool  # noqa: E402

CPU, LIBRARIES = "ev67", "/usr/alpha-linux-gnu"
_RETUNE = Path(sys.executable).with_name("retune")


class Failed(Exception):
    """A command that did not end well; the text says which, and its last lines."""


def main(arguments: Sequence[str]) -> int:
    """Prints what became of the package; 1 where something went wrong."""
    package = arguments[0] if arguments else "hello"
    program = arguments[1] if len(arguments) > 1 else f"usr/bin/{package}"
    try:
        for name in ("dh", "dpkg-buildpackage", "dpkg-source", "alpha-linux-gnu-gcc", "qemu-alpha"):
            tool(name)
        find_headers()
        dsc = source_packages(cache_dir("apt", "sources")).description(package)
        with tempfile.TemporaryDirectory(prefix="retune-rebuild-") as folder:
            return rebuilt(dsc, Path(folder), program, arguments[2:])
    except (Missing, NotFetched, Failed) as error:
        print(f"rebuild_package: {error}", file=sys.stderr)
        return 1


def rebuilt(dsc: Path, folder: Path, program: str, arguments: Sequence[str]) -> int:
    """Builds, installs, runs and verifies."""
    source = folder / "source"
    run(("dpkg-source", "--no-check", "-x", str(dsc), str(source)), folder)
    prepare(source)
    install = ("make", "-s", "-C", str(ROOT / "packaging"), "install-debhelper")
    run((*install, f"DESTDIR={folder}"), folder)
    tuned = built(source, folder, "tuned", "nocheck")
    plain = built(source, folder, "plain", "nocheck noretune")
    root = installed([p for p in tuned if "-dbgsym" not in p.name], folder / "root")
    for path in tuned:
        print(f"built: {path.name}, {path.stat().st_size:,} bytes")
    status = verified(root, unpacked(plain, folder / "unpacked"))
    where = ("-L", LIBRARIES, "-E", f"LD_LIBRARY_PATH={root}/usr/lib", str(root / program))
    said = run(("qemu-alpha", "-cpu", CPU, *where, *arguments), folder)
    print(f"installed into a root; {program} under qemu-alpha -cpu {CPU} prints:\n{said.rstrip()}")
    return status


def prepare(source: Path) -> None:
    """`dh --with retune`, a policy, and where the cross compiler's libraries are."""
    rules = source / "debian" / "rules"
    text = rules.read_text(encoding="utf-8")
    more = "--with retune" + ("" if shutil.which("autoreconf") else " --without autoreconf")
    changed = re.sub(r"(?m)^(\tdh \$@)", rf"\1 {more}", text)
    if changed == text:
        raise Failed(f"{source.name}: debian/rules has no line `dh $@`")
    if "override_dh_shlibdeps" not in text:
        changed += f"\noverride_dh_shlibdeps:\n\tdh_shlibdeps -l{LIBRARIES}/lib\n"
    rules.write_text(changed, encoding="utf-8")
    policy = f'refused = "fail"\n\n[alpha]\ncpu = "{CPU}"\n'
    (source / "debian" / "retune.toml").write_text(policy, encoding="utf-8")


def built(source: Path, folder: Path, name: str, options: str) -> list[Path]:
    """The packages of one build; prints what dh_retune printed."""
    log = run(("dpkg-buildpackage", "-aalpha", "-d", "-us", "-uc", "-b"), source, folder, options)
    lines = log.splitlines()
    starts = [n for n, line in enumerate(lines) if line.strip() == "dh_retune"]
    for start in starts if "noretune" not in options else ():
        said = lines[start : start + 20]
        end = next(n for n, line in enumerate(said) if line.strip().startswith("dh_makeshlibs"))
        print("\n".join(said[:end]))
    target = folder / name
    target.mkdir()
    for path in sorted(folder.glob("*.deb")):
        path.rename(target / path.name)
    return sorted(target.iterdir())


def installed(packages: Sequence[Path], root: Path) -> Path:
    """A root with the packages; unpacked only where dpkg may not change owners."""
    if os.geteuid() != 0:
        return unpacked(packages, root)
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    force = ("--force-architecture", "--force-depends", "--force-script-chrootless")
    run(("dpkg", f"--root={root}", *force, "-i", *map(str, packages)), root)
    return root


def unpacked(packages: Sequence[Path], root: Path) -> Path:
    for path in packages:
        run(("dpkg-deb", "-x", str(path), str(root)), path.parent)
    return root


def verified(new: Path, old: Path) -> int:
    """Compares every file that both have; prints what differs; 1 where one is not shown equal."""
    status = same = 0
    for path in sorted(p for p in old.rglob("*") if p.is_file() and not p.is_symlink()):
        name = path.relative_to(old)
        other = new / name
        if not other.is_file():
            continue
        if other.read_bytes() == path.read_bytes():
            same += 1
            continue
        done = subprocess.run(
            (_RETUNE, "verify", path, other), capture_output=True, text=True, check=False
        )
        status = max(status, done.returncode)
        print(f"{name}: {done.stdout.splitlines()[-1] if done.stdout else done.stderr.strip()}")
    print(f"{same} other files are the same in both builds")
    return min(status, 1)


def run(command: Sequence[str], at: Path, folder: Path | None = None, options: str = "") -> str:
    """What a command prints, in the environment of a build if there is a folder; or Failed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DEB_", "DH_", "MAKE"))}
    if folder is not None:
        places = (str(folder / "usr/local/bin"), str(_RETUNE.parent), environment["PATH"])
        environment["PATH"] = ":".join(places)
        environment["PERL5LIB"] = str(folder / "usr/local/lib/site_perl")
        environment["DEB_BUILD_OPTIONS"] = options
    done = subprocess.run(
        command, cwd=at, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise Failed(f"{command[0]} ended with {done.returncode}:\n{last}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
