"""The register stack and rotation, on small programs that GNU as assembles."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.core.readings.interpret import AccessFault, Unspecified
from targets.ia64.machine.calling import RETURN, prepare
from targets.ia64.machine.faults import IllegalOperation
from targets.ia64.registers import GR, NUMBERS, PR
from tests.targets.ia64.machine.ia64_built import BACKING, CODE, DATA, STACK, built, result

SIZES = st.integers(0, 127)


def frame_marker(sof: int, sol: int) -> int:
    """The bits of a frame without rotating registers."""
    return sof | sol << 7


# Ackermann's function: deep calls, every frame with locals that are wanted after its calls.
ACKERMANN = """
start:  alloc r34=ar.pfs,2,3,2,0
        mov r35=b0
        cmp.eq p6,p7=0,r32
        cmp.eq p8,p9=0,r33
        nop.i 0 ;;
(p6)    adds r8=1,r33
(p6)    br.ret.sptk b0
        adds r36=-1,r32
(p8)    br.cond.sptk last ;;
        mov r37=r32
        adds r38=-1,r33
        br.call.sptk b0=start ;;
        mov r38=r8
        br.cond.sptk both ;;
last:   mov r38=1 ;;
both:   mov r37=r36
        br.call.sptk b0=start ;;
        mov ar.pfs=r34
        mov b0=r35
        br.ret.sptk b0 ;;
"""


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


@pytest.mark.parametrize(
    ("m", "n", "deep"), [(0, 5, False), (2, 3, False), (2, 30, True), (3, 3, True)]
)
def test_deep_calls_go_through_the_backing_store(
    tmp_path: Path, m: int, n: int, deep: bool
) -> None:
    """More registers than the 96 of the processor: some are in memory when they are wanted."""
    processor = built(tmp_path, ACKERMANN)
    assert result(processor, m, n) == ackermann(m, n)
    assert processor.state.r[NUMBERS["ar.bsp"]] == BACKING
    assert any(processor.state.memory.read(BACKING, 0x1000)) == deep


def test_calls_without_end_leave_the_backing_store(tmp_path: Path) -> None:
    processor = built(tmp_path, "start: alloc r32=ar.pfs,0,50,0,0 ;; br.call.sptk b0=start ;;")
    with pytest.raises(AccessFault) as caught:
        result(processor)
    assert (caught.value.address, caught.value.write) == (BACKING + 0x10000, True)


def test_flushed_registers_are_where_the_manual_says(tmp_path: Path) -> None:
    """After 63 registers comes a word of their NaT bits."""
    locals_ = "\n".join(f"adds r{n}={n},r0" for n in range(33, 33 + 92))
    processor = built(
        tmp_path,
        f"""
        alloc r32=ar.pfs,0,93,0,0 ;;
        {locals_} ;;
        ld8.s r40=[r0] ;;
        br.call.sptk b6=inner ;;
        break.i 0 ;;
inner:  flushrs ;;
        mov r8=ar.bspstore
        mov r9=ar.bsp ;;
        br.ret.sptk b0 ;;
    """,
    )
    prepare(processor, (), sp=STACK)
    processor.run(CODE, RETURN)
    memory = processor.state.memory
    words = [int.from_bytes(memory.read(BACKING + 8 * n, 8), "little") for n in range(94)]
    assert words[1:8] == list(range(33, 40))
    assert words[9:63] == list(range(41, 95))
    assert words[63] == 1 << 8
    assert words[64:94] == list(range(95, 125))
    assert processor.state.r[GR + 8] == processor.state.r[GR + 9] == BACKING + 8 * 94


def test_a_returned_nat_is_still_a_nat(tmp_path: Path) -> None:
    processor = built(
        tmp_path,
        """
        alloc r34=ar.pfs,0,90,0,0
        mov r35=b0 ;;
        ld8.s r40=[r0]
        adds r41=41,r0 ;;
        br.call.sptk b0=inner ;;
        tnat.nz p6,p7=r40
        mov r8=r41
        mov b0=r35
        mov ar.pfs=r34 ;;
(p7)    mov r8=r0
        br.ret.sptk b0 ;;
inner:  alloc r32=ar.pfs,0,90,0,0 ;;
        mov ar.pfs=r32 ;;
        br.ret.sptk b0 ;;
    """,
    )
    assert result(processor) == 41
    assert processor.state.memory.read(BACKING + 8 * 9, 8) == (41).to_bytes(8, "little")


COPY = """
        alloc r2=ar.pfs,3,21,0,24
        mov r9=pr
        mov r10=ar.lc ;;
        mov r14=r32
        mov r15=r33
        adds r16=-1,r34
        mov pr.rot=1<<16 ;;
        mov ar.lc=r16
        mov ar.ec=4 ;;
loop:
{ .mii
 (p16)  ld8 r35=[r15],8
        nop.i 0
        nop.i 0
}
{ .mib
 (p19)  st8 [r14]=r38,8
 (p18)  adds r37=1,r37
        br.ctop.sptk loop ;;
}
        clrrrb
        ;;
        mov ar.lc=r10
        mov pr=r9,-1
        br.ret.sptk b0 ;;
"""


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 17])
def test_a_pipelined_loop(tmp_path: Path, count: int) -> None:
    """Four stages, one value a cycle through rotating registers and stage predicates."""
    processor = built(tmp_path, COPY)
    memory = processor.state.memory
    for n in range(count + 4):
        memory.write(DATA + 8 * n, (1000 + n).to_bytes(8, "little"))
    result(processor, DATA + 0x1000, DATA, count)
    words = [
        int.from_bytes(memory.read(DATA + 0x1000 + 8 * n, 8), "little") for n in range(count + 2)
    ]
    assert words == [1001 + n for n in range(count)] + [0, 0]
    assert processor.state.frame.rrb_gr == 0


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("epilog", [1, 3])
def test_a_while_loop_counts_its_epilog(tmp_path: Path, rounds: int, epilog: int) -> None:
    """br.wtop goes on while its predicate holds, and then once for each stage but one."""
    processor = built(
        tmp_path,
        f"""
        mov ar.ec={epilog}
        mov r8=0
        adds r14={rounds},r0 ;;
loop:   adds r14=-1,r14
        adds r8=1,r8 ;;
        cmp.lt p6,p7=r0,r14
{{ .mib
        nop.m 0
        nop.i 0
 (p6)   br.wtop.sptk loop ;;
}}
        br.ret.sptk b0 ;;
    """,
    )
    assert result(processor) == rounds - 1 + epilog
    assert processor.state.r[NUMBERS["ar.ec"]] == 0


def test_predicates_move_as_one_register(tmp_path: Path) -> None:
    """mov pr= and mov =pr see rotating predicates where they are, not where they are named."""
    processor = built(
        tmp_path,
        """
        mov ar.lc=2
        mov ar.ec=0
        mov pr.rot=0 ;;
loop:
{ .mib
        nop.m 0
        nop.i 0
        br.ctop.sptk loop ;;
}
        mov r8=pr ;;
        mov pr=r8,-1 ;;
        mov r9=pr
(p16)   mov r10=1
(p17)   mov r11=1
(p18)   mov r14=1
        break.i 0 ;;
    """,
    )
    with pytest.raises(Unspecified):
        result(processor)
    state = processor.state
    found = state.r[GR + 8]
    assert state.r[GR + 9] == found
    names = [state.r[PR + n] for n in range(16, 64)]
    rotated = state.frame.rrb_pr
    assert rotated == 46
    assert [found >> 16 + (n + rotated) % 48 & 1 for n in range(48)] == names
    assert names[:3] == [1, 1, 0]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_loop_that_is_left_in_the_middle(tmp_path: Path, count: int) -> None:
    """br.cexit leaves when br.ctop would not go on; br.cloop counts without rotation."""
    processor = built(
        tmp_path,
        f"""
        mov ar.lc={count}
        mov ar.ec=2
        mov pr.rot=1<<16
        mov r8=0 ;;
loop:
(p16)   adds r8=1,r8
{{ .mib
        nop.m 0
        nop.i 0
        br.cexit.sptk out ;;
}}
        br.cond.sptk loop ;;
out:    mov ar.lc={count}
        mov r9=0 ;;
again:
{{ .mib
        adds r9=1,r9
        nop.i 0
        br.cloop.sptk again ;;
}}
        br.ret.sptk b0 ;;
    """,
    )
    assert result(processor) == count + 1
    state = processor.state
    assert [state.r[NUMBERS[name]] for name in ("r9", "ar.lc", "ar.ec")] == [count + 1, 0, 0]


def test_a_while_loop_that_is_left_in_the_middle(tmp_path: Path) -> None:
    processor = built(
        tmp_path,
        """
        mov ar.ec=2
        mov r8=0 ;;
loop:   adds r8=1,r8 ;;
        cmp.gt p6,p7=3,r8
{ .mib
        nop.m 0
        nop.i 0
(p6)    br.wexit.sptk out ;;
}
        br.cond.sptk loop ;;
out:    br.ret.sptk b0 ;;
    """,
    )
    # While the predicate holds, and once more for the epilog's two stages but one.
    assert result(processor) == 2 + 2


def test_long_branches(tmp_path: Path) -> None:
    processor = built(
        tmp_path,
        """
        alloc r33=ar.pfs,1,2,1,0
        mov r34=b0 ;;
        adds r35=1,r32
        nop.i 0 ;;
{ .mlx
        nop.m 0
        brl.call.sptk b0=twice ;;
}
        mov ar.pfs=r33
        mov b0=r34 ;;
{ .mlx
        cmp.eq p6,p7=r0,r0
        brl.cond.sptk done ;;
}
        mov r8=r0
done:   br.ret.sptk b0 ;;
twice:  shladd r8=r32,1,r0
        br.ret.sptk b0 ;;
    """,
    )
    assert result(processor, 20) == 42


@pytest.mark.parametrize("how", ["mov ar.pfs=r32 ;; br.ret.sptk b0", "mov cr.ifs=r32 ;; rfi"])
@given(marker=st.integers(0, (1 << 38) - 1) | st.builds(frame_marker, SIZES, SIZES))
@settings(max_examples=30)
def test_a_frame_to_go_back_to_is_there_or_illegal(
    how: str, marker: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever a program puts in for it (bit 63 of cr.ifs says that it counts)."""
    processor = built(tmp_path_factory.mktemp("back"), f"start: mov ar.bspstore=r33 ;; {how} ;;")
    prepare(processor, (1 << 63 | marker, BACKING + 0x4000), sp=STACK)
    sof, sol, sor = marker & 0x7F, marker >> 7 & 0x7F, 8 * (marker >> 14 & 0xF)
    if max(sol, sor) <= sof <= 96:
        processor.run(CODE, 0 if how.endswith("rfi") else RETURN)
        assert processor.state.frame.sof == sof
    else:
        with pytest.raises(IllegalOperation, match="impossible frame"):
            processor.run(CODE, RETURN)
