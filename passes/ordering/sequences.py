"""Sequences of labels that stay what they are where what carries them changes places."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby


def run_starts(labels: Sequence[Hashable]) -> list[int]:
    """Where each run of one label begins."""
    return [at for at, label in enumerate(labels) if at == 0 or labels[at - 1] != label]


def starts_of_runs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[int] | None:
    """Where each run of old labels begins among new ones; None if they come in another order.

    A run may have become empty: then it begins where the next one does that is left.
    """
    wanted = iter(enumerate(label for label, _ in groupby(old)))
    found = list[int]()
    for start in run_starts(new):
        number = next((n for n, label in wanted if label == new[start]), None)
        if number is None:
            return None
        found += [start] * (number + 1 - len(found))
    return found + [len(new)] * (len(run_starts(old)) - len(found))
