"""Timing models: they read a CPU's description and a trace of executed steps."""

from __future__ import annotations

from rewriter.timing.model import simulate
from rewriter.timing.outoforder.places import NotDescribed
from rewriter.timing.result import Moment, Result

__all__ = ["Moment", "NotDescribed", "Result", "simulate"]
