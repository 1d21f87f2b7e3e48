"""The build backend of pyproject.toml: setuptools, which finds the manual pages written.

A wheel holds what `installed` writes: setup.cfg takes it from build/share.  This module
stands alone, and a build that runs it, from the root of the sources, has setuptools and Click only.
"""

from __future__ import annotations

import configparser
import subprocess
import sys
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
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


def build_wheel(*arguments: Any, **options: Any) -> str:
    """The wheel, as setuptools makes it."""
    _write_pages()
    return str(build_meta.build_wheel(*arguments, **options))


def build_editable(*arguments: Any, **options: Any) -> str:
    """The wheel of an editable installation, as setuptools makes it."""
    _write_pages()
    return str(build_meta.build_editable(*arguments, **options))


def _write_pages() -> None:
    settings = configparser.ConfigParser()
    settings.read("setup.cfg")
    version = settings["metadata"]["version"]
    module = [sys.executable, "-m", "rewriter.cli.pages.installed"]
    subprocess.run([*module, "build/share", version], check=True)
