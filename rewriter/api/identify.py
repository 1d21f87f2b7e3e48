"""What is recognised in a file: functions, jump tables, and what points into the code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rewriter.api import choose
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.capability import either
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image

if TYPE_CHECKING:
    from rewriter.report.regions import RegionSurvey
    from rewriter.report.survey import Survey


def surveyed(image: Image) -> Survey | RegionSurvey:
    """The functions of a file and those that would be left alone, with the reasons."""
    return either(
        choose.target_of(image),
        "identify",
        image.name,
        bundled=partial(_bundled, image),
        sequential=partial(_sequential, image),
    )


# What one kind of code needs is not loaded for the other.


def _bundled(image: Image, target: Bundling) -> RegionSurvey:
    from rewriter.analysis.functions import bundled_code
    from rewriter.report.regions import survey

    return survey(target, bundled_code(image, target))


def _sequential(image: Image, target: Sequential) -> Survey:
    from rewriter.analysis.program import analyse
    from rewriter.report.survey import survey

    return survey(analyse(image, target))
