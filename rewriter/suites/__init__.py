"""Suites of routines that articles measured.

article    Gorton's article "Kernel Tuning Gives 40% Gains" (2001) as a suite: its routines, a mix
           of calls
called     Functions of a file called on numbers, as the calling standard has it, and timed by a
           model
itanium    Chapman and Heiser's "Itanium tricks and gotchas" (2004) as a suite: one path, step by
           step
mackerras  Mackerras' talk "Low-Level Optimizations in the PowerPC/Linux Kernels" as a suite
measure    Modelled cycles of a routine on a case of its contract
run        Runs the article's jobs: the routines of a file against the tuned ones of its target
weighed    What a routine's calls take of system time, and what is left of it where they are retuned
"""
