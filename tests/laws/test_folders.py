"""Folders of the product: few modules each, and a docstring that names every one of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("rewriter", "passes", "targets")
MOST = 16
"""Modules of a folder, its `__init__` among them."""


def folders() -> dict[str, Path]:
    """Every package of the product by its path."""
    found = (init.parent for top in PRODUCT for init in (ROOT / top).rglob("__init__.py"))
    return {str(folder.relative_to(ROOT)): folder for folder in sorted(found)}


def unnamed(docstring: str, names: set[str]) -> list[str]:
    """The names that do not stand in a docstring as words of their own."""
    return sorted(name for name in names if not re.search(rf"\b{re.escape(name)}\b", docstring))


def children(folder: Path) -> set[str]:
    """The modules and packages in a folder."""
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


@pytest.mark.parametrize("folder", folders())
def test_a_folder_is_small_and_names_what_it_holds(folder: str) -> None:
    """Sixteen modules at most, and each has its line in the docstring of the folder."""
    path = folders()[folder]
    assert len(list(path.glob("*.py"))) <= MOST
    docstring = ast.get_docstring(ast.parse((path / "__init__.py").read_text(encoding="utf-8")))
    assert docstring, "no docstring"
    assert not unnamed(docstring, children(path))


def test_an_unnamed_module_is_seen() -> None:
    """A part of a word is no name."""
    assert unnamed("rows  the table of rows", {"row", "rows"}) == ["row"]
