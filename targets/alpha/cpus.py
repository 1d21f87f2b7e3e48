"""Alpha CPUs: names, features, and the figures that passes use, each with its source.

Features are the AMASK bits of the Alpha Architecture Handbook v4 (BWX 0x1, FIX 0x2, CIX 0x4,
MVI 0x100) and WH64, which came with the 21264.  Names follow gcc's -mcpu.
"""

from __future__ import annotations

from rewriter.core.cpu import Cpu, Figure

_EV5_FETCH = Figure(16, "21164PC Hardware Reference Manual 2-4: aligned INT16 issue group")
_EV6_FETCH = Figure(16, "21264 Hardware Reference Manual 2-14: aligned 4-instruction fetch block")
_EV4_FETCH = Figure(8, "21064: aligned pair; a parameter, not confirmed")

_BWX = frozenset({"BWX"})
_EV6 = _BWX | {"FIX", "MVI", "WH64"}

CPUS = {
    cpu.name: cpu
    for cpu in (
        Cpu("ev4", "21064", frozenset(), _EV4_FETCH),
        Cpu("ev45", "21064A", frozenset(), _EV4_FETCH),
        Cpu("ev5", "21164", frozenset(), _EV5_FETCH),
        Cpu("ev56", "21164A", _BWX, _EV5_FETCH),
        Cpu("pca56", "21164PC", _BWX | {"MVI"}, _EV5_FETCH),
        Cpu("ev6", "21264", _EV6, _EV6_FETCH),
        Cpu("ev67", "21264A", _EV6 | {"CIX"}, _EV6_FETCH),
    )
}
