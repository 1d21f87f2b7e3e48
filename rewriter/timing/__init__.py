"""Timing models: they read a CPU's description and a trace of executed steps.

The doors are `model.simulate` for a trace, and `engines.engine_of` for whatever else is asked of a
CPU's model.

caches       Caches, translation buffers, misses in flight, and the bus behind them
causes       What a cycle may have gone to: the rows of a breakdown
described    What a CPU's description says of an instruction, or that it says nothing
engine       What the model of a CPU is asked, whatever kind of pipeline it has
engines      Which engine reads which kind of description: the one place that decides by kind
model        One call: a trace, a CPU, a machine around it; cycles and where they went
path         The critical path: each event has one that it waited for, and the cause of the time
             between
predictors   Branch predictors
result       What a simulation says: cycles, where they went, and when each instruction did what
saved        What one version of a piece of code saves over another on a CPU's model
static       What is asked of a CPU without a trace: its width, and the slots of a fetch block
steady       How many cycles a pass of a loop takes once it runs, when nothing misses
steady_node  An instruction as a steady state sees it
straight     Code timed without a run: each straight stretch by itself, as if every access hit the
             cache
bundled/     Pipelines of code that says what issues together
dispatch/    Pipelines that dispatch groups in order, issue what is ready, and complete in order
inorder/     Pipelines that issue in program order
outoforder/  Pipelines that issue what is ready, and retire in program order
"""

from __future__ import annotations

from rewriter.timing.described import NotDescribed
from rewriter.timing.model import simulate
from rewriter.timing.result import Moment, Result

__all__ = ["Moment", "NotDescribed", "Result", "simulate"]
