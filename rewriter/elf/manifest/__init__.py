"""The manifest: what was changed in a file and on what evidence, and the way back.

It rides in a note section that nothing loads, or lies in a file beside. docs/format.md describes
it byte by byte. The door is here; behind it are

    record      what a manifest says, and how a run makes one
    carried     in a file: attach, read, detach, revert, compare
    stored      as bytes: dump and parse, with the format of today
    older       formats 2 and 3, which are read
    checked     what values may be
    edits       edits and evidence as columns
    former      the original told by the patched file
    aligned     one row of instructions told by another
    columns     columns packed into a block, and bounded on reading
    streams     the xz streams of the older formats

texts  Pairs of short texts as columns: what pairs have in common, and the operands they differ in
"""

from __future__ import annotations

from rewriter.elf.manifest.carried import (
    attach,
    check_way_back,
    compare,
    detach,
    examine,
    original_file,
    read,
    revert,
    revert_with,
)
from rewriter.elf.manifest.record import FORMAT, Manifest, cause, record, version
from rewriter.elf.manifest.stored import dump, is_manifest, parse

__all__ = [
    "FORMAT",
    "Manifest",
    "attach",
    "cause",
    "check_way_back",
    "compare",
    "detach",
    "dump",
    "examine",
    "is_manifest",
    "original_file",
    "parse",
    "read",
    "record",
    "revert",
    "revert_with",
    "version",
]
