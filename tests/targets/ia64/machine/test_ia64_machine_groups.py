"""What an instruction group may do and what it may not, on text that GNU as assembles."""

from __future__ import annotations

from pathlib import Path

import pytest

from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import Bundle
from targets.ia64.isa.fields import BUNDLE, Unit
from targets.ia64.isa.rows import TABLE
from targets.ia64.machine.faults import GroupViolation, IllegalOperation
from tests.targets.ia64.machine.ia64_built import CODE, DATA, built, result
from tests.targets.ia64.meanings.ia64_single import instruction

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
def test_an_illegal_group_is_refused(tmp_path: Path, text: str) -> None:
    first, second = text.split(" ; ")
    processor = built(tmp_path, f"mov r32=r33 ;; {first}\n{second} ;;\n br.ret.sptk b0 ;;")
    with pytest.raises(GroupViolation, match=rf" of {ILLEGAL[text]}:"):
        result(processor, DATA, DATA)
    processor = built(tmp_path, f"mov r32=r33 ;; {first} ;;\n{second} ;;\n br.ret.sptk b0 ;;")
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
def test_an_allowed_group_is_run(tmp_path: Path, text: str) -> None:
    """Pairs that the manual excepts, and pairs of which only one is executed."""
    first, second = text.split(" ; ")
    before = "mov r9=b0 ; mov r10=ar.pfs ; cmp.eq p6,p7=r0,r0 ;;"
    processor = built(tmp_path, f"{before} {first}\n{second} ;;\n br.ret.sptk b0 ;;")
    result(processor, DATA, DATA)


def test_an_unconditional_compare_writes_when_it_is_off(tmp_path: Path) -> None:
    processor = built(
        tmp_path,
        """
        cmp.eq p6,p7=r0,r0
        cmp.eq p8,p9=r0,r0 ;;
(p7)    cmp.eq.unc p8,p9=r0,r0
(p7)    cmp.eq p6,p10=r0,r0 ;;
        mov r8=pr
        br.ret.sptk b0 ;;
    """,
    )
    assert result(processor) >> 6 & 0b1111 == 0b0001


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (("MMI|", "nop.m", "alloc", "nop.i"), "alloc at 0x4001 is not first"),
        (("MIB", "nop.m", "nop.i", "cover"), "cover at 0x4002 is not last"),
        (("BBB|", "br.cloop", "nop.b", "nop.b"), "br.cloop at 0x4000 is not slot 2"),
    ],
)
def test_places_in_a_group_are_checked(tmp_path: Path, text: tuple[str, ...], rule: str) -> None:
    """as refuses such text, so the slots are put together here."""
    processor = built(tmp_path, "nop.m 0 ;; br.ret.sptk b0 ;;")
    units, *names = text
    template = bundles.for_slots([Unit[c] for c in units[:3]], frozenset({2} if units[3:] else ()))
    assert template is not None
    words = tuple(TABLE.encode(instruction(name)) for name in names)
    region = processor.state.memory.region(CODE, BUNDLE)
    assert region is not None
    region.data[:BUNDLE] = bundles.encode(Bundle(template, words))
    with pytest.raises(IllegalOperation, match=rule):
        result(processor)
