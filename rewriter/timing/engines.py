"""Which engine reads which kind of description: the one place that decides by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rewriter.core.target.cpu import Cpu, InOrder, OutOfOrder, Pipeline
from rewriter.core.target.dispatched_cpu import Dispatched
from rewriter.timing.described import NotDescribed
from rewriter.timing.dispatch.engine import DispatchedEngine
from rewriter.timing.engine import Engine
from rewriter.timing.inorder.engine import InOrderEngine
from rewriter.timing.outoforder.engine import OutOfOrderEngine

_ENGINES: Mapping[type[Pipeline], Callable[..., Engine]] = {
    InOrder: InOrderEngine,
    OutOfOrder: OutOfOrderEngine,
    Dispatched: DispatchedEngine,
}
"""By the type of a CPU's pipeline, what makes its engine from the CPU and that pipeline."""

_MADE: dict[int, tuple[Cpu, Engine]] = {}
"""Engines that were asked for, by CPU: they keep what they found out about instructions."""

_KEPT = 64


def engine_of(cpu: Cpu) -> Engine:
    """The model of a CPU.  Raises NotDescribed for one without a pipeline."""
    if id(cpu) not in _MADE:
        made = None if cpu.pipeline is None else _ENGINES.get(type(cpu.pipeline))
        if made is None:
            raise NotDescribed(f"{cpu.name} has no timing description")
        if len(_MADE) == _KEPT:
            _MADE.clear()
        _MADE[id(cpu)] = cpu, made(cpu, cpu.pipeline)
    return _MADE[id(cpu)][1]
