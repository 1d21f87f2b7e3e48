"""NaT bits, deferred faults and the ALAT, on small programs that GNU as assembles."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from targets.ia64.machine.alat import DropAll, KeepAll, Policy, Seeded
from targets.ia64.machine.calling import RETURN, prepare
from targets.ia64.machine.faults import NatConsumption
from targets.ia64.registers import GR
from tests.targets.ia64.machine.ia64_built import CODE, DATA, STACK, built, result

SPECULATE = """
        ld8.s r14=[r32]
        ld8.s r15=[r33] ;;
        add r8=r14,r15 ;;
        chk.s r8,recover
back:   br.ret.sptk b0 ;;
recover:
        cmp.eq p6,p7=r0,r0
        tnat.nz p8,p9=r14
        tnat.nz p10,p11=r15 ;;
        mov r8=100
(p8)    adds r9=1,r0
(p9)    mov r9=r0
(p10)   adds r10=2,r0
(p11)   mov r10=r0 ;;
        add r8=r8,r9 ;;
        add r8=r8,r10
        br.cond.sptk back ;;
"""


@pytest.mark.parametrize("bad", [*itertools.product((False, True), repeat=2)])
def test_a_deferred_fault_shows_at_the_check(tmp_path: Path, bad: tuple[bool, bool]) -> None:
    processor = built(tmp_path, SPECULATE)
    processor.state.memory.write(DATA, (7).to_bytes(8, "little") * 2)
    first = 0x10 if bad[0] else DATA
    second = DATA + 12 if bad[1] else DATA + 8  # misaligned
    expected = 14 if not any(bad) else 100 + bad[0] + 2 * bad[1]
    assert result(processor, first, second) == expected


CONSUMERS = (
    *("ld8 r8=[r14]", "st8 [r14]=r0", "st8 [r32]=r14", "mov b6=r14", "mov ar.lc=r14"),
    *("mov pr=r14,-1", "cmpxchg8.acq r8=[r14],r0,ar.ccv", "st8.spill [r14]=r0"),
)


@pytest.mark.parametrize("text", CONSUMERS)
def test_a_nat_may_not_be_consumed(tmp_path: Path, text: str) -> None:
    processor = built(tmp_path, f"ld8.s r14=[r0] ;; {text} ;; br.ret.sptk b0 ;;")
    with pytest.raises(NatConsumption, match="r14"):
        result(processor, DATA)
    assert processor.state.pc > CODE


def test_a_nat_survives_spill_and_fill(tmp_path: Path) -> None:
    processor = built(
        tmp_path,
        """
        ld8.s r14=[r0]
        adds r15=77,r0
        adds r16=8,r32 ;;
        st8.spill [r32]=r14
        st8.spill [r16]=r15 ;;
        ld8.fill r17=[r32]
        ld8.fill r18=[r16]
        mov r9=ar.unat ;;
        tnat.z p6,p7=r17 ;;
(p7)    mov r8=r18
        br.ret.sptk b0 ;;
    """,
    )
    assert result(processor, DATA + 0x18) == 77
    assert processor.state.r[GR + 9] == 1 << 3


ADVANCED = """
        ld8.a r14=[r32] ;;
        st8 [r33]=r34 ;;
        ld8.c.nc r14=[r32] ;;
        st8 [r33]=r35
        nop.i 0 ;;
        chk.a.clr r14,recover
        mov r8=r14
        br.ret.sptk b0 ;;
recover:
        ld8 r8=[r32]
        br.ret.sptk b0 ;;
"""


@pytest.mark.parametrize("policy", [KeepAll(), DropAll(), Seeded(1), Seeded(2), Seeded(3)])
@pytest.mark.parametrize("distance", [0, 4, 8])
def test_an_advanced_load_sees_every_store(tmp_path: Path, policy: Policy, distance: int) -> None:
    """Whatever the ALAT forgets: only an overlapping store must not be missed."""
    processor = built(
        tmp_path, ADVANCED.replace("st8", "st4") if distance == 4 else ADVANCED, policy
    )
    memory = processor.state.memory
    memory.write(DATA, (5).to_bytes(8, "little"))
    found = result(processor, DATA, DATA + distance, 6, 7)
    assert found == int.from_bytes(memory.read(DATA, 8), "little")
    assert found == {0: 7, 4: 7 << 32 | 5, 8: 5}[distance]


def test_a_lost_entry_is_loaded_again(tmp_path: Path) -> None:
    """The policies do make a difference: a load behind the back of the ALAT tells them apart."""
    text = """
        ld8.a r8=[r32] ;;
        mov r9=r8 ;;
        ld8.c.clr r8=[r32] ;;
        br.ret.sptk b0 ;;
    """
    loads = {}
    for policy in (KeepAll(), DropAll()):
        processor = built(tmp_path, text, policy)
        prepare(processor, (DATA,), sp=STACK)
        steps = processor.run(CODE, RETURN)
        loads[type(policy)] = [step.access for step in steps if step.insn.name.startswith("ld8")]
    assert loads == {KeepAll: [DATA, None], DropAll: [DATA, DATA]}
