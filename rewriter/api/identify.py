"""What is recognised in a file: functions, jump tables, and what points into the code."""

from __future__ import annotations

from rewriter.api import choose
from rewriter.core.target.capability import needed
from rewriter.elf.image import Image
from rewriter.report.regions import RegionSurvey
from rewriter.report.survey import Survey


def surveyed(image: Image) -> Survey | RegionSurvey:
    """The functions of a file and those that would be left alone, with the reasons."""
    from rewriter.analysis.program import analyse
    from rewriter.report import regions, survey

    target = choose.target_of(image)
    if target.bundling is not None:
        return regions.survey(target.bundling, choose.code_of(image, target.bundling))
    words = needed(target.sequential, "identify", target, image.name)
    return survey.survey(analyse(image, words))
