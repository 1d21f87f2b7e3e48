"""Faults, system instructions and the trace of the machine, on text that GNU as assembles."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault, BadInstruction, LimitReached, Unspecified
from targets.ia64.machine.calling import RETURN, prepare
from targets.ia64.machine.faults import IllegalOperation
from targets.ia64.machine.trace import Executed
from targets.ia64.registers import NUMBERS
from tests.targets.ia64.machine.ia64_built import CODE, DATA, STACK, built, result


def test_frames_are_checked(tmp_path: Path) -> None:
    with pytest.raises(IllegalOperation, match="r35 at 0x4000 is outside the frame"):
        result(built(tmp_path, "mov r35=r32 ;; br.ret.sptk b0 ;;"), 1, 2)
    with pytest.raises(IllegalOperation, match="r0 cannot be written"):
        result(built(tmp_path, "ld8 r0=[r32] ;; br.ret.sptk b0 ;;"), DATA)


def test_faults_name_the_slot_and_keep_the_state(tmp_path: Path) -> None:
    """Slots before the fault have been executed, those behind it have not."""
    text = """
{ .mmi
        adds r8=1,r0
        {access}
        adds r9=2,r0 ;;
}
        br.ret.sptk b0 ;;
    """
    for access, fault in (("ld8 r10=[r32],8", AccessFault), ("ld4 r10=[r33]", Misaligned)):
        processor = built(tmp_path, text.replace("{access}", access))
        with pytest.raises(fault):
            result(processor, 0x50, DATA + 2)
        state = processor.state
        assert state.pc == CODE + 1
        assert [state.r[n] for n in (8, 9, 10, 32)] == [1, 0, 0, 0x50]


def test_running_off_the_code_and_forever(tmp_path: Path) -> None:
    with pytest.raises(AccessFault):
        result(built(tmp_path, "nop.m 0 ;;"))
    with pytest.raises(LimitReached):
        result(built(tmp_path, "here: br.cond.sptk here ;;"), limit=10)
    processor = built(tmp_path, "nop.m 0 ;;")
    processor.state.memory.map(0x8000, b"\x06" + bytes(15))
    with pytest.raises(BadInstruction):
        processor.run(0x8000, RETURN)


def test_what_is_not_known_is_asked(tmp_path: Path) -> None:
    processor = built(tmp_path, "break.m 0x15 ;; tpa r8=r32 ;; br.ret.sptk b0 ;;")
    with pytest.raises(Unspecified, match=r"break\.m"):
        result(processor, 3)
    asked: list[int] = []

    def answer(number: int) -> int:
        asked.append(number)
        return 0

    processor.state.answers["break.m"] = answer
    processor.state.answers["tpa"] = lambda address: address + 0x1000
    assert result(processor, 3) == 0x1003
    assert asked == [0x15]


def test_the_world_sees_system_instructions_in_order(tmp_path: Path) -> None:
    processor = built(
        tmp_path,
        """
        mov rr[r32]=r33 ;;
        srlz.d ;;
        ssm 1<<13 ;;
        mov r8=psr
        mov r16=9 ;;
        bsw.1 ;;
        mov r16=5 ;;
        bsw.0 ;;
        mov r9=r16 ;;
        bsw.1 ;;
        mov r10=r16
        mov cr.iip=r33 ;;
        mf ;;
        epc ;;
        br.ret.sptk b0 ;;
    """,
    )
    assert result(processor, 5 << 61, 0x1234) == 1 << 13
    state = processor.state
    assert [event[0] for event in state.events] == [
        *("mov rr", "srlz.d", "ssm", "bsw", "bsw", "bsw", "mov cr", "mf", "epc"),
    ]
    assert state.files["rr", 5] == 0x1234
    assert [state.r[n] for n in (9, 10)] == [9, 5]


def test_the_user_mask(tmp_path: Path) -> None:
    """Its bits, with those that floating-point writes leave in mfl and mfh."""
    processor = built(
        tmp_path,
        """
        sum 1<<3 ;;
        mov r8=psr.um
        setf.sig f6=r0
        setf.sig f40=r0 ;;
        mov r9=psr.um
        rum 1<<3 ;;
        mov r10=psr.um ;;
        mov psr.um=r0 ;;
        mov r11=psr.um
        br.ret.sptk b0 ;;
    """,
    )
    assert result(processor) == 1 << 3
    assert [processor.state.r[n] for n in (9, 10, 11)] == [0b111000, 0b110000, 0]


def test_an_interruption_is_left_as_it_came(tmp_path: Path) -> None:
    """cover puts the frame away, rfi brings it back, at the slot that cr.ipsr names."""
    processor = built(
        tmp_path,
        """
        alloc r2=ar.pfs,0,2,0,0
        mov r8=5 ;;
        mov r33=77 ;;
        cover ;;
        movl r15=1<<41 ;;
here:   mov r14=ip
        mov cr.ipsr=r15 ;;
        adds r14=resume-here,r14 ;;
        mov cr.iip=r14 ;;
        rfi ;;
resume:
{ .mmi
        adds r8=100,r0
        adds r9=1,r0
        add r10=r33,r0 ;;
}
        br.ret.sptk b0 ;;
    """,
    )
    assert result(processor) == 5
    assert [processor.state.r[n] for n in (9, 10)] == [1, 77]
    assert processor.state.r[NUMBERS["cr.ifs"]] == 1 << 63 | 2 << 7 | 2


def test_the_trace_says_what_a_timing_model_needs(tmp_path: Path) -> None:
    processor = built(
        tmp_path,
        """
{ .mmi
        ld4 r14=[r32],4
        lfetch [r33]
        cmp.eq p6,p7=r0,r0 ;;
}
{ .mmb
(p7)    ld8 r15=[r33]
        st1 [r33]=r14
(p6)    br.ret.sptk b0 ;;
}
    """,
    )
    prepare(processor, (DATA, DATA + 64), sp=STACK)
    steps = processor.run(CODE, RETURN)
    shown = [(s.address, s.on, s.access, s.size, s.store, s.target, s.stop) for s in steps]
    assert shown == [
        (CODE, True, DATA, 4, False, None, False),
        (CODE + 1, True, DATA + 64, 0, False, None, False),
        (CODE + 2, True, None, 0, False, None, True),
        (CODE + 0x10, False, None, 0, False, None, False),
        (CODE + 0x11, True, DATA + 64, 1, True, None, False),
        (CODE + 0x12, True, None, 0, False, RETURN, True),
    ]
    assert all(isinstance(step, Executed) for step in steps)
