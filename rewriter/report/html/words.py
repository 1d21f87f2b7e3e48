"""What passes and grades are, in a sentence each, for who sees a page first; and their colours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Look:
    """How a pass is shown: a sentence, and its colour on a light page and on a dark one."""

    sentence: str
    light: str
    dark: str


LOOKS: Mapping[str, Look] = MappingProxyType({
    "substitute": Look(
        "A routine that is known by name and behaviour becomes one written for this CPU.",
        "#7b4fb3", "#b894e6",
    ),
    "bytes": Look(
        "Sequences that load, shift and mask become single byte and word instructions.",
        "#0b7a75", "#4fc3b8",
    ),
    "bitscan": Look(
        "Searches for a bit become the instructions that count zeros or ones.",
        "#2f6fb5", "#74aee8",
    ),
    "combine": Look(
        "Several instructions become one that this CPU has.", "#7a6a00", "#d8c95a"
    ),
    "dead": Look(
        "What other passes left that nobody needs any more goes.", "#7a5c48", "#c9a78e"
    ),
    "replay": Look(
        "A load that reads what narrower stores just wrote no longer traps.", "#b5485d", "#ec8fa0"
    ),
    "prefetch": Look(
        "Loops that walk over memory ask for lines before they need them.", "#9a5c00", "#eab05c"
    ),
    "writehint": Look(
        "Loops that fill memory no longer read what they are about to overwrite.",
        "#a8328c", "#ee86d2",
    ),
    "flush": Look(
        "Loops that flush caches go by this CPU's blocks, or go where it needs none.",
        "#00688b", "#5cc4e6",
    ),
    "cmov": Look(
        "Conditional moves that nearly always go one way become branches that are foreseen.",
        "#3d55c4", "#98a8f5",
    ),
    "choose": Look(
        "A branch over a move becomes an instruction that chooses.", "#2c6e8f", "#7fc3e3"
    ),
    "sink": Look(
        "Results that only one way needs are computed on that way.", "#1f7a55", "#63d6a0"
    ),
    "reload": Look(
        "A pointer to shared data that a call leaves as it was is not made anew.",
        "#5b4aa0", "#b0a2ee",
    ),
    "layout": Look(
        "Blocks stand in the order in which a profile saw control pass through them.",
        "#8a4a2f", "#e09a78",
    ),
    "align": Look(
        "Instructions that do nothing go; branch targets stand on fetch-block boundaries.",
        "#5d6b78", "#9fb0bd",
    ),
    "schedule": Look(
        "Instructions are put in an order in which they wait less for each other.",
        "#47782a", "#9bcb78",
    ),
    "prefix": Look(
        "A number in two halves becomes one instruction of two words.", "#6b3f6e", "#cf9ed2"
    ),
})  # fmt: skip
"""By the name of the pass: all of ours."""

PLUGGED_IN = Look("A pass of another package.", "#586368", "#9aa7ac")
"""How a pass is shown that is none of ours."""


def sentences(names: Iterable[str]) -> dict[str, str]:
    """The sentence of each pass."""
    return {name: LOOKS.get(name, PLUGGED_IN).sentence for name in names}


def colours() -> str:
    """The style that gives each pass its colour, in both themes, as text and as an area."""
    shown = {**LOOKS, "plugged-in": PLUGGED_IN}
    variables = "".join(f"--{n}: light-dark({o.light}, {o.dark}); " for n, o in shown.items())
    rules = [
        f":root {{ {variables}}}",
        ".pass { color: var(--plugged-in); }",
        '[class*="fill-"] { background: var(--plugged-in); fill: var(--plugged-in); }',
    ]
    for name in LOOKS:
        rules.append(f".pass-{name} {{ color: var(--{name}); }}")
        rules.append(f".fill-{name} {{ background: var(--{name}); fill: var(--{name}); }}")
    return "\n".join(rules) + "\n"


GRADES: Mapping[str, str] = MappingProxyType({
    "PROVED": "shown equal for every input",
    "BOUNDED": "shown equal for every input up to a number of iterations",
    "TESTED": "old and new code gave the same in all cases that were run",
    "NO-SPEC": "nothing says what the code must do",
    "TIMEOUT": "neither shown nor refuted in the time that was given",
    "REFUTED": "shown to differ",
})  # fmt: skip
"""By the name of the grade."""
