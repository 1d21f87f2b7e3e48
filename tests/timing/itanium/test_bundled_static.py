"""The Itanium 2's ports, dispersal and latencies, one small case for each published figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.timing.bundled.dispersal import disperse, splits
from rewriter.timing.bundled.latencies import latency, system_latency
from targets.ia64.cpus import CPUS
from targets.ia64.isa.rows import TABLE
from tests.timing.itanium.ia64_bundles import code, instructions

CPU = CPUS["itanium2"]

# Producer, consumer, cycles as the machine descriptions of Intel and gcc have them.
LATENCIES = [
    ("add r8=r9,r10", "add r11=r8,r9", 1),
    ("add r8=r9,r10", "ld8 r11=[r8]", 1),
    ("shladd r8=r9,1,r10", "st8 [r11]=r8", 1),
    ("extr r8=r9,1,2", "add r11=r8,r9", 1),
    ("ld8 r8=[r9]", "add r11=r8,r9", 1),
    ("ld8 r8=[r9]", "ld8 r11=[r8]", 2),
    ("ld8 r8=[r9]", "st8 [r8]=r11", 2),
    ("ld8 r8=[r9]", "st8 [r11]=r8", 1),
    ("ld8 r8=[r9],8", "ld8 r11=[r9]", 1),
    ("st8 [r8]=r9,8", "ld8 r11=[r8]", 1),
    ("ld8 r8=[r9]", "setf.sig f8=r8", 2),
    ("ld8 r8=[r9]", "padd1 r11=r8,r9", 2),
    ("ld8.c.clr r8=[r9]", "add r11=r8,r9", 0),
    ("ld8.c.clr r8=[r9]", "padd1 r11=r8,r9", 2),
    ("padd1 r8=r9,r10", "padd1 r11=r8,r9", 2),
    ("padd1 r8=r9,r10", "add r11=r8,r9", 3),
    ("padd1 r8=r9,r10", "ld8 r11=[r8]", 3),
    ("shl r8=r9,r10", "cmp.eq p6,p7=r8,r9", 3),
    ("add r8=r9,r10", "padd1 r11=r8,r9", 3),
    ("cmp.eq p6,p7=r8,r9", "(p6) br.cond.sptk.few base", 0),
    ("tbit.z p6,p7=r8,3", "(p6) br.cond.sptk.few base", 0),
    ("cmp.eq p6,p7=r8,r9", "(p6) add r8=r9,r10", 1),
    ("fcmp.eq.s0 p6,p7=f8,f9", "(p6) br.cond.sptk.few base", 1),
    ("fcmp.eq.s0 p6,p7=f8,f9", "(p6) add r8=r9,r10", 2),
    ("mov b6=r8", "br.ret.sptk.many b6", 0),
    ("mov b6=r8", "mov r9=b6", 1),
    ("mov r8=b6", "add r9=r8,r10", 2),
    ("mov r8=pr", "add r9=r8,r10", 2),
    ("mov ar.pfs=r8", "br.ret.sptk.many b0", 0),
    ("mov ar.pfs=r8", "mov r9=ar.pfs", 1),
    ("mov r8=ar.pfs", "add r9=r8,r10", 2),
    ("mov r8=ar.lc", "add r9=r8,r10", 2),
    ("mov ar.lc=r8", "br.cloop.sptk.few base", 1),
    ("fma.d f8=f9,f10,f11", "fma.d f12=f8,f9,f10", 4),
    ("xma.l f8=f9,f10,f11", "getf.sig r8=f8", 5),
    ("fma.d f8=f9,f10,f11", "stfd [r8]=f8", 5),
    ("ldfd f8=[r8]", "fma.d f12=f8,f9,f10", 6),
    ("ldfd f8=[r8]", "stfd [r9]=f8", 7),
    ("ldfd f8=[r8]", "getf.d r9=f8", 7),
    ("setf.sig f8=r8", "xma.l f9=f8,f10,f11", 5),
    ("setf.sig f8=r8", "getf.sig r9=f8", 6),
    ("getf.sig r8=f8", "add r9=r8,r10", 5),
    ("getf.sig r8=f8", "padd1 r9=r8,r10", 6),
    ("mov r8=ar.k6", "add r9=r8,r10", 12),
    ("mov r8=ar.rsc", "add r9=r8,r10", 12),
    ("mov r8=ar.bspstore", "add r9=r8,r10", 12),
    ("mov r8=ar.rnat", "add r9=r8,r10", 5),
    ("mov r8=psr", "add r9=r8,r10", 12),
    ("mov r8=cr.ipsr", "add r9=r8,r10", 12),
    ("mov r8=cr.iip", "add r9=r8,r10", 2),
    ("tpa r8=r9", "add r10=r8,r9", 5),
    ("probe.r r8=r9,3", "add r10=r8,r9", 5),
]


@pytest.mark.parametrize(("producer", "consumer", "cycles"), LATENCIES)
def test_latency(producer: str, consumer: str, cycles: int, tmp_path: Path) -> None:
    """Through the one register that the second reads and the first writes."""
    first, second = instructions([producer, consumer], tmp_path)
    shared = TABLE.defs(first) & TABLE.uses(second)
    assert shared
    found = {latency(CPU, first, second, n) for n in range(shared.bit_length()) if shared >> n & 1}
    assert max(found) == cycles


# The article's tables: earlier, later, cycles between.
PAIRS = [
    ("mov ar.rsc=r8", "mov r9=ar.rsc", 12),
    ("mov ar.rsc=r8", "mov ar.bspstore=r9", 12),
    ("mov ar.rsc=0", "mov ar.bspstore=r9", 2),
    ("mov ar.bspstore=r8", "mov ar.rnat=r9", 5),
    ("mov r8=ar.bspstore", "mov ar.rnat=r9", 8),
    ("mov r8=ar.bsp", "mov ar.rnat=r9", 8),
    ("mov r8=ar.rnat", "mov ar.rnat=r9", 6),
    ("mov ar.unat=r8", "mov r9=ar.unat", 6),
    ("mov r8=ar.unat", "fma.d f8=f9,f10,f11", 6),
    ("mov ar.bspstore=r8", "flushrs", 13),
    ("mov ar.rnat=r8", "flushrs", 2),
    ("add r8=r9,r10", "flushrs", 2),
    ("mov ar.rsc=r8", "loadrs", 13),
    ("mov ar.rsc=0", "loadrs", 13),
    ("mov ar.bspstore=r8", "loadrs", 13),
    ("mov r8=ar.bspstore", "loadrs", 3),
    ("loadrs", "loadrs", 9),
    ("add r8=r9,r10", "loadrs", 2),
    ("epc", "add r8=r9,r10", 1),
    ("bsw.1", "add r8=r9,r10", 6),
    ("rfi", "add r8=r9,r10", 13),
    ("srlz.d", "add r8=r9,r10", 1),
    ("srlz.i", "add r8=r9,r10", 12),
    ("rum 2", "add r8=r9,r10", 5),
    ("sum 2", "srlz.d", 10),
    ("rsm 0x4000", "srlz.d", 5),
    ("mov psr.l=r8", "srlz.i", 5),
    ("mov r8=psr", "srlz.d", 2),
    ("mov rr[r8]=r9", "srlz.d", 14),
    ("mov pkr[r8]=r9", "mf", 14),
    ("mov rr[r8]=r9", "add r8=r9,r10", 0),
]


@pytest.mark.parametrize(("earlier", "later", "cycles"), PAIRS)
def test_pair(earlier: str, later: str, cycles: int, tmp_path: Path) -> None:
    """Whatever registers they name."""
    first, second = instructions([earlier, later], tmp_path)
    assert system_latency(CPU, first, second) == cycles


# Two bundles of one instruction group, and how many slots of them issue in the first cycle.
TOGETHER = [
    ("mmi: add r8=r9,r9 | ld8 r2=[r3] | nop 0", "mmi: getf.sig r10=f8 | add r3=r9,r9 | nop 0", 6),
    ("mmi: add r8=r9,r9 | ld8 r2=[r3] | nop 0", "mmi: st8 [r8]=r9 | add r3=r9,r9 | nop 0", 6),
    (
        "mii: ld8 r2=[r3] | add r8=r9,r9 | add r10=r9,r9",
        "mii: st8 [r8]=r9 | add r11=r9,r9 | add r3=r9,r9",
        6,
    ),
    ("mii: nop 0 | sxt4 r8=r9 | sxt4 r10=r9", "mii: nop 0 | sxt4 r2=r9 | nop 0", 4),
    ("mmi: ld8 r8=[r9] | ld8 r10=[r9] | nop 0", "mmi: ld8 r2=[r9] | nop 0 | nop 0", 3),
    ("mmi: st8 [r8]=r9 | st8 [r10]=r9 | nop 0", "mmi: st8 [r2]=r9 | nop 0 | nop 0", 3),
    ("mmi: st8 [r8]=r9 | getf.sig r2=f8 | nop 0", "mmi: nop 0 | nop 0 | nop 0", 1),
    ("mmi: getf.sig r2=f8 | st8 [r8]=r9 | nop 0", "mmi: nop 0 | nop 0 | nop 0", 6),
    ("mii: nop 0 | extr r8=r9,1,2 | nop 0", "mii: nop 0 | tbit.z p6,p7=r9,1 | nop 0", 4),
    ("mii: nop 0 | sxt4 r10=r9 | extr r8=r9,1,2", "mii: nop 0 | nop 0 | nop 0", 2),
    ("mii: nop 0 | extr r8=r9,1,2 | sxt4 r10=r9", "mmf: nop 0 | nop 0 | nop 0", 6),
    ("mmf: ldfd f8=[r8] | ldfd f9=[r9] | nop 0", "mmf: ldfd f10=[r10] | ldfd f11=[r11] | nop 0", 6),
    ("mfi: nop 0 | fpma f8=f9,f9,f9 | nop 0", "mfi: nop 0 | fma.d f10=f9,f9,f9 | nop 0", 4),
    ("mfi: nop 0 | fma.d f8=f9,f9,f9 | nop 0", "mfi: nop 0 | fma.d f10=f9,f9,f9 | nop 0", 6),
    ("mib: nop 0 | nop 0 | nop 0", "mib: nop 0 | nop 0 | br.ret.sptk.many b0", 6),
    ("mib: nop 0 | nop 0 | (p6) br.ret.sptk.many b0", "mib: nop 0 | nop 0 | nop 0", 3),
    ("mbb: nop 0 | nop 0 | nop 0", "mii: nop 0 | nop 0 | nop 0", 3),
    ("mii: nop 0 | nop 0 | nop 0", "bbb: nop 0 | nop 0 | nop 0", 6),
    ("mib: nop 0 | nop 0 | nop 0", "bbb: nop 0 | nop 0 | nop 0", 3),
    ("mii: nop 0 | add r8=r9,r9 | add r10=r9,r9", "mlx: nop 0 | movl r2=1", 3),
    ("mmi: nop 0 | nop 0 | nop 0", "mlx: nop 0 | movl r2=1", 5),
    ("mmi: nop 0 | xchg8 r8=[r9],r10 | nop 0", "mmi: nop 0 | nop 0 | nop 0", 2),
    ("mmi: invala | nop 0 | nop 0", "mmi: nop 0 | nop 0 | nop 0", 1),
    ("mmi: srlz.d | nop 0 | nop 0", "mmi: nop 0 | nop 0 | nop 0", 1),
    ("mmi: sync.i | nop 0 | nop 0", "mmi: nop 0 | nop 0 | nop 0", 1),
    ("mmi: mov r8=ar.unat | nop 0 | nop 0", "mmi: nop 0 | nop 0 | nop 0", 1),
    ("mmi: add r8=r9,r9 | mf | nop 0", "mmi: nop 0 | nop 0 | nop 0", 1),
    ("mmi: add r8=r9,r9 | fwb | nop 0", "mmi: nop 0 | nop 0 | nop 0", 6),
    ("mmi: ld8 r8=[r9] | fwb | nop 0", "mmi: nop 0 | nop 0 | nop 0", 1),
    ("mmb: nop 0 | mov r8=ar.bsp | (p6) br.ret.sptk.many b0", "mmi: nop 0 | nop 0 | nop 0", 2),
    ("mib: nop 0 | tbit.z p6,p7=r8,1 | nop 0", "mib: nop 0 | nop 0 | epc", 6),
]


@pytest.mark.parametrize(("first", "second", "slots"), TOGETHER)
def test_first_cycle(first: str, second: str, slots: int, tmp_path: Path) -> None:
    """Ports, shapes and the instructions that end a cycle."""
    cycle = next(disperse(CPU, code([first, second], tmp_path)))
    assert len(cycle.slots) == slots


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        ("br.cond.sptk.few base", "add r8=r9,r10", True),
        ("br.cond.sptk.few base", "(p6) br.cond.sptk.few base", False),
        ("add r8=r9,r10", "br.cond.sptk.few base", False),
        ("mf", "add r8=r9,r10", False),
        ("add r8=r9,r10", "mf", True),
        ("srlz.d", "add r8=r9,r10", True),
    ],
)
def test_what_never_shares_a_cycle(first: str, second: str, apart: bool, tmp_path: Path) -> None:
    """In this order, wherever they stand; what stands behind a branch is in another bundle."""
    assert splits(CPU, *instructions([first, second], tmp_path)) == apart
