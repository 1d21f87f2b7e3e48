"""Gorton's article "Kernel Tuning Gives 40% Gains" (2001) as a suite: its routines, a mix of calls.

The article does not say how often its kernels called each routine, so the mix is that of a boot of
another kernel, counted (`rewriter.contracts.calls`), and printed with every result.  What the
article measured is `MEASURED`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rewriter.contracts.calls import Counted, counted


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

UNSEEN = (
    "processes that are compiled or linked, as in the article's builds",
    "code that is inlined where it is used, and headers, which the article changed too",
    "what the caches hold when a routine is called: pages and calls of a page or more find them"
    " empty, others find what they need",
    "other devices of the machine, which the bus serves too",
)
"""What the mix and the model do not see."""

_PAGE = 4096
_RARE = 0.01
"""Groups of calls below this part of a routine's calls are left out."""


def _copy(routine: str, calls: int, count: int, to: int, source: int) -> Job:
    where = "aligned" if not to | source else f"from {source} to {to} mod 8"
    point = {"count": count, "to": to, "source": source, "place": 0}
    return Job(routine, f"{count} bytes, {where}", calls, point, count < _PAGE)


def _fill(routine: str, calls: int, count: int, to: int) -> Job:
    point = {"count": count, "to": to, "place": 0}
    if routine == "memset":
        point["byte"] = 0
    return Job(routine, f"{count} bytes at {to} mod 8", calls, point, count < _PAGE)


def _search(routine: str, calls: int, count: int, source: int) -> Job:
    rest = {
        "strlen": {"seed": 0},
        "strchr": {"needle": 0, "hit": 1},
        "strrchr": {"needle": 0, "hit": 2},
        "memchr": {"needle": 0, "hit": 1, "limit": 0},
    }[routine]
    point = {"count": count, "source": source, "place": 0, **rest}
    return Job(routine, f"{count} bytes at {source} mod 8", calls, point)


def _page(routine: str, calls: int) -> Job:
    point = {"number": 0} if routine == "clear_page" else {"number": 0, "source": 0}
    return Job(routine, "a page that is in no cache", calls, point, warm=False)


_JOBS: Mapping[str, Callable[..., Job]] = {
    **dict.fromkeys(("__copy_user", "memcpy", "memmove"), _copy),
    **dict.fromkeys(("__clear_user", "memset"), _fill),
    **dict.fromkeys(("strlen", "strchr", "memchr"), _search),
    **dict.fromkeys(("clear_page", "copy_page"), _page),
}

_SEEN = (
    _search("strrchr", 0, 20, 1),
    _copy("strcpy", 0, 14, 0, 5),
    _copy("strcat", 0, 14, 0, 2),
    Job("csum_ipv6_magic", "a header", 0, {"source": 0, "target": 0, "place": 0, "seed": 0}),
)
"""Routines of the article that the boot does not call, or whose sizes are not known: they are
timed, and weigh nothing."""


def mix(calls: Counted) -> tuple[Job, ...]:
    """A job for each group of calls that is not rare, the routine that executes most first."""
    counted_jobs = (
        _JOBS[name](name, number, *point)
        for name in calls.executed
        for *point, number in calls.calls.get(name, ())
        if number >= _RARE * sum(group[-1] for group in calls.calls[name])
    )
    return (*counted_jobs, *_SEEN)


COUNTED = counted()
MIX = mix(COUNTED)
SHARE = COUNTED.share
BASIS = "their share of the instructions that the kernel executes there"
"""What the original routines take of system time, and what that rests on."""
