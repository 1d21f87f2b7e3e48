"""How large a manifest is, by column: `python -m benchmarks.note FILE...` of patched files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rewriter.core.varints import unpacked
from rewriter.elf import manifest, note
from rewriter.elf.manifest import stored

_NAMES = (
    "document", "classes", "gains", "routines", "names", "starts", "offsets", "other ids",
    "ids", "templates", "template of each", "numbers", "words", "code spans", "equal", "gaps",
    "named", "spelled", "targets", "other spans", "other bytes", "layout counts", "layout",
    "long nops", "patches", "changed bytes", "appended", "gzip stream",
)  # fmt: skip


def columns_of(payload: bytes) -> Iterator[tuple[str, int, int]]:
    """The name of each column of a manifest, its size, and its size packed, in bytes."""
    block = payload[stored.BLOCK :]
    ends = [at for at, byte in enumerate(block[:1024]) if byte < 128]
    count = int(unpacked(block[: ends[0] + 1])[0])
    rows = unpacked(block[: ends[4 * count] + 1]).tolist()[1:]
    for n in range(0, len(rows), 4):
        number, _, size, short = rows[n : n + 4]
        yield _NAMES[number], size, short


def report(path: Path) -> Iterator[str]:
    """Lines about one patched file."""
    data = path.read_bytes()
    payload, record = note.find(data), manifest.read(data)
    if payload is None or record is None:
        yield f"{path}: carries no manifest"
        return
    original = len(manifest.revert(data))
    yield (
        f"{path}: {len(record.edits)} edits in {record.places} places, note {len(payload)} bytes, "
        f"{len(payload) / original:.2%} of {original}; the file grew by {len(data) - original}"
    )
    if record.format == manifest.FORMAT:
        for name, size, short in columns_of(payload):
            yield f"  {name:18}{size:10}{short:9}{short / original:8.2%}"


def main() -> int:
    """Print a report of each file that is named."""
    for name in sys.argv[1:]:
        for line in report(Path(name)):
            print(line)
    return 0 if sys.argv[1:] else 2


if __name__ == "__main__":
    raise SystemExit(main())
