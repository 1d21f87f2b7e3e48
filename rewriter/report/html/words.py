"""What passes and grades are, in a sentence each, for who sees a page first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PASSES: Mapping[str, str] = MappingProxyType({
    "substitute": "A routine that is known by name and behaviour becomes one written for this CPU.",
    "bytes": "Sequences that load, shift and mask become single byte and word instructions.",
    "bitscan": "Searches for a bit become the instructions that count zeros or ones.",
    "replay": "A load that reads what narrower stores just wrote no longer traps.",
    "prefetch": "Loops that walk over memory ask for lines before they need them.",
    "align": "Instructions that do nothing go; branch targets stand on fetch-block boundaries.",
    "schedule": "Instructions are put in an order in which they wait less for each other.",
})  # fmt: skip
"""By the name of the pass."""

GRADES: Mapping[str, str] = MappingProxyType({
    "PROVED": "shown equal for every input",
    "BOUNDED": "shown equal for every input up to a number of iterations",
    "TESTED": "old and new code gave the same in all cases that were run",
    "NO-SPEC": "nothing says what the code must do",
    "TIMEOUT": "neither shown nor refuted in the time that was given",
    "REFUTED": "shown to differ",
})  # fmt: skip
"""By the name of the grade."""
