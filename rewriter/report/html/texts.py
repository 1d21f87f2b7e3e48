"""The code of a page's two files, by the kind of code that they have."""

from __future__ import annotations

from rewriter.core.target.capability import either
from rewriter.report.html.bundled import BundledText
from rewriter.report.html.plain import PlainText
from rewriter.report.html.subject import Subject
from rewriter.report.html.text import Text


def text_of(subject: Subject) -> Text:
    """The code of both files."""
    before, after, cpu = subject.before, subject.after, subject.cpu
    return either(
        subject.target,
        "a report",
        before.name,
        bundled=lambda code: BundledText(before, after, code, cpu),
        sequential=lambda code: PlainText(before, after, code, cpu),
    )
