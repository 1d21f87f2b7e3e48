"""Plug-ins as pip leaves them: the one of docs/, and others of a line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "plugin-example"


def installed(source: Path, folder: Path) -> Path:
    """The folder into which pip has built and installed a plug-in, with nothing from a network."""
    copied, site = folder / "source", folder / "site"
    shutil.copytree(source, copied)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    alone = ("--no-build-isolation", "--no-deps", "--no-index", "--target", str(site))
    subprocess.run((*pip, *alone, str(copied)), check=True, capture_output=True)
    return site


def written(folder: Path, group: str, line: str, code: str, package: str = "odd") -> Path:
    """A package of one module `PACKAGE_module` with one entry point, as installed."""
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{line}\n")
    (folder / f"{package}_module.py").write_text(code)
    return folder


def retune(site: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The command with a plug-in beside it."""
    return subprocess.run(
        (sys.executable, "-m", "retune", *map(str, arguments)),
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
