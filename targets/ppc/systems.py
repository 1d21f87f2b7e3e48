"""Machines around PowerPC chips: clocks, last caches, memory; every figure with its source."""

from __future__ import annotations

from rewriter.core.target.cpu import Cache, Figure, System, assumed
from targets.ppc.cpus.sources import GENERAL, TN2087


def _last(kilobytes: int, line: int, ways: int, latency: int, busy: int, source: str) -> Cache:
    """The last cache before memory, whose times are parameters."""
    return Cache(
        size=Figure(kilobytes * 1024, source),
        line=Figure(line, source),
        ways=assumed(ways, f"ways; {GENERAL}"),
        latency=assumed(latency, f"cycles to its data; {GENERAL}"),
        busy=assumed(busy, f"cycles a line; {GENERAL}"),
    )


def _guessed(kilobytes: int, line: int, ways: int, latency: int, busy: int) -> Cache:
    return Cache(
        size=assumed(kilobytes * 1024, f"bytes; {GENERAL}"),
        line=assumed(line, f"line; {GENERAL}"),
        ways=assumed(ways, f"ways; {GENERAL}"),
        latency=assumed(latency, f"cycles to its data; {GENERAL}"),
        busy=assumed(busy, f"cycles a line; {GENERAL}"),
    )


def _system(
    name: str, description: str, clock: int, board: Cache, line_time: int, latency: Figure
) -> System:
    return System(
        name=name,
        description=description,
        clock=assumed(clock, f"a usual clock; {GENERAL}"),
        board=board,
        line_time=assumed(line_time, f"a line over the bus; {GENERAL}"),
        latency=latency,
    )


def _memory(nanoseconds: int) -> Figure:
    return assumed(nanoseconds, f"load to use from memory; {GENERAL}")


G3 = _system("powermac-g3", "one 750, bus of 66 MHz", 300, _last(1024, 32, 2, 12, 6, TN2087), 60,
             _memory(200))  # fmt: skip
G4 = _system("powermac-g4", "one 7450, bus of 133 MHz", 733, _guessed(1024, 64, 8, 30, 8), 40,
             Figure(93, "Apple G5 white paper: memory of a G4"))  # fmt: skip
G5 = _system("powermac-g5", "one 970, bus of 900 MHz", 1800, _last(512, 128, 8, 12, 4, TN2087), 30,
             Figure(135, "Apple G5 white paper"))  # fmt: skip
P630 = _system("p630", "one POWER4", 1000, _guessed(32 << 10, 512, 8, 100, 16), 40, _memory(350))
P750 = _system("p750", "one POWER7", 3500, _guessed(4 << 10, 128, 8, 25, 4), 10, _memory(100))
S822 = _system("s822", "one POWER8", 3500, _guessed(8 << 10, 128, 8, 28, 4), 8, _memory(90))
TALOS = _system("talos", "one POWER9", 3800, _guessed(10 << 10, 128, 20, 40, 4), 8, _memory(90))
S1022 = _system("s1022", "one POWER10", 3900, _guessed(8 << 10, 128, 16, 28, 4), 6, _memory(90))

SYSTEMS = {one.name: one for one in (G3, G4, G5, P630, P750, S822, TALOS, S1022)}
SYSTEM_OF = {
    **dict.fromkeys(("603e", "750"), G3.name),
    **dict.fromkeys(("7400", "7450"), G4.name),
    "970": G5.name,
    "power4": P630.name,
    "power7": P750.name,
    "power8": S822.name,
    "power9": TALOS.name,
    "power10": S1022.name,
}
"""The machine that a CPU is timed in, where none is named."""
