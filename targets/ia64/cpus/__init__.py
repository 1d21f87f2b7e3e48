"""IA-64 CPUs: every figure with its source, one file a chip."""

from __future__ import annotations

from targets.ia64.cpus import itanium2

CPUS = {cpu.name: cpu for cpu in (itanium2.CPU, itanium2.MADISON)}
