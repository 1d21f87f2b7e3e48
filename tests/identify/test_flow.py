"""Where control goes after conditional returns, jumps and calls, on made-up instructions."""

from __future__ import annotations

import numpy as np
import pytest

from rewriter.analysis import flow, liveness
from rewriter.analysis.edges import CALL, RETURN, WITHIN, Convention
from rewriter.analysis.functions import with_called
from rewriter.core.code.listing import decode_words
from rewriter.core.code.program import Function, JumpTable
from rewriter.core.isa.instruction import AWAY, BRANCHING, CALLS, COMING_BACK, FALLING, Flow
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.protocol import References
from targets.alpha import abi
from targets.alpha.assembler import assemble
from targets.alpha.registers import RA, V0
from tests.support.made_flows import COUNTER, MADE, Made, insn, made

TARGET = Made()
CONVENTION = Convention(
    TARGET.live_after,
    TARGET.passed,
    TARGET.returned,
    TARGET.results,
    TARGET.standard_return,
    abi.ALL,
)
A0, A1, T5 = 16, 17, 6


def _graph(text: str, *tables: JumpTable, starts: tuple[int, ...] = (0,)) -> flow.Graph:
    """Of code at address 0, and the functions that start at some addresses."""
    words = np.frombuffer(assemble(text.replace(";", "\n")).code, "<u4")
    listing = decode_words(MADE, [(0, words)])
    ends = [*starts[1:], 4 * len(words)]
    functions = [Function(s, e, f"f{s:x}", "made") for s, e in zip(starts, ends, strict=True)]
    references = References(tables, frozenset(), {}, frozenset(), {})
    return flow.build(listing, functions, references, (), CONVENTION)


def _edges(graph: flow.Graph, address: int) -> set[tuple[int, int]]:
    """(kind, address) of the edges from a block; -1 - n is the return of function n."""
    block, blocks = graph.block_holding(address), len(graph.first)
    places = graph.listing.addresses[graph.first].tolist()
    chosen = graph.source == block
    pairs = zip(graph.kind[chosen].tolist(), graph.target[chosen].tolist(), strict=True)
    return {(kind, places[to] if to < blocks else blocks - to - 1) for kind, to in pairs}


def test_a_conditional_return_has_both_ways() -> None:
    graph = _graph(f"{made('ret_if', A0, RA, 1)}; mov a1,v0; ret")
    assert _edges(graph, 0) == {(WITHIN, 4), (RETURN, -1)}
    assert _edges(graph, 4) == {(RETURN, -1)}
    assert graph.continues[graph.block_at(4)]
    live = liveness.solve(graph)
    before = live.into(graph.block_at(0))
    # What is returned at once, and what is read where control goes on.
    assert before >> V0 & 1 and before >> A1 & 1 and before >> A0 & 1
    assert not live.into(graph.block_at(4)) >> V0 & 1  # written there first


def test_a_return_that_is_always_taken_has_one() -> None:
    graph = _graph("ret; mov a1,v0; ret")
    assert _edges(graph, 0) == {(RETURN, -1)}
    assert not liveness.solve(graph).into(graph.block_at(0)) >> A1 & 1


def test_what_a_conditional_return_passes_is_for_callers_too() -> None:
    """The caller reads what it finds in v0, which is set on both ways out of the callee."""
    code = "lda sp,-16(sp); bsr ra,16; addq v0,t5,v0; ret; mov a0,v0; "
    graph = _graph(f"{code} {made('ret_if', A0, RA, 1)}; mov a1,v0; ret", starts=(0, 16))
    at = int(graph.listing.addresses[-3])
    assert _edges(graph, at) == {(WITHIN, at + 4), (RETURN, -2)}
    live = liveness.solve(graph)
    assert live.into(graph.block_holding(at)) >> A1 & 1
    assert live.out_of(graph.block_holding(at)) >> V0 & 1


def test_a_conditional_jump_by_a_table_goes_on_too() -> None:
    table = JumpTable(0, 0x1000, 4, 0, (8, 12), exact=True)
    graph = _graph(f"{made('jmp_if', A0, 27, 0)}; ret; clr v0; ret", table)
    assert _edges(graph, 0) == {(WITHIN, 4), (WITHIN, 8), (WITHIN, 12)}


def test_a_conditional_jump_that_is_not_known_may_go_anywhere_and_on() -> None:
    graph = _graph(f"{made('jmp_if', A0, 4, 0)}; mov t5,v0; ret")
    assert _edges(graph, 0) == {(WITHIN, 4)}
    assert liveness.solve(graph).out_of(graph.block_at(0)) == abi.ALL


@pytest.mark.parametrize("name", ["bsr_if", "loop_call"])
def test_a_conditional_call_enters_and_goes_on(name: str) -> None:
    graph = _graph(f"{made(name, A0, 8)}; mov t5,v0; ret; mov a1,v0; ret", starts=(0, 12))
    assert _edges(graph, 0) == {(WITHIN, 4), (CALL, 12)}
    returned = graph.target[(graph.source == len(graph.first) + 1)]
    assert graph.block_at(4) in returned.tolist()
    before = liveness.solve(graph).into(graph.block_at(0))
    assert before >> A1 & 1  # the callee reads it
    assert before >> T5 & 1  # what comes behind the call does
    assert not graph.continues[graph.block_at(4)]  # control comes from the callee, too


def test_a_callee_of_a_conditional_call_is_a_function() -> None:
    graph = _graph(f"{made('bsr_if', A0, 8)}; clr v0; ret; clr v0; ret")
    found = with_called([Function(0, 12, "f", "made")], graph.listing)
    assert [(f.start, f.source) for f in found] == [(0, "made"), (12, "call")]


def test_taking_an_address_is_no_call() -> None:
    graph = _graph(f"mov ra,t0; {made('here')}; mov ra,v0; ret (t0)")
    assert _edges(graph, 4) == {(WITHIN, 8)}
    assert not graph.entered[graph.block_at(8)]
    assert not graph.continues[graph.block_at(8)]  # straight code ends there


def test_the_link_register_is_the_one_that_gets_the_next_address() -> None:
    """Not the lowest that a call writes: a call that counts writes its counter, too."""
    call = insn("loop_call", A0, 8)
    assert MADE.defs(call) == register_mask((COUNTER, RA))
    assert MADE.link(call) == RA
    assert MADE.link(insn("here")) == MADE.link(insn("jsr_if", A0, 27, 1)) == RA
    assert MADE.link(insn("ret_if", A0, RA, 1)) is None
    for name, operands, link in (
        ("br", (31, 0), None),
        ("bsr", (23, 0), 23),
        ("jsr", (26, 27, 0), 26),
    ):
        op = MADE.find(name)
        assert MADE.link(type(call)(op, operands)) == link


def test_every_flow_goes_on_in_one_way() -> None:
    """What falls through, what comes back and what goes away share no flow and are all flows."""
    certain = FALLING - CALLS
    assert certain | COMING_BACK | AWAY == frozenset(Flow)
    assert not certain & COMING_BACK and not certain & AWAY and not COMING_BACK & AWAY
    assert {Flow.BRANCH, Flow.JUMP} == BRANCHING
    assert {Flow.JUMP, Flow.INDIRECT, Flow.RETURN, Flow.STOP} == AWAY


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("jsr t9,(pv); ldq ra,0(sp); ret", False),
        ("jsr t9,(pv); ret", True),  # the routine leaves it as it is
        ("jsr t9,(t5); ldq ra,0(sp); ret", True),
        ("jsr at,(pv); ldq ra,0(sp); ret", True),  # a profile's counter asks who called
    ],
)
def test_a_division_routine_reads_no_standard_return_address(text: str, read: bool) -> None:
    graph = _graph(text)
    live = liveness.solve(graph).into(0)
    assert bool(live >> RA & 1) == read
    assert live >> A1 & 1  # it may be given anything else
