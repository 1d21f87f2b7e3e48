"""The Python interface `retune`: the work of the commands as functions with defaults."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rewriter.api import check, choose, files
from rewriter.api.choose import Wanted
from rewriter.api.files import Loaded
from rewriter.api.identify import surveyed
from rewriter.api.patch import Patched
from rewriter.api.patch import patch as patched
from rewriter.api.progress import Progress, quiet
from rewriter.core.assumptions import EVERY
from rewriter.core.errors import BadUsage
from rewriter.elf import compressed, image, manifest
from rewriter.identify import profiles
from rewriter.identify.kallsyms import symbols as kallsyms
from rewriter.report.regions import RegionSurvey
from rewriter.report.survey import Survey
from rewriter.report.verdict import Comparison

Source = str | os.PathLike[str] | bytes | Loaded
"""A file: its path, its bytes, or what `load` gave."""


def load(source: Source, *, symbols: str | os.PathLike[str] | None = None) -> Loaded:
    """Read and parse an ELF file, or a gzip file around one.

    `symbols` is the path of a System.map. Raises BadInput, whose text names the file and what is
    wrong with it.
    """
    if isinstance(source, Loaded):
        return source
    if isinstance(source, bytes):
        if symbols is not None:
            raise BadUsage("symbols: a System.map is added to a file that is given by its path")
        return _of_bytes(source)
    return files.load(Path(source), Path(symbols) if symbols is not None else None)


def _of_bytes(data: bytes) -> Loaded:
    name = "the bytes given"
    opened = compressed.open_gzip(data, name) if compressed.is_gzip(data) else None
    content = opened.content if opened is not None else data
    return Loaded(kallsyms.with_kallsyms(image.parse(content, name)), opened)


def identify(source: Source) -> Survey | RegionSurvey:
    """Return the functions of a file, those that would be left alone and why, and jump tables.

    `lines()` of the result is what `retune identify` prints, `as_json()` what its `--json` does.
    """
    return surveyed(load(source).image)


def patch(
    source: Source,
    cpu: str,
    *,
    tune: str | None = None,
    passes: Sequence[str] | None = None,
    funcs: Sequence[str] = (),
    skip_funcs: Sequence[str] = (),
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    max_edits: int | None = None,
    exact: Sequence[str] = (),
    debug: str = "keep",
    assume: Sequence[str] | None = None,
    min_gain: float | None = None,
    cycles: bool = False,
    profile: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Patched:
    """Tune a file to a CPU; nothing is written.

    The arguments are the options of `retune patch`: `passes` are names (all that the CPU
    supports when None), `funcs`, `skip_funcs` and `exact` regular expressions over whole names,
    `only` and `skip` edit ids, `assume` the assumptions that proofs may rest on (all when None),
    `profile` a path. `progress` is called with a stage, how much of it is done, and how much there
    is.

    `data()` of the result is the new file with its note, `report` what was done, `record` the
    manifest, None where no edit was made or less than `min_gain` per cent is expected. Raises
    BadUsage for a name that is not known, BadInput for a file that cannot be followed,
    VerificationFailed where the result is not shown equal.
    """
    loaded = load(source)
    wanted = Wanted(
        cpu=cpu,
        tune=tune,
        passes=_listed(passes),
        funcs=tuple(funcs),
        skip_funcs=tuple(skip_funcs),
        only=tuple(only),
        skip=tuple(skip),
        max_edits=max_edits,
        exact=tuple(exact),
        timed=cycles,
        debug=debug,
        assume=_listed(assume) or "all",
        min_gain=min_gain,
    )
    heat = None
    if profile is not None:
        path = Path(profile)
        heat = profiles.parse(files.read(path), str(path), loaded.image)
    return patched(loaded, wanted, progress or quiet, heat, jobs)


def _listed(names: Sequence[str] | None) -> str | None:
    """Names as the options take them: a,b,... or none."""
    if names is None:
        return None
    given = [names] if isinstance(names, str) else names
    return ",".join(given) or "none"


def verify(
    old: Source,
    new: Source,
    *,
    assume: Sequence[str] | None = None,
    cpu: str | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Comparison:
    """Compare a patched file with its original; `ok` of the result says whether they do the same.

    Nothing that `patch` said is believed. `findings` has what speaks against it. With `cpu`,
    what is shown is that both do the same on this CPU: how it flushes its caches depends on it, and
    which instructions it has. Without, it has those of the CPU that NEW's manifest names.
    """
    before, after = load(old), load(new)
    resting = EVERY if assume is None else choose.assumed(_listed(assume) or "all")
    return check.verify(before, after.image, progress or quiet, jobs, resting, cpu)


def revert(source: Source, *, record: bytes | None = None) -> bytes:
    """Return the original of a patched file, byte for byte.

    `record` is the content of a manifest that was kept beside the file. Raises BadInput without a
    manifest, VerificationFailed where it does not lead back.
    """
    kept = manifest.parse(record, "the record given") if record is not None else None
    if isinstance(source, bytes | Loaded):
        content, name = load(source).image.data, "the bytes given"
    else:
        content, name = files.content(Path(source)), str(source)
    return check.revert(content, name, kept)[0]
