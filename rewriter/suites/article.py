"""Gorton's article "Kernel Tuning Gives 40% Gains" (2001) as a suite: its routines, a mix of calls.

The article does not say how often its kernels called each routine, so the mix is that of another
kernel while programs are compiled, counted (`rewriter.contracts.calls`), and printed with every
result.  What the article measured is `MEASURED`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rewriter.contracts.calls import Counted, compiling, counted


@dataclass(frozen=True)
class Job:
    """Calls of one routine: `point` names a case of its contract, `calls` how many there were."""

    routine: str
    what: str
    calls: int
    point: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """Rows of a table of the article: what is said of them, old / new - 1, from the lowest to the
    highest, and the system time in seconds before and after where it is known."""

    table: str
    machine: str
    kernel: str
    work: str
    gains: tuple[float, float]
    seconds: tuple[float, float] | None = None

    @property
    def falls(self) -> tuple[float, float]:
        """By how much the time falls, of one."""
        low, high = self.gains
        return fall(low), fall(high)


def fall(gain: float) -> float:
    """Of a time whose old / new - 1 is this, by how much it falls, of one."""
    return gain / (1 + gain)


def gain(fallen: float) -> float:
    """The other way round; infinite where nothing is left."""
    return fallen / (1 - fallen) if fallen < 1 else float("inf")


SOURCE = "Gorton, Kernel Tuning Gives 40% Gains (2001), tables 2-7"

MEASURED = (
    Measurement("2", "cs20", "2.2.18", "kernel build", (0.159, 0.159), (27.7, 23.9)),
    Measurement("3", "cs20", "2.2.18", "gcc build", (0.14, 0.15)),
    Measurement("4, 5", "cs20", "2.4.2", "kernel and gcc builds", (0.098, 0.184)),
    Measurement("6", "up1000", "2.4.0-test6", "kernel build", (0.388, 0.388), (25.0, 18.0)),
    Measurement("6", "up1000", "2.4.0-test6", "kernel build, -j4", (0.428, 0.428)),
    Measurement("7", "up1000", "2.4.0-test6", "gcc build", (0.16, 0.22)),
)
"""What is known of the 24 cells of the tables: some, and the ranges of the others."""

MACHINES = ("up1000", "cs20")
"""The article's machines, by the names of their descriptions."""

PAGES = ("clear_page", "copy_page")

UNSEEN = (
    "gcc: what compiles is tcc, in one process a file and step, on files in memory",
    "code that is inlined where it is used, and headers, which the article changed too",
    "what programs leave in the caches between two ways into the kernel",
    "a second processor, and other devices of the machine, which the bus serves too",
)
"""What the mix and the model do not see."""

_RARE = 0.01
"""Groups of calls below this part of a routine's calls are left out."""


def _copy(routine: str, calls: int, count: int, to: int, source: int) -> Job:
    where = "aligned" if not to | source else f"from {source} to {to} mod 8"
    point = {"count": count, "to": to, "source": source, "place": 0}
    return Job(routine, f"{count} bytes, {where}", calls, point)


def _fill(routine: str, calls: int, count: int, to: int) -> Job:
    point = {"count": count, "to": to, "place": 0}
    if routine == "memset":
        point["byte"] = 0
    return Job(routine, f"{count} bytes at {to} mod 8", calls, point)


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
    return Job(routine, "a page", calls, point)


_JOBS: Mapping[str, Callable[..., Job]] = {
    **dict.fromkeys(("__copy_user", "memcpy", "memmove"), _copy),
    **dict.fromkeys(("__clear_user", "memset"), _fill),
    **dict.fromkeys(("strlen", "strchr", "memchr"), _search),
    **dict.fromkeys(("clear_page", "copy_page"), _page),
}

SEEN = (
    _search("strrchr", 0, 20, 1),
    _copy("strcpy", 0, 14, 0, 5),
    _copy("strcat", 0, 14, 0, 2),
    Job("csum_ipv6_magic", "a header", 0, {"source": 0, "target": 0, "place": 0, "seed": 0}),
)
"""Routines of the article that the boot does not call, or whose sizes are not known: they are
timed, and weigh nothing."""


def mix(calls: Counted) -> tuple[Job, ...]:
    """A job for each group of calls that is not rare, the routine that executes most first."""
    return tuple(
        _JOBS[name](name, number, *point)
        for name in (*calls.executed, *sorted(calls.calls.keys() - calls.executed.keys()))
        for *point, number in calls.calls.get(name, ())
        if number >= _RARE * sum(group[-1] for group in calls.calls[name])
    )


def sizes(page: int) -> tuple[Job, ...]:
    """Aligned copies from one line to one page of the machine, which weigh nothing."""
    powers = range(6, page.bit_length())
    return tuple(
        _copy(name, 0, 1 << power, 0, 0) for name in ("__copy_user", "memcpy") for power in powers
    )


BOOT = (*mix(counted()), *SEEN)
"""The calls of a boot, and those."""

COUNTED = compiling()
MIX = mix(COUNTED)
"""Those of programs that are compiled."""
