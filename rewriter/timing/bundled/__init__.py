"""Pipelines of code that says what issues together.

The doors are `run` and `trace`.

dispersal   Dispersal: which slots issue in one cycle, and through which ports
front_end   The front end of a pipeline of bundles: fetch into a buffer, and what branches do to it
latencies   What must lie between two instructions on a CPU that issues bundles, and where they may
            go
memory      Caches behind a pipeline of bundles: how much later than usual a load's value comes
result      What a run over bundles says: cycles, bubbles by counter, when each slot issued
rotation    Which register is behind a name where registers rotate
run         Cycles of straight code, run once, everything in the first-level cache
scoreboard  Who waits for whom: results not there yet, and pairs that must keep a distance
trace       Cycles of a trace of bundles: loops, caches, branches
"""
