"""What is recognised in a file: functions, jump tables, and what points into the code."""

from __future__ import annotations

from rewriter.api import choose
from rewriter.core.target.capability import either
from rewriter.elf.image import Image
from rewriter.report.regions import RegionSurvey
from rewriter.report.survey import Survey


def surveyed(image: Image) -> Survey | RegionSurvey:
    """The functions of a file and those that would be left alone, with the reasons."""
    from rewriter.analysis.functions import bundled_code
    from rewriter.analysis.program import analyse
    from rewriter.report import regions, survey

    target = choose.target_of(image)
    return either(
        target,
        "identify",
        image.name,
        bundled=lambda code: regions.survey(code, bundled_code(image, code)),
        sequential=lambda code: survey.survey(analyse(image, code)),
    )
