"""What is recognised in a file: functions, jump tables, and what points into the code."""

from __future__ import annotations

from rewriter.api import choose
from rewriter.core.target.bundling import Grouped
from rewriter.elf.image import Image
from rewriter.report.regions import RegionSurvey
from rewriter.report.survey import Survey


def surveyed(image: Image) -> Survey | RegionSurvey:
    """The functions of a file and those that would be left alone, with the reasons."""
    from rewriter.analysis.program import analyse
    from rewriter.report import regions, survey

    target = choose.any_target_of(image)
    if isinstance(target, Grouped):
        return regions.survey(target, choose.code_of(image, target))
    return survey.survey(analyse(image, target))
