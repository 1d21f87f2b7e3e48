"""The build backend of pyproject.toml: setuptools, which finds the manual pages written.

A wheel holds what `installed` writes: setup.cfg takes it from build/share.  Where modules can be
compiled it holds them too, and is for this Python on this machine only.  A build runs it from the
root of the sources, with setuptools, Click, and mypy where that has something to do.
"""

from __future__ import annotations

import configparser
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def get_requires_for_build_wheel(settings: Mapping[str, Any] | None = None) -> list[str]:
    """What setuptools needs, and what compiles."""
    needed = list[str](build_meta.get_requires_for_build_wheel(settings))
    said = _said("from rewriter.cli.install import compiling as c; print(c.obstacle() or c.NEEDS)")
    return [*needed, said] if said.startswith("mypy") else needed


def build_wheel(
    folder: str, settings: Mapping[str, Any] | None = None, metadata: str | None = None
) -> str:
    """The wheel, as setuptools makes it."""
    _write_pages()
    subprocess.run((sys.executable, "-m", "rewriter.cli.install.compiling"), check=True)
    if _said("from rewriter.core.compiled import FINDER; print(len(FINDER.modules))") != "0":
        version = f"cp{sys.version_info.major}{sys.version_info.minor}"
        machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        options = ["--python-tag", version, "--plat-name", machine]
        settings = {**(settings or {}), "--build-option": options}
    return str(build_meta.build_wheel(folder, settings, metadata))


def build_editable(*arguments: Any, **options: Any) -> str:
    """The wheel of an editable installation, as setuptools makes it."""
    _write_pages()
    return str(build_meta.build_editable(*arguments, **options))


def _said(script: str) -> str:
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, check=True)
    return done.stdout.decode().strip()


def _write_pages() -> None:
    settings = configparser.ConfigParser()
    settings.read("setup.cfg")
    version = settings["metadata"]["version"]
    module = [sys.executable, "-m", "rewriter.cli.pages.installed"]
    subprocess.run([*module, "build/share", version], check=True)
