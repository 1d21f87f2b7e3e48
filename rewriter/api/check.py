"""Two files compared, and the way back from a patched one."""

from __future__ import annotations

from dataclasses import replace

from rewriter.api.choose import cpu_named, target_of
from rewriter.api.files import Loaded
from rewriter.api.progress import Progress, quiet
from rewriter.core.assumptions import EVERY
from rewriter.core.errors import BadInput, VerificationFailed
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Target
from rewriter.elf import manifest, note
from rewriter.elf.image import Image
from rewriter.elf.manifest import Manifest
from rewriter.report.verdict import NONE, Comparison, compare


def verify(
    old: Loaded,
    new: Image,
    progress: Progress = quiet,
    jobs: int = 1,
    assume: frozenset[str] = EVERY,
    cpu: str | None = None,
) -> Comparison:
    """Compares a patched file with its original in `jobs` processes, and its manifest.

    Nothing that the rewriter said is believed; `assume` names what proofs may rest on, and `cpu`
    the CPU on which both must do the same, where caches are flushed block by block or instructions
    are not every CPU's.  BadInput where the two cannot be an original and its successor.
    """
    before = old.image
    if before.machine != new.machine:
        target_of(before)  # says so where it is that one which is foreign
        raise BadInput(f"{new.name}: is for another architecture than {before.name}")
    if before.section(note.NAME) is not None and new.section(note.NAME) is None:
        raise BadInput(
            f"{before.name}: was retuned, and {new.name} was not",
            hint="name the original first: `retune verify OLD NEW`",
        )

    def named(target: Target) -> Cpu | None:
        return cpu_named(target, "--cpu", cpu) if cpu is not None else None

    comparison = compare(old.image, new, target_of, progress, jobs, assume, named)
    return _with_wrapping(comparison, old, new)


def _with_wrapping(comparison: Comparison, old: Loaded, new: Image) -> Comparison:
    """The comparison, and whether the manifest leads back to OLD's gzip file, not to another."""
    if old.opened is None or comparison.findings or comparison.manifest == NONE:
        return comparison
    record = manifest.read(new.data, new.name)
    try:
        same = record is None or manifest.original_file(old.image.data, record) == old.data
        found = "" if same else "its manifest leads back to another gzip file"
    except VerificationFailed as error:
        found = str(error)
    return replace(comparison, findings=(f"{new.name}: {found}",)) if found else comparison


def revert(data: bytes, label: str, record: Manifest | None = None) -> tuple[bytes, Manifest]:
    """The original of a patched file, byte for byte, and the manifest that led back to it.

    `record` is a manifest kept beside the file; without it the file carries its own.  Raises
    BadInput without a manifest, VerificationFailed where it does not lead back.
    """
    bare = data
    if record is None:
        bare, record = manifest.detach(data, label)
    original = manifest.revert_with(bare, record, label)
    return manifest.original_file(original, record, label), record
