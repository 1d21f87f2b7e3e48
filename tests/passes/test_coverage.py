"""How much of what the idiom survey counts is rewritten, on the real libc."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rewriter.elf import manifest

UNALIGNED = "unaligned access"
"""Not a site: the compiler's idiom for a word that may cross a quadword."""


def test_nine_of_ten_sites_are_rewritten(libc_ev67: Path) -> None:
    """Byte and word accesses, sign extensions and bit searches; the rest has a reason each."""
    record = manifest.read(libc_ev67.read_bytes())
    assert record is not None
    done = Counter(e.technique for e in record.edits if e.technique != "align")
    left: Counter[str] = Counter()
    for reason, count in record.skips.items():
        technique, _, why = reason.partition(": ")
        assert why  # no site without a reason
        if technique != "align" and why != UNALIGNED:
            left[reason] += count
    rewritten, refused = sum(done.values()), sum(left.values())
    assert rewritten >= 0.9 * (rewritten + refused), (rewritten, refused, left.most_common(5))


def test_every_edit_has_its_evidence(libc_ev67: Path) -> None:
    """Every edit is proved, and words are rewritten only on the idiom's alignment."""
    record = manifest.read(libc_ev67.read_bytes())
    assert record is not None
    assert {edit.evidence.grade.value for edit in record.edits} == {"PROVED"}
    words = [e for e in record.edits if "word load" in e.kind or "word store" in e.kind]
    assert words
    assert all(e.evidence.preconditions for e in words)
