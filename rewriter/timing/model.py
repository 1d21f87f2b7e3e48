"""One call: a trace, a CPU, a machine around it; cycles and where they went."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import Cpu, System
from rewriter.timing.engine import Chip
from rewriter.timing.engines import engine_of
from rewriter.timing.result import Result
from rewriter.timing.static import width

_LEARNING = 16  # passes: the longest branch history has ten bits, and then a counter must move


def chip(cpu: Cpu, system: System, text: Mapping[int, Insn]) -> Chip:
    """A chip just switched on: empty caches, predictors that have seen nothing.

    Raises NotDescribed for a CPU without a pipeline.
    """
    return engine_of(cpu).chip(system, text)


def least(steps: Sequence[Step], cpu: Cpu) -> int:
    """Cycles below which no run of a trace is: its instructions but transfers of control, which
    some chips fold away, as many a cycle as may start.  Raises NotDescribed."""
    return -(-sum(step.insn.op.flow is Flow.NEXT for step in steps) // width(cpu))


def simulate(
    steps: Iterable[Step],
    cpu: Cpu,
    system: System,
    warm: bool = True,
    text: Mapping[int, Insn] | None = None,
) -> Result:
    """The time of a trace.

    Warm means that the same trace was run again and again: caches, translation buffers and
    predictors know it.  Otherwise they have seen nothing of it.  `text` gives instructions by
    address that were not executed but stand in the same fetch blocks.  Raises NotDescribed.
    """
    trace = list(steps)
    known = {**(text or {}), **{step.address: step.insn for step in trace}}
    made = partial(chip, cpu, system, known)
    return (_warm(made, trace) if warm else made()).run(trace)


def _warm(made: Callable[[], Chip], trace: Sequence[Step]) -> Chip:
    """A chip that ran a trace until nothing more is learnt: branches need more passes than all
    else, which has seen the trace when it ran once with branches foreseen."""
    one = _foreseeing(made(), trace)
    if one.learn(trace):
        return one
    one = _foreseeing(made(), trace)
    one.run(trace)
    return one


def _foreseeing(one: Chip, trace: Sequence[Step]) -> Chip:
    """A chip that foresees a trace's branches as well as it can."""
    transfers = [step for step in trace if step.insn.op.flow is not Flow.NEXT]
    if transfers and transfers[0] is not trace[-1]:
        one.foresee(transfers, _LEARNING)
    return one
