"""The 21264C: a 21264A in a smaller process; its instructions and its pipeline are the same."""

from __future__ import annotations

from dataclasses import replace

from targets.alpha.cpus import ev67

CPU = replace(ev67.CPU, name="ev68", description="21264C")
