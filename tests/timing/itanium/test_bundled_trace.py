"""Traces on the Itanium 2: caches, banks, branches, fetch and rotating registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn
from rewriter.timing.bundled.result import Timing
from rewriter.timing.bundled.trace import trace
from targets.ia64.cpus import CPUS
from tests.timing.itanium.ia64_bundles import assembled

CPU = CPUS["itanium2"]
GRALL, BRU = "BE_EXE_BUBBLE.GRALL", "BE_FLUSH_BUBBLE.BRU"
FORWARDED = "BE_L1D_FPU_BUBBLE.L1D_STBUFRECIR"
NOPS = "{.mmi; nop 0; nop 0; nop 0 ;;}\n"
QUEUE = "BE_L1D_FPU_BUBBLE.L1D_L2BPRESS"


@dataclass(frozen=True)
class Done:
    """A slot as it was executed."""

    address: int
    insn: Insn
    stop: bool
    on: bool = True
    access: int | None = None
    size: int = 8
    target: int | None = None


Runner = Callable[..., Timing]


@pytest.fixture
def straight(tmp_path: Path) -> Runner:
    """Runs text whose accesses, in order, are at the addresses given."""

    def run(text: str, *addresses: int, warm: bool = True) -> Timing:
        places = iter(addresses)
        steps = [
            Done(slot.address, slot.insn, slot.stop, access=_place(slot.insn, places))
            for slot in assembled(text, tmp_path)
        ]
        return trace(CPU, steps, warm)

    return run


def _place(insn: Insn, places: Iterator[int]) -> int | None:
    return next(places) if insn.name.startswith(("ld", "st", "lfetch")) else None


def test_levels_of_the_cache(straight: Runner) -> None:
    """L1D takes 1 cycle, L2 5, L3 12; an address one more; floating point comes from L2."""
    use = "ld8 r8=[r9] ;; add r10=r8,r8 ;;"
    assert straight(use, 0x10000).cycles == 2
    # Sixteen KB later, in the same set of four ways, five lines push the first out of L1D.
    text = "ld8 r8=[r9] ;;" * 4 + use
    places = [0x10000 + 0x4000 * n for n in range(5)]
    assert straight(text, *places).bubbles[GRALL] == 4
    # A megabyte of lines in one set of L2 (8 ways of 32 KB) pushes it out of there too.
    text = "ld8 r8=[r9] ;;" * 8 + use
    places = [0x10000 + 0x8000 * n for n in range(9)]
    assert straight(text, *places).bubbles[GRALL] == 11
    assert straight("ldf8 f8=[r9] ;; fma.d f9=f8,f8,f8 ;;", 0x10000).cycles == 7


def test_memory_is_a_parameter(straight: Runner) -> None:
    """Cold, a load waits for as long as the description says."""
    use = "ld8 r8=[r9] ;; add r10=r8,r8 ;;"
    memory = CPU.issue.memory.memory.value
    assert straight(use, 0x10000, warm=False).bubbles[GRALL] == memory - 1
    # The same line again is there when the first is, and a prefetch comes in time.
    twice = "ld8 r8=[r9] ;; ld8 r10=[r11] ;; add r12=r8,r10 ;;"
    assert straight(twice, 0x10000, 0x10008, warm=False).bubbles[GRALL] == memory - 2
    early = "lfetch [r9] ;;" + NOPS * memory + use
    assert straight(early, 0x10000, 0x10000, warm=False).stalled == 0


def test_a_bank_serves_one_access_a_cycle(straight: Runner) -> None:
    """A floating-point load of 6 cycles takes 12 when another has its bank (16 of 16 bytes)."""
    pair = "{.mmf; ldf8 f8=[r8]; ldf8 f9=[r9]; nop 0 ;;}\nfma.d f10=f8,f9,f0 ;;"
    assert straight(pair, 0x10000, 0x10010).cycles == 7
    assert straight(pair, 0x10000, 0x10100).cycles == 13
    assert straight(pair, 0x10000, 0x10008).cycles == 13


def test_a_load_behind_a_store_to_the_same_place(straight: Runner) -> None:
    """About 17 cycles from the store."""
    text = "st8 [r8]=r9 ;; ld8 r10=[r11] ;;"
    assert straight(text, 0x10000, 0x10000).bubbles == {FORWARDED: 16}
    assert straight(text, 0x10000, 0x10007).bubbles == {FORWARDED: 16}
    assert straight(text, 0x10000, 0x10008).stalled == 0
    assert straight("st8 [r8]=r9 ;; ldf8 f8=[r11] ;;", 0x10000, 0x10000).stalled == 0


def test_sixteen_misses_at_once(straight: Runner) -> None:
    """The seventeenth waits for the first."""
    loads = "ld8 r8=[r9] ;;"
    places = [0x100000 + 128 * n for n in range(17)]
    assert straight(loads * 16, *places[:16], warm=False).stalled == 0
    waited = straight(loads * 17, *places, warm=False).bubbles[QUEUE]
    assert waited == CPU.issue.memory.memory.value - 16


def _steps(slots: Sequence[Slot], target: int | None = None) -> list[Done]:
    """Slots passed in order; the last is a branch that is taken if there is a target."""
    steps = [Done(slot.address, slot.insn, slot.stop) for slot in slots]
    return [*steps[:-1], replace(steps[-1], target=target)]


@pytest.mark.parametrize(("turns", "bubbles"), [(3, 0), (100, 6)])
def test_a_loop_turns_once_a_cycle(turns: int, bubbles: int, tmp_path: Path) -> None:
    """A taken branch that was foretold costs nothing; the end of a long loop is not foretold."""
    loop = assembled("{.mib; add r8=r8,r9; nop 0; br.cloop.sptk.few base ;;}", tmp_path)
    behind = _steps(assembled(NOPS, tmp_path))
    steps = _steps(loop, loop[0].address) * (turns - 1) + _steps(loop) + behind
    timing = trace(CPU, steps)
    assert (timing.groups, timing.stalled) == (turns + 1, bubbles)


def test_a_wrong_prediction(tmp_path: Path) -> None:
    """Seen for the first time, against its hint, a branch costs what the description says."""
    loop = assembled("{.mib; nop 0; nop 0; (p6) br.cond.spnt.few base ;;}", tmp_path)
    steps = _steps(loop, loop[0].address) + _steps(loop)
    assert trace(CPU, steps, warm=False).bubbles == {BRU: 6}
    assert trace(CPU, steps).stalled == 0


@pytest.mark.parametrize(("lead", "cycles"), [(0, 20), (1, 40)])
def test_a_target_in_the_second_half_of_a_block(lead: int, cycles: int, tmp_path: Path) -> None:
    """Fetch takes aligned pairs: two bundles that straddle them take two cycles to come."""
    pair = f"{{.mmi; nop 0; nop 0; nop 0 }} {{.mib; nop 0; nop 0; br.few base+{16 * lead} ;;}}"
    loop = assembled(NOPS * lead + pair, tmp_path)[3 * lead :]
    assert trace(CPU, _steps(loop, loop[0].address) * 20).cycles == cycles


@pytest.mark.parametrize(("between", "bubbles"), [(6, 0), (5, 6)])
def test_a_branch_to_a_register(between: int, bubbles: int, tmp_path: Path) -> None:
    """Seven cycles after `mov b=` its target is known."""
    text = "{.mii; nop 0; mov b6=r8; nop 0 ;;}" + NOPS * between
    slots = assembled(text + "{.mfb; nop 0; nop 0; br.few b6 ;;}", tmp_path)
    steps = _steps(slots, slots[3].address) + _steps(slots[3:6])
    assert trace(CPU, steps).stalled == bubbles


def test_calls_and_returns(tmp_path: Path) -> None:
    """A return goes where the call was, or to where nobody expected it; the outermost is known."""
    text = """{.mib; nop 0; nop 0; br.call.sptk.few b0=base+32 ;;}
        {.mmi; nop 0; nop 0; nop 0 ;;}
        {.mib; nop 0; nop 0; br.ret.sptk.few b0 ;;}"""
    slots = assembled(text, tmp_path)
    call = _steps(slots[:3], slots[6].address)
    for target, stalled in ((slots[3].address, 0), (slots[6].address, 6)):
        steps = [*call, *_steps(slots[6:], target), *_steps(slots[3:6])]
        assert trace(CPU, steps).stalled == stalled
    assert trace(CPU, [*_steps(slots[6:], slots[3].address), *_steps(slots[3:6])]).stalled == 0


@pytest.mark.parametrize(("register", "cycle"), [("r33", 14), ("r34", 13), ("r35", 3)])
def test_rotating_registers(register: str, cycle: int, tmp_path: Path) -> None:
    """What was loaded in the second of two turns, in the first, and in neither."""
    text = f"""{{.mmi; alloc r2=ar.pfs,8,8,0,8; nop 0; nop 0 ;;}}
        {{.mib; mov r32=ar.k6; nop 0; br.ctop.sptk.few base+16 ;;}}
        {{.mmi; add r8={register},r0; nop 0; nop 0 ;;}}"""
    slots = assembled(text, tmp_path)
    steps = _steps(slots[:6], slots[3].address) + _steps(slots[3:])
    assert trace(CPU, steps).timeline[-1].cycle == cycle


def test_what_is_predicated_off_waits_for_its_predicate_only(tmp_path: Path) -> None:
    """It neither waits for its sources nor holds up who reads its result."""
    bundle = "{{.mmi; {}; nop 0; nop 0 ;;}}\n"
    lines = ("mov r8=ar.k6", "(p6) add r9=r8,r8", "add r10=r9,r9")
    steps = _steps(assembled("".join(map(bundle.format, lines)), tmp_path))
    assert trace(CPU, steps).cycles == 14
    steps[3] = replace(steps[3], on=False)
    assert trace(CPU, steps).cycles == 3
