"""The page of a retuned file: of a run, or of two files afterwards."""

from __future__ import annotations

import dataclasses

from rewriter.api import choose
from rewriter.api.files import Loaded
from rewriter.api.patch import Patched
from rewriter.api.progress import Progress, quiet
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Target
from rewriter.elf import manifest
from rewriter.elf.headers import printable
from rewriter.elf.image import Image, parse
from rewriter.elf.manifest import Manifest
from rewriter.identify.profiles import Profile
from rewriter.identify.profiles import heat as heat_of
from rewriter.report.html.chapters import TIMED
from rewriter.report.html.page import page
from rewriter.report.html.subject import of_files, of_run
from rewriter.report.html.texts import text_of


def of_patched(
    patched: Patched, progress: Progress = quiet, jobs: int = 1, limit: int | None = TIMED
) -> bytes:
    """The page of a file that was just retuned; BadUsage where no pass ran.

    At most `limit` instructions are timed, None for all that changed.
    """
    tuned, image = patched.tuned, patched.loaded.image
    if tuned is None:
        raise BadUsage("--report: no pass ran, so there is nothing to report")
    options = patched.record.options if patched.record is not None else {}
    target = choose.target_of(image)
    subject = of_run(image, parse(tuned.data, image.name), target, tuned, options)
    return page(subject, progress, jobs, limit)


def of_pair(
    old: Loaded,
    new: Image,
    record: Manifest | None = None,
    profile: Profile | None = None,
    progress: Progress = quiet,
    jobs: int = 1,
    limit: int | None = TIMED,
) -> tuple[bytes, Manifest]:
    """The page of a patched file and its original, and the manifest that the page is made from.

    `record` is a manifest kept beside the file; without it the file carries its own.  BadInput
    where there is none, or where it does not lead from one file to the other.
    """
    bare, record = _led_back(old, new, record)
    target = choose.target_of(old.image)
    cpu = _cpu(old.image, target, record, new.name)
    subject = of_files(old.image, parse(bare, new.name), target, cpu, record)
    text = text_of(subject)
    subject = dataclasses.replace(
        subject,
        refusals=text.refusals(),
        heat=heat_of(profile, text.functions) if profile is not None else None,
    )
    return page(subject, progress, jobs, limit), record


def _led_back(old: Loaded, new: Image, record: Manifest | None) -> tuple[bytes, Manifest]:
    """The new file without its note, and the manifest, which leads back to the old file."""
    bare, label = new.data, printable(new.name)
    if record is None:
        bare, record = manifest.detach(new.data, label)
    if manifest.revert_with(bare, record, label) != old.image.data:
        raise BadInput(f"{label}: was not made from {printable(old.image.name)}")
    return bare, record


def _cpu(image: Image, target: Target, record: Manifest, name: str) -> Cpu:
    """The CPU that a manifest names, with what pays decided by the one that it says."""
    try:
        cpu = choose.cpu_for(image, target, "cpu", record.cpu)
        tuned = str(record.options.get("tune", record.cpu))
        tune = choose.cpu_for(image, target, "tune", tuned)
    except BadUsage as error:
        raise BadInput(f"{printable(name)}: its manifest: {error}") from error
    return dataclasses.replace(
        tune, name=cpu.name, description=cpu.description, features=cpu.features
    )
