"""PowerPC CPUs: names, features, and pipelines, every figure with its source; one file a chip.

Names follow gcc's -mcpu.  The door is `CPUS`.

classes    Scheduling classes, as rows of the table name them and timing tells them apart
power4     POWER4: groups of four instructions and a branch, one a cycle, to eight units
power7     POWER7: groups of four instructions and two branches, one a cycle, to twelve units
power8     POWER8: groups of six instructions and a branch, one a cycle, to sixteen units
power9     POWER9: six instructions and two branches a cycle, in order, to four slices of units
power10    POWER10: eight instructions a cycle, in order, to four units, two for loads, two for
           stores
ppc603e    The 603e: two instructions a cycle in order to five units, branches folded, no history
ppc750     The 750: two instructions a cycle in order to six units, branches folded
ppc7400    The 7400: a 750 with AltiVec and more misses under way
ppc7450    The 7450: three instructions a cycle in order to queues of eleven units
ppc970     The 970: a POWER4 core with AltiVec and a cache of its own behind it
sources    Where the figures come from, and the short ways to write them down
traits     What timing asks of a PowerPC instruction, read off its row of the table
"""

from __future__ import annotations

from targets.ppc.cpus import (
    power4,
    power7,
    power8,
    power9,
    power10,
    ppc603e,
    ppc750,
    ppc970,
    ppc7400,
    ppc7450,
)

CPUS = {
    cpu.name: cpu
    for cpu in (
        *(ppc603e.CPU, ppc750.CPU, ppc7400.CPU, ppc7450.CPU, power4.CPU, ppc970.CPU),
        *(power7.CPU, power8.CPU, power9.CPU, power10.CPU),
    )
}
