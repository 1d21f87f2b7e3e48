"""A differential test as JUnit XML, which build servers read."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from rewriter.difftest.case import Case, Comparison, Verdict

# What XML 1.0 has no way to write.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(comparison: Comparison) -> bytes:
    """One test suite; a case that differs has failed, an unusable one was skipped."""
    counts = comparison.counts
    suite = ElementTree.Element(
        "testsuite",
        name=_text(f"retune difftest {comparison.kind}"),
        tests=str(len(comparison.cases)),
        failures=str(counts.get(Verdict.DIFFERS, 0)),
        errors="0",
        skipped=str(counts.get(Verdict.UNUSABLE, 0)),
        time=f"{sum(sum(case.seconds) for case in comparison.cases):.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("old", comparison.old), ("new", comparison.new)):
        ElementTree.SubElement(properties, "property", name=name, value=_text(value))
    for case in comparison.cases:
        _add(suite, case, comparison.kind)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _add(suite: ElementTree.Element, case: Case, kind: str) -> None:
    element = ElementTree.SubElement(
        suite,
        "testcase",
        classname=f"retune.difftest.{kind}",
        name=_text(case.name),
        time=f"{sum(case.seconds):.3f}",
    )
    if case.verdict is Verdict.DIFFERS:
        failure = ElementTree.SubElement(element, "failure", message=_text(case.detail))
        failure.text = _text("\n".join(case.difference))
    elif case.verdict is Verdict.UNUSABLE:
        ElementTree.SubElement(element, "skipped", message=_text(case.detail))
    if case.executed is not None:
        out = ElementTree.SubElement(element, "system-out")
        out.text = "executed instructions: {} old, {} new".format(*case.executed)


def _text(text: str) -> str:
    return _ILLEGAL.sub("?", text)
