"""IA-64 CPUs: every figure with its source, one file a chip.

classes   The Itanium 2's scheduling classes: which ports take them, and when their results are
          there
itanium2  The Itanium 2 (McKinley, Madison): two bundles a cycle, in order
pairs     The Itanium 2's tables of pairs: register stack engine, system instructions, processor
          state
sources   Where the figures come from, and the short ways to write them down
traits    What timing asks of an IA-64 instruction, read off its row of the table
"""

from __future__ import annotations

from targets.ia64.cpus import itanium2

CPUS = {cpu.name: cpu for cpu in (itanium2.CPU, itanium2.MADISON)}
