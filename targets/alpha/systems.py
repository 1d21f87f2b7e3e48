"""Machines around Alpha chips: clocks, board caches, memory; every figure with its source."""

from __future__ import annotations

from rewriter.core.target.cpu import Cache, Figure, System, assumed
from targets.alpha.cpus.sources import GMP

SEED = "Gorton, Kernel Tuning Gives 40% Gains (2001)"
_LINE = Figure(64, "21264 Hardware Reference Manual 2-11: the line of the chip")
_DIRECT = assumed(1, "board caches are direct-mapped")
_BOARD_BUSY = assumed(8, "a line in four transfers of a board cache at half the clock")

# Linux measures the caches when it boots: a loop of a load, two exclusive ors and an addition that
# wait for each other, a count and a branch (`read_mem_block` in arch/alpha/kernel/setup.c).
_BOOT = "boot log of Linux on a"
_CS20 = f"{_BOOT} CS20 (linux-kernel 2006-03-21, `Kernel 2.6.16 fails to boot on API CS20`)"
_PC164 = f"{_BOOT} PC164 (linux-mm 2018-11-26, `NO_BOOTMEM breaks alpha pc164`)"
_JENSEN = f"{_BOOT} DEC 2000 (linux-alpha 2021-10-19, `Newer kernels on the Jensen`)"


def _pass(log: str, cycles: int, others: int) -> str:
    """Where the latency of a load comes from: the loop's cycles less those that are not its."""
    return f"{log}: {cycles} cycles a pass of its probe, {others} of them not the load's"


UP1000 = System(
    name="up1000",
    description="one 21264A, 64-bit bus at 100 MHz",
    clock=Figure(700, SEED),
    board=Cache(
        size=Figure(4 << 20, SEED),
        line=_LINE,
        ways=_DIRECT,
        latency=assumed(20, "between 15, measured in a CS20, and 30, gcc's from LMbench on a DS20"),
        busy=_BOARD_BUSY,
    ),
    line_time=Figure(80, f"{SEED}: 800 MB/s"),
    latency=assumed(
        140, "load to use from memory; the machines that were measured take 190 to 210"
    ),
)

CS20 = System(
    name="cs20",
    description="two 21264B, 256-bit bus at 83 MHz",
    clock=Figure(833, SEED),
    board=Cache(
        Figure(4 << 20, SEED), _LINE, _DIRECT, Figure(15, _pass(_CS20, 18, 3)), _BOARD_BUSY
    ),
    line_time=Figure(24, f"{SEED}: 2.65 GB/s"),
    latency=Figure(193, _pass(_CS20, 164, 3)),
)

PC164 = System(
    name="pc164",
    description="one 21164 on a PC164 board",
    clock=Figure(500, f"{_PC164}: 986 BogoMIPS, two a cycle"),
    board=Cache(
        size=Figure(1 << 20, _PC164),
        line=assumed(64, "line of the second level"),
        ways=_DIRECT,
        latency=Figure(27, _pass(_PC164, 30, 3)),
        busy=assumed(8, "cycles a line"),
    ),
    line_time=assumed(160, "128-bit bus of a quarter of the clock"),
    latency=Figure(418, _pass(_PC164, 212, 3)),
)

JENSEN = System(
    name="jensen",
    description="one 21064 on a DEC 2000 (Jensen) board",
    clock=Figure(150, f"{_JENSEN}: 6.6 ns"),
    board=Cache(
        size=Figure(512 << 10, _JENSEN),
        line=assumed(32, "line of the chip"),
        ways=_DIRECT,
        latency=Figure(13, _pass(_JENSEN, 17, 4)),
        busy=Figure(15, f"{GMP}: a line out of the write buffer, on most systems at most"),
    ),
    line_time=assumed(160, "128-bit bus"),
    latency=Figure(366, _pass(_JENSEN, 59, 4)),
)

USUAL = {"ev4": JENSEN, "ev45": JENSEN, "ev5": PC164, "ev56": PC164, "pca56": PC164}
"""The machine that a chip is timed in when nothing is said; `UP1000` for the others."""

SYSTEMS = {system.name: system for system in (UP1000, CS20, PC164, JENSEN)}
