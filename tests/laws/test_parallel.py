"""Work on several processors: the same results in the same order as on one."""

from __future__ import annotations

import pytest

from rewriter.core.parallel import spread


class Trouble(Exception):
    """What a worker raises here."""


@pytest.mark.parametrize("workers", [None, 1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 16, 17, 100])
def test_results_are_in_order(count: int, workers: int | None) -> None:
    reported: list[int] = []
    items = list(range(count))
    found = spread(lambda n: n * n, items, reported.append, workers)
    assert found == [n * n for n in items]
    assert reported == sorted(reported)
    assert count == 0 or reported[-1] == count


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_worker_raises_is_raised(workers: int) -> None:
    def work(number: int) -> int:
        if number == 40:
            raise Trouble(f"at {number}")
        return number

    with pytest.raises(Trouble, match=r"^at 40$"):
        spread(work, range(100), lambda done: None, workers)
