"""Whether the edits that a manifest lists are the changes that are there.

A function has a changed byte exactly when an edit is at an address in it: an edit that changed
nothing was made up, and a change that no edit names was made by somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewriter.core.addresses import addresses, holders
from rewriter.core.code.program import Function, extents
from rewriter.core.edit import Edit
from rewriter.elf.image import Image
from rewriter.verify.owners import changed_offsets, owners


def contradictions(
    old: Image, new: bytes, functions: Sequence[Function], edits: Sequence[Edit]
) -> Iterator[str]:
    """What speaks against the list, a line each.

    `functions` are all of the old file, ascending; `new` may have more bytes than it.
    """
    ranges = extents(functions)
    changed = changed_offsets(old.data, new[: len(old.data)])
    touched = set(owners(old, ranges, changed)[0])
    at = holders(ranges, addresses(e.address for e in edits))
    listed: set[int] = set()
    for edit, number in zip(edits, at.tolist(), strict=True):
        listed.add(number)
        if number < 0:
            yield f"manifest: edit {edit.id} is at {edit.address:#x}, where no function is"
        elif number not in touched:
            name = functions[number].name
            yield f"manifest: edit {edit.id} is listed, and no byte of {name} changed"
    for number in sorted(touched - listed):
        yield f"manifest: {functions[number].name} changed, and no edit of it is listed"
