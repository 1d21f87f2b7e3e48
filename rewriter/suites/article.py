"""Gorton's article "Kernel Tuning Gives 40% Gains" (2001) as a suite: its routines, a mix of calls.

The article does not say how often a kernel calls each routine, so the mix is an assumption,
stated here and printed with every result.  What it measured is `MEASURED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Job:
    """Calls of one routine: `point` names a case of its contract, `calls` how many a unit of work.

    A cold job finds nothing in the caches: each page of a new process is another one.
    """

    routine: str
    what: str
    calls: int
    point: Mapping[str, int] = field(default_factory=dict)
    warm: bool = True


@dataclass(frozen=True)
class Measurement:
    """A row of the article: system time of a kernel or gcc build, lower by so much."""

    machine: str
    kernel: str
    work: str
    gain: str


SOURCE = "Gorton, Kernel Tuning Gives 40% Gains (2001), tables 2-7"

MEASURED = (
    Measurement("up1000", "2.4.0-test6", "kernel build, 25.0 to 18.0", "38.8 %"),
    Measurement("up1000", "2.4.0-test6", "kernel build, -j4", "42.8 %"),
    Measurement("up1000", "2.4.0-test6", "gcc build", "16 to 22 %"),
    Measurement("cs20", "2.2.18", "kernel build, 27.7 to 23.9", "15.9 %"),
    Measurement("cs20", "2.2.18", "gcc build", "14 to 15 %"),
    Measurement("cs20", "2.4.2", "kernel and gcc builds", "9.8 to 18.4 %"),
)
"""As the facts sheet of the article gives them; percentages are the article's own."""

SHARE = 0.5
"""Of system time, what the original routines take: assumed."""


def _copy(routine: str, count: int, skew: int, calls: int, warm: bool = True) -> Job:
    what = f"{count} bytes, {'aligned' if not skew else f'source at {skew} mod 8'}"
    return Job(routine, what, calls, {"count": count, "to": 0, "source": skew, "place": 0}, warm)


def _fill(routine: str, count: int, calls: int, **rest: int) -> Job:
    point = {"count": count, "to": 0, "place": 0, **rest}
    return Job(routine, f"{count} bytes", calls, point)


def _search(routine: str, count: int, skew: int, calls: int, **rest: int) -> Job:
    point = {"count": count, "source": skew, "place": 0, **rest}
    return Job(routine, f"{count} bytes at {skew} mod 8", calls, point)


MIX = (
    Job("clear_page", "a page that is in no cache", 800, {"number": 0}, warm=False),
    Job("copy_page", "pages that are in no cache", 150, {"number": 0, "source": 0}, warm=False),
    _copy("__copy_user", 64, 0, 1000),
    _copy("__copy_user", 144, 3, 400),
    _copy("__copy_user", 4096, 0, 300, warm=False),
    _fill("__clear_user", 200, 50),
    _copy("memcpy", 16, 0, 2000),
    _copy("memcpy", 100, 4, 500),
    _copy("memcpy", 512, 0, 200),
    _fill("memset", 40, 1500, byte=0),
    _fill("memset", 256, 300, byte=0),
    _search("strlen", 11, 3, 1500, seed=0),
    _search("strchr", 20, 1, 300, needle=0, hit=1),
    _search("strrchr", 20, 1, 100, needle=0, hit=2),
    _search("memchr", 40, 2, 200, needle=0, hit=1, limit=0),
    _copy("strcpy", 14, 5, 300),
    _copy("strcat", 14, 2, 50),
    Job("csum_ipv6_magic", "a header", 20, {"source": 0, "target": 0, "place": 0, "seed": 0}),
)
"""Calls for a thousand page faults of a build: assumed, in the proportion in which processes start,
read and write files and look up names."""
