"""How much of what the idiom survey counts is rewritten, on the real libc."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rewriter.elf import image, manifest
from tests.passes.spelled import survey

UNALIGNED = "unaligned access"
"""Not a site: the compiler's idiom for a word that may cross a quadword."""


NARROW = ("bytes", "bitscan")


def test_nine_of_ten_sites_are_rewritten(libc_ev67: Path) -> None:
    """Byte and word accesses, sign extensions and bit searches; the rest has a reason each."""
    record = manifest.read(libc_ev67.read_bytes())
    assert record is not None
    done = Counter(e.technique for e in record.edits if e.technique in NARROW)
    left: Counter[str] = Counter()
    for reason, count in record.skips.items():
        technique, _, why = reason.partition(": ")
        assert why  # no site without a reason
        if technique in NARROW and why != UNALIGNED:
            left[reason] += count
    rewritten, refused = sum(done.values()), sum(left.values())
    assert rewritten >= 0.9 * (rewritten + refused), (rewritten, refused, left.most_common(5))


def test_every_edit_has_its_evidence(libc_ev67: Path) -> None:
    """Edits are proved, substituted routines tried; words go only by the idiom's alignment."""
    record = manifest.read(libc_ev67.read_bytes())
    assert record is not None
    tried = [e.evidence for e in record.edits if e.technique == "substitute"]
    proved = [e.evidence for e in record.edits if e.technique != "substitute"]
    assert {evidence.grade.value for evidence in proved} == {"PROVED"}
    assert {evidence.grade.value for evidence in tried} == {"TESTED"}
    assert all(evidence.cases for evidence in tried)
    words = [e for e in record.edits if "word load" in e.kind or "word store" in e.kind]
    assert words
    assert all(e.evidence.preconditions for e in words)


SURVEYED = {  # by hand and other tools, of this libc
    "byte load": 1674, "byte store": 709 + 29, "word load": 505, "signed byte load": 1747,
    "zero byte store": 376, "sign extension byte": 121, "sign extension word": 24,
}  # fmt: skip


def test_nine_of_ten_spellings_are_gone(libc: Path, libc_ev67: Path) -> None:
    """Counted by names of instructions in both files, whatever the passes call a site."""
    before, after = survey(image.load(str(libc))), survey(image.load(str(libc_ev67)))
    for kind, known in SURVEYED.items():
        assert abs(before[kind] - known) <= 0.06 * known, kind
    total, left = sum(before.values()), sum(after.values())
    print(f"old spellings: {total} before, {left} after = {left / total:.3f}")
    assert left <= 0.1 * total, after
