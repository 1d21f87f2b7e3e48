"""glibc rebuilt from source: without what builds it, a reason; with it in the cache, no build."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fixtures import rebuilt
from fixtures.inputs import Missing


@pytest.fixture
def deb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A source package that is only a name, and an empty cache."""
    path = tmp_path / "glibc-source_1_all.deb"
    monkeypatch.setenv("RETUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(rebuilt, "package", lambda name: path)
    return path


def test_what_is_missing_is_named(deb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "bison" else f"/{name}")
    with pytest.raises(Missing, match=r"glibc-source_1_all-ev67\.so: .*apt-get install bison$"):
        rebuilt.rebuilt_libc("ev67")


def test_a_library_in_the_cache_is_not_built_again(deb: Path, tmp_path: Path) -> None:
    kept = tmp_path / "cache" / "rebuilt" / "glibc-source_1_all-ev6.so"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"built before")
    assert rebuilt.rebuilt_libc("ev6") == kept
    assert list(kept.parent.iterdir()) == [kept]
