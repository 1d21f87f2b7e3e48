"""The group-parallel machine on small programs that GNU as assembles: the register stack, rotation,
speculation, what a group may not do, what the system sees."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from ia64_single import instruction

from fixtures import inputs
from rewriter.core.concrete import Misaligned
from rewriter.core.interpret import AccessFault, BadInstruction, LimitReached, Memory, Unspecified
from targets.ia64 import bundles
from targets.ia64.bundles import Bundle
from targets.ia64.fields import BUNDLE, Unit
from targets.ia64.isa import TABLE
from targets.ia64.machine.alat import DropAll, KeepAll, Policy, Seeded
from targets.ia64.machine.calling import RETURN, call, prepare
from targets.ia64.machine.faults import GroupViolation, IllegalOperation, NatConsumption
from targets.ia64.machine.processor import Processor
from targets.ia64.machine.trace import Executed
from targets.ia64.registers import GR, NUMBERS, PR

CODE, DATA, BACKING, STACK = 0x4000, 0x100000, 0x200000, 0x300000
BITS = (1 << 64) - 1

Build = Callable[..., Processor]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Assembles a program (`as -x`: stops are as written) and loads it."""
    gas = inputs.require_tool("ia64-linux-gnu-as")

    def function(text: str, policy: Policy | None = None) -> Processor:
        source, made = tmp_path / "program.s", tmp_path / "program.o"
        source.write_text(f".text\n.explicit\n{text}\n")
        run = subprocess.run(
            (gas, "-x", "-o", made, source), capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
        with made.open("rb") as stream:
            code = ELFFile(stream).get_section_by_name(".text").data()
        memory = Memory()
        memory.map(CODE, code, write=False)
        for address in (DATA, BACKING, STACK):
            memory.map(address, 0x10000, execute=False)
        return Processor(memory, BACKING, policy)

    return function


def result(processor: Processor, *arguments: int, limit: int = 100_000) -> int:
    return call(processor, CODE, arguments, sp=STACK + 0x8000, limit=limit)[0]


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
def test_deep_calls_go_through_the_backing_store(build: Build, m: int, n: int, deep: bool) -> None:
    """More registers than the 96 of the processor: some are in memory when they are wanted."""
    processor = build(ACKERMANN)
    assert result(processor, m, n) == ackermann(m, n)
    assert processor.state.r[NUMBERS["ar.bsp"]] == BACKING
    assert any(processor.state.memory.read(BACKING, 0x1000)) == deep


def test_calls_without_end_leave_the_backing_store(build: Build) -> None:
    processor = build("start: alloc r32=ar.pfs,0,50,0,0 ;; br.call.sptk b0=start ;;")
    with pytest.raises(AccessFault) as caught:
        result(processor)
    assert (caught.value.address, caught.value.write) == (BACKING + 0x10000, True)


def test_flushed_registers_are_where_the_manual_says(build: Build) -> None:
    """After 63 registers comes a word of their NaT bits."""
    locals_ = "\n".join(f"adds r{n}={n},r0" for n in range(33, 33 + 92))
    processor = build(f"""
        alloc r32=ar.pfs,0,93,0,0 ;;
        {locals_} ;;
        ld8.s r40=[r0] ;;
        br.call.sptk b6=inner ;;
        break.i 0 ;;
inner:  flushrs ;;
        mov r8=ar.bspstore
        mov r9=ar.bsp ;;
        br.ret.sptk b0 ;;
    """)
    prepare(processor, (), sp=STACK)
    processor.run(CODE, RETURN)
    memory = processor.state.memory
    words = [int.from_bytes(memory.read(BACKING + 8 * n, 8), "little") for n in range(94)]
    assert words[1:8] == list(range(33, 40))
    assert words[9:63] == list(range(41, 95))
    assert words[63] == 1 << 8
    assert words[64:94] == list(range(95, 125))
    assert processor.state.r[GR + 8] == processor.state.r[GR + 9] == BACKING + 8 * 94


def test_a_returned_nat_is_still_a_nat(build: Build) -> None:
    processor = build("""
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
    """)
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
def test_a_pipelined_loop(build: Build, count: int) -> None:
    """Four stages, one value a cycle through rotating registers and stage predicates."""
    processor = build(COPY)
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
def test_a_while_loop_counts_its_epilog(build: Build, rounds: int, epilog: int) -> None:
    """br.wtop goes on while its predicate holds, and then once for each stage but one."""
    processor = build(f"""
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
    """)
    assert result(processor) == rounds - 1 + epilog
    assert processor.state.r[NUMBERS["ar.ec"]] == 0


def test_predicates_move_as_one_register(build: Build) -> None:
    """mov pr= and mov =pr see rotating predicates where they are, not where they are named."""
    processor = build("""
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
    """)
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
def test_a_deferred_fault_shows_at_the_check(build: Build, bad: tuple[bool, bool]) -> None:
    processor = build(SPECULATE)
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
def test_a_nat_may_not_be_consumed(build: Build, text: str) -> None:
    processor = build(f"ld8.s r14=[r0] ;; {text} ;; br.ret.sptk b0 ;;")
    with pytest.raises(NatConsumption, match="r14"):
        result(processor, DATA)
    assert processor.state.pc > CODE


def test_a_nat_survives_spill_and_fill(build: Build) -> None:
    processor = build("""
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
    """)
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
def test_an_advanced_load_sees_every_store(build: Build, policy: Policy, distance: int) -> None:
    """Whatever the ALAT forgets: only an overlapping store must not be missed."""
    processor = build(ADVANCED.replace("st8", "st4") if distance == 4 else ADVANCED, policy)
    memory = processor.state.memory
    memory.write(DATA, (5).to_bytes(8, "little"))
    found = result(processor, DATA, DATA + distance, 6, 7)
    assert found == int.from_bytes(memory.read(DATA, 8), "little")
    assert found == {0: 7, 4: 7 << 32 | 5, 8: 5}[distance]


def test_a_lost_entry_is_loaded_again(build: Build) -> None:
    """The policies do make a difference: a load behind the back of the ALAT tells them apart."""
    text = """
        ld8.a r8=[r32] ;;
        mov r9=r8 ;;
        ld8.c.clr r8=[r32] ;;
        br.ret.sptk b0 ;;
    """
    loads = {}
    for policy in (KeepAll(), DropAll()):
        processor = build(text, policy)
        prepare(processor, (DATA,), sp=STACK)
        steps = processor.run(CODE, RETURN)
        loads[type(policy)] = [step.access for step in steps if step.insn.name.startswith("ld8")]
    assert loads == {KeepAll: [DATA, None], DropAll: [DATA, DATA]}


# A group that the architecture does not allow, with the register that it is about.
ILLEGAL = {
    "add r14=r32,r33 ; add r8=r14,r33": "r14",
    "add r8=r32,r33 ; sub r8=r32,r33": "r8",
    "ld8 r14=[r32],8 ; ld8 r15=[r32]": "r32",
    "cmp.eq p6,p7=r0,r0 ; (p6) add r8=r32,r33": "p6",
    "cmp.eq p6,p7=r0,r0 ; (p7) add r8=r32,r33": "p7",
    "cmp.eq p6,p7=r32,r33 ; cmp.eq.unc p6,p8=r0,r0": "p6",
    "cmp.eq.and p6,p7=r32,r0 ; cmp.eq.or p6,p8=r0,r0": "p6",
    "mov ar.lc=r32 ; mov r8=ar.lc": "ar.lc",
    "setf.sig f8=r32 ; fma f9=f8,f1,f0": "f8",
    "fcmp.eq p6,p7=f1,f1 ; (p6) br.ret.sptk b0": "p6",
    "mov ar.ccv=r32 ; cmpxchg8.acq r8=[r33],r0,ar.ccv": "ar.ccv",
    "st8.spill [r33]=r32 ; ld8.fill r8=[r33]": "ar.unat",
}


@pytest.mark.parametrize("text", ILLEGAL)
def test_an_illegal_group_is_refused(build: Build, text: str) -> None:
    first, second = text.split(" ; ")
    processor = build(f"mov r32=r33 ;; {first}\n{second} ;;\n br.ret.sptk b0 ;;")
    with pytest.raises(GroupViolation, match=rf" of {ILLEGAL[text]}:"):
        result(processor, DATA, DATA)
    processor = build(f"mov r32=r33 ;; {first} ;;\n{second} ;;\n br.ret.sptk b0 ;;")
    result(processor, DATA, DATA)


LEGAL = (
    "cmp.eq p6,p7=r32,r33 ; (p6) br.ret.sptk b0",
    "mov b0=r9 ; br.ret.sptk b0",
    "mov ar.pfs=r10 ; br.ret.sptk b0",
    "cmp.eq.or p6,p7=r32,r33 ; cmp.eq.or p6,p8=r0,r0",
    "add r14=r33,r0 ; st8 [r32]=r33",
    "(p6) add r8=r32,r33 ; (p7) sub r8=r32,r33",
    "(p7) add r14=r32,r33 ; (p6) add r8=r14,r33",
    "st8 [r32]=r33 ; ld8 r8=[r32]",
)


@pytest.mark.parametrize("text", LEGAL)
def test_an_allowed_group_is_run(build: Build, text: str) -> None:
    """Pairs that the manual excepts, and pairs of which only one is executed."""
    first, second = text.split(" ; ")
    before = "mov r9=b0 ; mov r10=ar.pfs ; cmp.eq p6,p7=r0,r0 ;;"
    processor = build(f"{before} {first}\n{second} ;;\n br.ret.sptk b0 ;;")
    result(processor, DATA, DATA)


def test_an_unconditional_compare_writes_when_it_is_off(build: Build) -> None:
    processor = build("""
        cmp.eq p6,p7=r0,r0
        cmp.eq p8,p9=r0,r0 ;;
(p7)    cmp.eq.unc p8,p9=r0,r0
(p7)    cmp.eq p6,p10=r0,r0 ;;
        mov r8=pr
        br.ret.sptk b0 ;;
    """)
    assert result(processor) >> 6 & 0b1111 == 0b0001


def test_frames_are_checked(build: Build) -> None:
    with pytest.raises(IllegalOperation, match="r35 at 0x4000 is outside the frame"):
        result(build("mov r35=r32 ;; br.ret.sptk b0 ;;"), 1, 2)
    with pytest.raises(IllegalOperation, match="r0 cannot be written"):
        result(build("ld8 r0=[r32] ;; br.ret.sptk b0 ;;"), DATA)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (("MMI|", "nop.m", "alloc", "nop.i"), "alloc at 0x4001 is not first"),
        (("MIB", "nop.m", "nop.i", "cover"), "cover at 0x4002 is not last"),
        (("BBB|", "br.cloop", "nop.b", "nop.b"), "br.cloop at 0x4000 is not slot 2"),
    ],
)
def test_places_in_a_group_are_checked(build: Build, text: tuple[str, ...], rule: str) -> None:
    """as refuses such text, so the slots are put together here."""
    processor = build("nop.m 0 ;; br.ret.sptk b0 ;;")
    units, *names = text
    template = bundles.for_slots([Unit[c] for c in units[:3]], frozenset({2} if units[3:] else ()))
    assert template is not None
    words = tuple(TABLE.encode(instruction(name)) for name in names)
    region = processor.state.memory.region(CODE, BUNDLE)
    assert region is not None
    region.data[:BUNDLE] = bundles.encode(Bundle(template, words))
    with pytest.raises(IllegalOperation, match=rule):
        result(processor)


def test_faults_name_the_slot_and_keep_the_state(build: Build) -> None:
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
        processor = build(text.replace("{access}", access))
        with pytest.raises(fault):
            result(processor, 0x50, DATA + 2)
        state = processor.state
        assert state.pc == CODE + 1
        assert [state.r[n] for n in (8, 9, 10, 32)] == [1, 0, 0, 0x50]


def test_running_off_the_code_and_forever(build: Build) -> None:
    with pytest.raises(AccessFault):
        result(build("nop.m 0 ;;"))
    with pytest.raises(LimitReached):
        result(build("here: br.cond.sptk here ;;"), limit=10)
    processor = build("nop.m 0 ;;")
    processor.state.memory.map(0x8000, b"\x06" + bytes(15))
    with pytest.raises(BadInstruction):
        processor.run(0x8000, RETURN)


def test_what_is_not_known_is_asked(build: Build) -> None:
    processor = build("break.m 0x15 ;; tpa r8=r32 ;; br.ret.sptk b0 ;;")
    with pytest.raises(Unspecified, match=r"break\.m"):
        result(processor, 3)
    asked: list[int] = []
    processor.state.answers["break.m"] = lambda number: asked.append(number) or 0
    processor.state.answers["tpa"] = lambda address: address + 0x1000
    assert result(processor, 3) == 0x1003
    assert asked == [0x15]


def test_the_world_sees_system_instructions_in_order(build: Build) -> None:
    processor = build("""
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
    """)
    assert result(processor, 5 << 61, 0x1234) == 1 << 13
    state = processor.state
    assert [event[0] for event in state.events] == [
        *("mov rr", "srlz.d", "ssm", "bsw", "bsw", "bsw", "mov cr", "mf", "epc"),
    ]
    assert state.files["rr", 5] == 0x1234
    assert [state.r[n] for n in (9, 10)] == [9, 5]


def test_an_interruption_is_left_as_it_came(build: Build) -> None:
    """cover puts the frame away, rfi brings it back, at the slot that cr.ipsr names."""
    processor = build("""
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
    """)
    assert result(processor) == 5
    assert [processor.state.r[n] for n in (9, 10)] == [1, 77]
    assert processor.state.r[NUMBERS["cr.ifs"]] == 1 << 63 | 2 << 7 | 2


def test_the_trace_says_what_a_timing_model_needs(build: Build) -> None:
    processor = build("""
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
    """)
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
