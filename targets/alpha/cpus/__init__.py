"""Alpha CPUs: names, features, and pipelines, every figure with its source; one file a chip.

Features are the AMASK bits of the Alpha Architecture Handbook v4 (BWX 0x1, FIX 0x2, CIX 0x4,
MVI 0x100) and WH64, which came with the 21264.  Names follow gcc's -mcpu.

ev4       The 21064: two instructions of an aligned pair a cycle, in order
ev45      The 21064A: a 21064 with larger caches and two bits of branch history
ev5       The 21164: up to four instructions of an aligned block a cycle, in order
ev56      The 21164A: a 21164 with byte and word instructions
ev6       The 21264: four instructions a cycle from aligned blocks, renamed, issued out of order
ev67      The 21264A: a 21264 with count instructions; the pipeline is the same
pca56     The 21164PC: a 21164A with multimedia instructions and no second-level cache on the chip
slotting  Which half of the 21264's integer unit each instruction of a fetch block goes to
sources   Where the figures come from, and the short ways to write them down
traits    What timing asks of an Alpha instruction, read off its row of the table
"""

from __future__ import annotations

from targets.alpha.cpus import ev4, ev5, ev6, ev45, ev56, ev67, pca56

CPUS = {
    cpu.name: cpu for cpu in (ev4.CPU, ev45.CPU, ev5.CPU, ev56.CPU, pca56.CPU, ev6.CPU, ev67.CPU)
}

# Events that let a line's bytes be lost, with the line's size (Handbook v4, 4.11).
WRITE_HINTS = {"wh64": 64, "wh64en": 64}
