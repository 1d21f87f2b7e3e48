"""A file retuned: the road, its record, and the bytes to write."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rewriter.api import choose
from rewriter.api.choose import Chosen, Wanted
from rewriter.api.files import Loaded
from rewriter.api.progress import Progress, quiet
from rewriter.core.errors import BadInput, BadUsage
from rewriter.core.run.garbage import trim
from rewriter.core.run.ledger import Ledger, spending
from rewriter.elf import compressed, manifest, note
from rewriter.elf.headers import printable
from rewriter.elf.image import Image
from rewriter.elf.manifest import Manifest
from rewriter.identify.profiles import Profile
from rewriter.report.summary.report import Report
from rewriter.report.summary.timings import Timings
from rewriter.road.pipeline import Tuned, tune
from rewriter.road.remembered.results import Results


@dataclass(frozen=True)
class Patched:
    """What became of a file: `record` is its manifest, None where nothing is written.

    `tuned` is what the road gave, None where no pass ran.
    """

    loaded: Loaded
    report: Report
    tuned: Tuned | None = None
    record: Manifest | None = None

    def data(self) -> bytes:
        """The file to write, with its manifest; the original's where there is none."""
        if self.tuned is None or self.record is None:
            return self.loaded.data
        name = printable(self.loaded.image.name)
        return self._wrapped(manifest.attach(self.tuned.data, self.record, name))

    def apart(self) -> tuple[bytes, bytes | None]:
        """The file to write without its manifest, and the manifest."""
        if self.tuned is None or self.record is None:
            return self.loaded.data, None
        return self._wrapped(self.tuned.data), manifest.dump(self.record)

    def _wrapped(self, data: bytes) -> bytes:
        """The bytes, compressed if the input was."""
        wrapping = self.record.wrapping if self.record is not None else None
        return data if wrapping is None else compressed.wrap(data, wrapping)


def patch(
    loaded: Loaded,
    wanted: Wanted,
    progress: Progress = quiet,
    profile: Profile | None = None,
    jobs: int = 1,
    results: Results | None = None,
) -> Patched:
    """Retunes a loaded file in `jobs` processes; nothing is written.

    `results` are what functions became in earlier runs; new ones are added.

    Raises BadUsage for names that are not known, BadInput for a file that cannot be followed or
    was retuned before,
    VerificationFailed when the result could not be shown equal.
    """
    choose.check(wanted)
    chosen = choose.resolve(loaded.image, wanted)
    if chosen is None:
        return Patched(loaded, Report(wanted.cpu or ""))
    if loaded.image.section(note.NAME) is not None:
        raise BadInput(
            f"{loaded.image.name}: was retuned before: it has a section {note.NAME}",
            hint="`retune revert` gives the original back",
        )
    cpu, options = chosen.cpu, chosen.options
    tuned = tune(loaded.image, chosen.target, cpu, options, progress, profile, jobs, None, results)
    choose.made(wanted, tuned.edits)
    report = Report.of(tuned)
    if kept := _kept(loaded.image, tuned, wanted.min_gain):
        return Patched(loaded, replace(report, kept=kept), tuned)
    with spending("note"):
        trim()  # of what was known of the program
        record = _record(loaded.image, tuned, chosen, wanted)
        if record is not None:  # it leads back, or nothing is written
            manifest.check_way_back(tuned.data, record, loaded.image.name)
    if record is not None and loaded.opened is not None:
        record = replace(record, wrapping=compressed.wrapping_of(loaded.opened))
    return Patched(loaded, report, tuned, record)


def _kept(image: Image, tuned: Tuned, percent: float | None) -> str:
    """Why a file is kept as it is though something was done; empty where it is not."""
    if percent is None or not tuned.edits:
        return ""
    if tuned.expected is None:
        raise BadUsage(
            f"{image.name}: --min-gain: nothing says what this code executes fewer",
            hint="without it the file is tuned",
        )
    return tuned.expected.below(percent)


def timed(report: Report, ledger: Ledger, jobs: int) -> Report:
    """The report on a run in `jobs` processes, with what was kept of its cost."""
    return replace(report, timings=Timings.of(ledger, report.tallies, jobs))


def _record(image: Image, tuned: Tuned, chosen: Chosen, wanted: Wanted) -> Manifest | None:
    """The manifest of what was done; None when nothing was."""
    if not tuned.edits:
        return None
    return manifest.record(
        image.data,
        tuned.data,
        target=chosen.target.name,
        cpu=chosen.cpu.name,
        edits=tuned.edits,
        patches=tuned.patches,
        skips=tuned.skips,
        options=chosen.record(),
    )
