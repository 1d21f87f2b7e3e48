"""Machines around Alpha chips: clocks, board caches, memory; every figure with its source."""

from __future__ import annotations

from rewriter.core.target.cpu import Cache, Figure, System, assumed

SEED = "Gorton, Kernel Tuning Gives 40% Gains (2001)"
_LINE = Figure(64, "21264 Hardware Reference Manual 2-11: the line of the chip")
_DIRECT = assumed(1, "board caches are direct-mapped")
_BOARD_LATENCY = assumed(
    20, "between 13, the manual's least for a 6-cycle board cache, and 30, gcc's for a DS20"
)
_BOARD_BUSY = assumed(8, "a line in four transfers of a board cache at half the clock")

UP1000 = System(
    name="up1000",
    description="one 21264A, 64-bit bus at 100 MHz",
    clock=Figure(700, SEED),
    board=Cache(Figure(4 << 20, SEED), _LINE, _DIRECT, _BOARD_LATENCY, _BOARD_BUSY),
    line_time=Figure(80, f"{SEED}: 800 MB/s"),
    latency=assumed(140, "load to use from memory"),
)

CS20 = System(
    name="cs20",
    description="two 21264B, 256-bit bus at 83 MHz",
    clock=Figure(833, SEED),
    board=Cache(Figure(4 << 20, SEED), _LINE, _DIRECT, _BOARD_LATENCY, _BOARD_BUSY),
    line_time=Figure(24, f"{SEED}: 2.65 GB/s"),
    latency=assumed(120, "load to use from memory"),
)

_GCC = "gcc config/alpha/alpha.cc: cache latencies"

PC164 = System(
    name="pc164",
    description="one 21164 on a PC164 board",
    clock=assumed(500, "PC164 boards were sold with 400 to 600 MHz"),
    board=Cache(
        size=assumed(1 << 20, "1 MB modules were usual"),
        line=assumed(64, "line of the second level"),
        ways=_DIRECT,
        latency=Figure(38, f"{_GCC}, measured with lmbench on a PC164"),
        busy=assumed(8, "cycles a line"),
    ),
    line_time=assumed(160, "128-bit bus of a quarter of the clock"),
    latency=assumed(370, "gcc config/alpha/alpha.cc: what it takes for usual memory"),
)

EV4_BOARD = System(
    name="ev4-board",
    description="one 21064, no board in particular",
    clock=assumed(200, "a usual clock of the 21064"),
    board=Cache(
        size=assumed(512 << 10, "a usual board cache"),
        line=assumed(32, "line of the chip"),
        ways=_DIRECT,
        latency=assumed(30, f"{_GCC}, there called a guess"),
        busy=assumed(8, "cycles a line"),
    ),
    line_time=assumed(160, "128-bit bus"),
    latency=assumed(370, "gcc config/alpha/alpha.cc: what it takes for usual memory"),
)

USUAL = {"ev4": EV4_BOARD, "ev45": EV4_BOARD, "ev5": PC164, "ev56": PC164, "pca56": PC164}
"""The machine that a chip is timed in when nothing is said; `UP1000` for the others."""

SYSTEMS = {system.name: system for system in (UP1000, CS20, PC164, EV4_BOARD)}
