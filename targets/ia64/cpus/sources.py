"""Where the figures come from, and the short ways to write them down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from rewriter.core.target.bundled_cpu import Bundled, BundledCpu
from rewriter.core.target.cpu import Figure, assumed, figures_of

KNB = "open64 mckinley_knobsfile.knb (Intel's machine description)"
GCC = "gcc config/ia64/itanium2.md"
GCC_COST = "gcc config/ia64/ia64.cc, adjust_cost"
SDM = "Intel Itanium Architecture Software Developer's Manual, volume 1,"
SEED = "Chapman and Heiser, Itanium tricks and gotchas (2004)"
LINUX = "Linux arch/ia64/kernel, comments of ivt.S, fsys.S and gate.S"
LINUX_COPY = "Linux arch/ia64/lib/copy_page_mck.S"
INTEL = "Intel developer articles on the Itanium 2"
MANUAL = "general knowledge of the Itanium 2 manual, not confirmed"
BOTH = f"{KNB}; {GCC}"


def disputed(value: int, sources: str) -> Figure:
    """A parameter: sources disagree, and `sources` says which and how."""
    return assumed(value, f"sources disagree: {sources}")


def guess(value: int, what: str) -> Figure:
    """A parameter from memory of the manual."""
    return assumed(value, f"{what}; {MANUAL}")


def described(
    name: str,
    description: str,
    features: frozenset[str],
    block: Figure,
    issue: Bundled,
    *called: str,
) -> BundledCpu:
    """A CPU whose figures are shown by name."""
    figures = dict(_shown(issue))
    return BundledCpu(name, description, features, block, figures, issue=issue, called=called)


def _shown(issue: Bundled) -> dict[str, Figure]:
    """Figures by name; classes that share one are named together."""
    sharing: dict[Figure, list[str]] = {}
    for name, each in issue.classes.items():
        sharing.setdefault(each.latency, []).append(name)
    shown = {f"latency of {', '.join(names)}": figure for figure, names in sharing.items()}
    for one in issue.passes:
        what = f"bypass from {_named(one.producers)} {_named(one.wrote, 'result')}"
        to = f"{_named(one.consumers)} {_named(one.reads)}"
        shown[f"{_spaced(what)} to {_spaced(to)}"] = one.latency
    for pair in issue.pairs:
        shown[f"from {_named(pair.earlier)} to {_named(pair.later)}"] = pair.cycles
    for item in fields(issue):
        if item.name not in ("classes", "passes", "pairs"):
            shown.update(_plain(getattr(issue, item.name), item.name.replace("_", " ")))
    return shown


def _plain(part: object, name: str) -> Mapping[str, Figure]:
    return dict(figures_of(part, name))


def _named(names: frozenset[str], usual: str = "") -> str:
    return "/".join(sorted(names - {usual})) if names else "any"


def _spaced(text: str) -> str:
    return " ".join(text.split())
