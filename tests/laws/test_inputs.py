"""Every real input is there with the right checksum, or says how to get it."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures import inputs


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache and no memory of earlier look-ups."""
    monkeypatch.setenv("RETUNE_CACHE", str(tmp_path / "cache"))
    inputs.find.cache_clear()
    yield tmp_path
    inputs.find.cache_clear()


@pytest.mark.parametrize("name", inputs.NAMES)
def test_found_or_says_how(name: str) -> None:
    """An ELF file with the checksum of the table, or a reason that names the next step."""
    entry = inputs.get(name)
    try:
        content = inputs.find(name).read_bytes()
    except inputs.Missing as missing:
        assert missing.name == name
        assert entry.how in missing.reason
        pytest.skip(str(missing))
    assert content[:4] == b"\x7fELF"
    if entry.sha256 is not None:
        assert hashlib.sha256(content).hexdigest() == entry.sha256


@pytest.mark.parametrize("name", inputs.NAMES)
def test_how_names_a_step(name: str) -> None:
    """What to do is known even where the file is there."""
    assert any(
        word in inputs.get(name).how
        for word in ("apt-get install", "apt-get download", "RETUNE_SHARED", "restore")
    )


def test_the_sample_is_always_there() -> None:
    """Nothing to install, nothing to unpack."""
    assert "alpha-sample" in inputs.available()


def test_unknown_names_list_the_known() -> None:
    """A misspelt name is our own error, and says what would be right."""
    with pytest.raises(KeyError, match="alpha-libc"):
        inputs.get("alpha-lib")


def test_missing_image(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the shared folder: which file to put where."""
    monkeypatch.setenv("RETUNE_SHARED", str(fresh / "nothing"))
    with pytest.raises(inputs.Missing, match=r"alpha-vmlinux-6\.1-generic\.xz .*RETUNE_SHARED"):
        inputs.find("alpha-vmlinux")


def test_wrong_image(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another file under the name of an image is not taken for it."""
    (fresh / "images").mkdir()
    place = inputs.get("ia64-libc").place
    (fresh / "images" / place).write_bytes(lzma.compress(b"\x7fELF but another"))
    monkeypatch.setenv("RETUNE_SHARED", str(fresh))
    with pytest.raises(inputs.Missing, match="another checksum"):
        inputs.find("ia64-libc")


def test_damaged_cache_is_made_again(fresh: Path) -> None:
    """A cached file that was changed is unpacked anew."""
    damaged = fresh / "cache" / "inputs" / "ia64-libc"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"half a file")
    found = inputs.require("ia64-libc")
    assert found == damaged
    assert [path.name for path in damaged.parent.iterdir()] == ["ia64-libc"]


def test_missing_tool(monkeypatch: pytest.MonkeyPatch, fresh: Path) -> None:
    """A tool that is not on PATH says its Debian package."""
    monkeypatch.setenv("PATH", str(fresh))
    inputs.tool.cache_clear()
    with pytest.raises(inputs.Missing, match="apt-get install binutils-alpha-linux-gnu"):
        inputs.tool("alpha-linux-gnu-objdump")


def test_packages_file() -> None:
    """Each line: a package, who needs it, and something that it gives."""
    for line in inputs.PACKAGES.read_text(encoding="utf-8").splitlines():
        if fields := line.partition("#")[0].split():
            assert fields[1] in ("demo", "test")
            assert len(fields) > 2


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """Filled by one of two that begin at once; by none where filling fails."""

    def slow(aside: Path) -> None:
        (aside / "mine").touch()
        inputs.fill_aside(tmp_path / "made", lambda other: (other / "theirs").touch())

    inputs.fill_aside(tmp_path / "made", slow)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["theirs"]
    with pytest.raises(FileNotFoundError):
        inputs.fill_aside(tmp_path / "failed", lambda aside: (aside / "no" / "folder").touch())
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
