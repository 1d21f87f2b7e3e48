"""Two CPUs of the toy, in order, an instruction a cycle: the second can extend a sign."""

from __future__ import annotations

from functools import cache

from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import (
    Cache,
    Counters,
    Cpu,
    Figure,
    InOrder,
    Sched,
    System,
    Traits,
    figures_of,
)
from tests.support.toy.isa import TABLE


def _made_up(value: int) -> Figure:
    return Figure(value, "made up for tests")


_CACHE = Cache(_made_up(4096), _made_up(32), _made_up(1), _made_up(2))
_PIPELINE = InOrder(
    width=_made_up(1),
    classes={
        "integer": Sched(("one",), _made_up(1)),
        "load": Sched(("one",), _made_up(2)),
        "store": Sched(("one",), _made_up(1)),
        "branch": Sched(("one",), _made_up(1)),
    },
    bypasses=(),
    exclusions=(),
    after_store={},
    barred=(),
    waiting=frozenset(),
    predictor=Counters(_made_up(64), _made_up(2)),
    return_stack=_made_up(1),
    ahead=_made_up(0),
    taken=_made_up(1),
    mispredicted=_made_up(2),
    icache=_CACHE,
    dcache=_CACHE,
    inner=(),
    misses=_made_up(1),
    write_buffer=_made_up(1),
)


@cache
def _traits(insn: Insn) -> Traits:
    effects = TABLE.effects(insn.op)
    named = [(int(insn.operands[n]), insn.op.format.operands[n].name) for n in effects.reads]
    reads = [*named, *((register, "") for register in sorted(effects.fixed_reads))]
    writes = (*(int(insn.operands[n]) for n in effects.writes), *sorted(effects.fixed_writes))
    roles = tuple(name for _, name in reads)
    return Traits(insn.op.sched, insn.op.flow, tuple(r for r, _ in reads), roles, writes)


def _cpu(name: str, description: str, *features: str) -> Cpu:
    figures = dict(figures_of(_PIPELINE))
    return Cpu(name, description, frozenset(features), _made_up(16), figures, _PIPELINE, _traits)


CPUS = {
    "toy1": _cpu("toy1", "without sign extension"),
    "toy2": _cpu("toy2", "with it", "BWX"),
}
_BOARD = Cache(_made_up(1 << 20), _made_up(32), _made_up(1), _made_up(10))
BOARD = System("board", "none was built", _made_up(100), _BOARD, _made_up(50), _made_up(100))
