"""Alpha CPUs: names, features, and pipelines, every figure with its source; one file a chip.

Features are the AMASK bits of the Alpha Architecture Handbook v4 (BWX 0x1, FIX 0x2, CIX 0x4,
MVI 0x100) and WH64, which came with the 21264.  Names follow gcc's -mcpu.
"""

from __future__ import annotations

from targets.alpha.cpus import ev4, ev5, ev6, ev45, ev56, ev67, pca56

CPUS = {
    cpu.name: cpu for cpu in (ev4.CPU, ev45.CPU, ev5.CPU, ev56.CPU, pca56.CPU, ev6.CPU, ev67.CPU)
}

# Events that let a line's bytes be lost, with the line's size (Handbook v4, 4.11).
WRITE_HINTS = {"wh64": 64, "wh64en": 64}
