"""Timing models: they read a CPU's description and a trace of executed steps.

caches       Caches, translation buffers, misses in flight, and the bus behind them
causes       What a cycle may have gone to: the rows of a breakdown
model        One call: a trace, a CPU, a machine around it; cycles and where they went
predictors   Branch predictors
result       What a simulation says: cycles, where they went, and when each instruction did what
saved        What one version of a piece of code saves over another on a CPU's model
static       What a scheduler asks without a trace: latencies, pipes, width, slots
steady       How many cycles a pass of a loop takes once it runs, when nothing misses
steady_node  An instruction as a steady state sees it
straight     Code timed without a run: each straight stretch by itself, as if every access hit the
             cache
bundled/     Pipelines of code that says what issues together
inorder/     Pipelines that issue in program order
outoforder/  Pipelines that issue what is ready, and retire in program order
"""

from __future__ import annotations

from rewriter.timing.model import simulate
from rewriter.timing.outoforder.places import NotDescribed
from rewriter.timing.result import Moment, Result

__all__ = ["Moment", "NotDescribed", "Result", "simulate"]
