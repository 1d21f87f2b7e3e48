"""Pairs of straight regions, old and new, as text: those that are equal, and those that are not.

Every register may be read behind a region but those that a case names as dead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Two regions; `why` is what a refusal must mention."""

    name: str
    old: str
    new: str
    dead: tuple[str, ...] = ()
    why: str = ""


def in_lines(line: str) -> str:
    """Assembler text: a bar is a stop, a slash stands between instructions of a group."""
    return line.replace("|", ";;\n").replace(";;;", ";;").replace("/", "\n")


def _pair(name: str, old: str, new: str, dead: str = "", why: str = "") -> Pair:
    return Pair(name, in_lines(old), in_lines(new), tuple(dead.split()), why)


EQUAL = (
    _pair("independent", "add r8=r9,r10 | sub r11=r9,r10 |", "sub r11=r9,r10 / add r8=r9,r10 |"),
    _pair("write after read", "add r8=r9,r10 | mov r9=r11 |", "add r8=r9,r10 / mov r9=r11 |"),
    _pair("renamed", "add r8=r9,r10 | st8 [r11]=r8 | mov r8=0 |",
          "add r14=r9,r10 | st8 [r11]=r14 / mov r8=0 |", "r14"),
    _pair("renamed within the frame", "add r8=r34,r10 | st8 [r11]=r8 | mov r8=0 |",
          "add r33=r34,r10 | st8 [r11]=r33 | mov r8=0 |", "r33"),
    _pair("nops", "nop.m 5 | nop.i 0 / mov r8=r9 |", "mov r8=r9 |"),
    _pair("post-increment split", "ld8 r8=[r9],8 |", "ld8 r8=[r9] / adds r9=8,r9 |"),
    _pair("increments merged", "adds r9=8,r9 | adds r9=8,r9 | ld8 r8=[r9] |",
          "adds r9=16,r9 | ld8 r8=[r9] |"),
    _pair("load before its increment", "ld8 r8=[r9],8 | ld8 r10=[r9] |",
          "adds r14=8,r9 / ld8 r8=[r9] / adds r9=8,r9 | ld8 r10=[r14] |", "r14"),
    _pair("copy", "mov r14=r9 | ld8 r8=[r14] |", "ld8 r8=[r9] |", "r14"),
    _pair("constants", "mov r14=5 | adds r14=3,r14 | add r8=r14,r9 |", "adds r8=8,r9 |", "r14"),
    _pair("sum in another order", "add r8=r9,r10 | add r8=r8,r11 |",
          "add r8=r11,r10 | add r8=r9,r8 |"),
    _pair("disjoint store and load", "st8 [r9]=r8 | adds r14=8,r9 | ld8 r10=[r14] |",
          "adds r14=8,r9 | ld8 r10=[r14] | st8 [r9]=r8 |"),
    _pair("disjoint stores", "st4 [r9]=r8,4 | st4 [r9]=r10 |",
          "adds r14=4,r9 | st4 [r14]=r10 / st4 [r9]=r8 / mov r9=r14 |", "r14"),
    _pair("move of the stack", "add r8=r9,r10 | adds r12=16,r12 |",
          "adds r12=16,r12 | add r8=r9,r10 |"),
    _pair("loads", "ld8 r8=[r9] | ld8 r10=[r11] |", "ld8 r10=[r11] / ld8 r8=[r9] |"),
    _pair("load over compare", "cmp.eq p6,p7=r8,r9 | ld8 r10=[r11] |",
          "ld8 r10=[r11] / cmp.eq p6,p7=r8,r9 |"),
    _pair("complementary predicates", "cmp.eq p6,p7=r8,r9 | (p6) mov r10=1 / (p7) mov r10=2 |",
          "cmp.eq p6,p7=r8,r9 | (p7) mov r10=2 / (p6) mov r10=1 |"),
    _pair("two chains under predicates",
          "cmp.eq p6,p7=r8,r9 | (p6) mov r10=1 | (p6) add r11=r10,r9 |"
          "(p7) mov r10=2 | (p7) add r11=r10,r9 |",
          "cmp.eq p6,p7=r8,r9 | (p6) mov r10=1 / (p7) mov r10=2 |"
          "(p7) add r11=r10,r9 / (p6) add r11=r10,r9 |"),
    _pair("unconditional compare", "cmp.eq.unc p6,p7=r8,r9 | (p6) cmp.eq.unc p8,p9=r8,r10 |"
          "(p7) mov r11=1 / (p8) mov r11=2 |",
          "cmp.eq.unc p6,p7=r8,r9 | (p6) cmp.eq.unc p8,p9=r8,r10 | (p8) mov r11=2 |"
          "(p7) mov r11=1 |"),
    _pair("exclusive stores", "cmp.eq p6,p7=r8,r9 | (p6) st8 [r10]=r8 / (p7) st8 [r11]=r9 |",
          "cmp.eq p6,p7=r8,r9 | (p7) st8 [r11]=r9 / (p6) st8 [r10]=r8 |"),
    _pair("what the old group needs", "(p6) mov r10=1 / (p7) mov r10=2 |",
          "(p7) mov r10=2 / (p6) mov r10=1 |"),
    _pair("parallel compares", "cmp.eq.and p6,p7=r8,r9 | cmp.eq.and p6,p7=r10,r11 |",
          "cmp.eq.and p6,p7=r10,r11 / cmp.eq.and p6,p7=r8,r9 |"),
    _pair("or.andcm keeps exclusion",
          "cmp.eq p6,p7=r8,r9 | cmp.eq.or.andcm p6,p7=r8,r10 | (p6) mov r11=1 / (p7) mov r11=2 |",
          "cmp.eq p6,p7=r8,r9 | cmp.eq.or.andcm p6,p7=r8,r10 | (p7) mov r11=2 / (p6) mov r11=1 |"),
    _pair("flags gather", "fma.s0 f8=f9,f10,f11 | fma.s0 f12=f9,f10,f13 |",
          "fma.s0 f12=f9,f10,f13 / fma.s0 f8=f9,f10,f11 |"),
    _pair("spills to two bits", "st8.spill [r9]=r8,8 | st8.spill [r9]=r10 |",
          "adds r14=8,r9 | st8.spill [r14]=r10 / st8.spill [r9]=r8 / mov r9=r14 |", "r14"),
    _pair("compare and branch in a group", "cmp.eq p6,p7=r8,r9 | (p6) br.cond.sptk.few out |",
          "cmp.eq p6,p7=r8,r9 / (p6) br.cond.sptk.few out |"),
    _pair("dead where it leaves", "mov r14=r9 | (p6) br.cond.sptk.few out | add r8=r9,r10 |",
          "(p6) br.cond.sptk.few out | add r8=r9,r10 |", "r14"),
    _pair("over a fence", "mf | add r8=r9,r10 |", "add r8=r9,r10 | mf |"),
    _pair("checked load stays", "ld8.a r8=[r9] | st8 [r10]=r11 | ld8.c.clr r8=[r9] / mov r14=r15 |",
          "ld8.a r8=[r9] / mov r14=r15 | st8 [r10]=r11 | ld8.c.clr r8=[r9] |"),
    _pair("prefetch", "lfetch [r9],64 | add r8=r10,r11 |", "add r8=r10,r11 / adds r9=64,r9 |"),
    _pair("check of an M or an I slot", "chk.s.m r8,out |", "chk.s.i r8,out |"),
    _pair("moves of the banks", "bsw.0 | mov r8=r9 |", "mov r8=r9 | bsw.0 |"),
    _pair("an access over moves of the register stack engine",
          "mov ar.rsc=0 | st8 [r8]=r9 | mov ar.bspstore=r10 | mov ar.rnat=r11 |",
          "mov ar.rsc=0 | mov ar.bspstore=r10 | mov ar.rnat=r11 / st8 [r8]=r9 |"),
    _pair("a load in the group of the new frame", "alloc r34=ar.pfs,8,8,0,0 | ld8 r8=[r9] |",
          "alloc r34=ar.pfs,8,8,0,0 / ld8 r8=[r9] |"),
    _pair("long stop", "cmp.eq p6,p7=r8,r9 | mov r10=r11 |", "cmp.eq p6,p7=r8,r9 / mov r10=r11 |"),
)  # fmt: skip

DIFFERENT = (
    _pair("read after write", "mov r8=r9 | mov r10=r8 |", "mov r8=r9 / mov r10=r8 |", why="group"),
    _pair("order of a register", "mov r8=r9 | mov r10=r8 |", "mov r10=r8 | mov r8=r9 |", why="r10"),
    _pair("write after write", "mov r8=r9 | mov r8=r10 |", "mov r8=r10 | mov r8=r9 |", why="r8"),
    _pair("renamed, but live", "add r8=r9,r10 | st8 [r11]=r8 | mov r8=0 |",
          "add r14=r9,r10 | st8 [r11]=r14 / mov r8=0 |", why="r14"),
    _pair("may overlap", "st8 [r9]=r8 | ld8 r10=[r11] |", "ld8 r10=[r11] | st8 [r9]=r8 |",
          why="ld8"),
    _pair("overlap of four bytes", "st8 [r9]=r8 | adds r14=4,r9 | st8 [r14]=r10 |",
          "adds r14=4,r9 | st8 [r14]=r10 | st8 [r9]=r8 |", why="st8"),
    _pair("stores crossed", "st8 [r9]=r8 | st8 [r10]=r11 |", "st8 [r10]=r11 | st8 [r9]=r8 |",
          why="st8"),
    _pair("access over a move of the stack", "ld8 r8=[r9] | adds r12=16,r12 |",
          "adds r12=16,r12 | ld8 r8=[r9] |", why="of the new code only, or out of order"),
    _pair("access over another stack", "mov r12=r8 | st8 [r9]=r10 |",
          "st8 [r9]=r10 | mov r12=r8 |", why="of the new code only, or out of order"),
    _pair("dead load dropped", "ld8 r8=[r9] | mov r8=0 |", "mov r8=0 |", why="ld8"),
    _pair("load doubled", "ld8 r8=[r9] |", "ld8 r8=[r9] / ld8 r14=[r9] |", "r14", "ld8"),
    _pair("smaller load", "ld4 r8=[r9] |", "ld2 r8=[r9] |", why="r8 differs|ld"),
    _pair("predicate dropped", "(p6) mov r8=r9 |", "mov r8=r9 |", why="r8"),
    _pair("store without predicate", "(p6) st8 [r9]=r8 |", "st8 [r9]=r8 |", why="st8"),
    _pair("exclusion unknown", "(p6) mov r10=1 | (p7) mov r10=2 |",
          "(p6) mov r10=1 / (p7) mov r10=2 |", why="group"),
    _pair("exclusion ended", "cmp.eq p6,p7=r8,r9 | cmp.eq p6,p8=r8,r10 | (p6) mov r11=1 |"
          "(p7) mov r11=2 |",
          "cmp.eq p6,p7=r8,r9 | cmp.eq p6,p8=r8,r10 | (p6) mov r11=1 / (p7) mov r11=2 |",
          why="group"),
    _pair("written under any predicate", "cmp.eq p6,p7=r8,r9 | (p6) cmp.eq.unc p8,p9=r8,r10 |"
          "(p7) cmp.eq.unc p8,p9=r8,r11 |",
          "cmp.eq p6,p7=r8,r9 | (p6) cmp.eq.unc p8,p9=r8,r10 / (p7) cmp.eq.unc p8,p9=r8,r11 |",
          why="p8 within"),
    _pair("a predicate that is read", "cmp.eq p6,p7=r8,r9 | (p6) cmp.eq p7,p8=r8,r10 |"
          "(p7) mov r11=1 |",
          "cmp.eq p6,p7=r8,r9 | (p6) cmp.eq p7,p8=r8,r10 / (p7) mov r11=1 |", why="p7 within"),
    _pair("exclusive only behind the branch",
          "(p8) br.cond.sptk.few out | (p6) mov r10=1 / (p7) mov r10=2 | (p6) mov r11=1 |"
          "(p7) mov r11=2 |",
          "(p8) br.cond.sptk.few out | (p6) mov r10=1 / (p7) mov r10=2 |"
          "(p6) mov r11=1 / (p7) mov r11=2 |", why="r11 within"),
    _pair("compare under a predicate", "cmp.eq p6,p7=r8,r9 | (p8) cmp.eq p6,p7=r8,r10 |"
          "(p6) mov r11=1 / (p7) mov r11=2 |",
          "cmp.eq p6,p7=r8,r9 | (p8) cmp.eq p7,p6=r8,r10 | (p6) mov r11=1 / (p7) mov r11=2 |",
          why="p6|r11"),
    _pair("targets exchanged", "cmp.eq p6,p7=r8,r9 |", "cmp.eq p7,p6=r8,r9 |", why="p6"),
    _pair("no longer unconditional", "(p8) cmp.eq.unc p6,p7=r8,r9 |", "(p8) cmp.eq p6,p7=r8,r9 |",
          why="p6"),
    _pair("and is not or", "cmp.eq.and p6,p7=r8,r9 |", "cmp.eq.or p6,p7=r8,r9 |", why="p6"),
    _pair("parallel over plain", "cmp.eq p6,p7=r8,r9 | cmp.eq.and p6,p7=r10,r11 |",
          "cmp.eq.and p6,p7=r10,r11 | cmp.eq p6,p7=r8,r9 |", why="p6"),
    _pair("floating compare and branch", "fcmp.eq p6,p7=f8,f9 | (p6) br.cond.sptk.few out |",
          "fcmp.eq p6,p7=f8,f9 / (p6) br.cond.sptk.few out |", why="group"),
    _pair("another target", "(p6) br.cond.sptk.few out |", "(p6) br.cond.sptk.few other |",
          why="target"),
    _pair("another condition", "(p6) br.cond.sptk.few out |", "(p7) br.cond.sptk.few out |",
          why="condition"),
    _pair("over a branch", "(p6) br.cond.sptk.few out | mov r8=r9 |",
          "mov r8=r9 / (p6) br.cond.sptk.few out |", why="r8"),
    _pair("load over a branch", "(p6) br.cond.sptk.few out | ld8 r8=[r9] |",
          "ld8 r8=[r9] / (p6) br.cond.sptk.few out |", "r8", "ld8"),
    _pair("store over acquire", "ld8.acq r8=[r9] | st8 [r10]=r11 |",
          "st8 [r10]=r11 | ld8.acq r8=[r9] |", why="out of order"),
    _pair("load over release", "ld8 r8=[r9] | st8.rel [r10]=r11 |",
          "st8.rel [r10]=r11 | ld8 r8=[r9] |", why="out of order"),
    _pair("load over fence", "ld8 r8=[r9] | mf |", "mf | ld8 r8=[r9] |", why="out of order"),
    _pair("semaphore over load", "ld8 r8=[r9] | xchg8 r10=[r11],r14 |",
          "xchg8 r10=[r11],r14 | ld8 r8=[r9] |", why="out of order"),
    _pair("load over serialization", "srlz.d | ld8 r8=[r9] |", "ld8 r8=[r9] | srlz.d |",
          why="out of order"),
    _pair("serialization in the group", "srlz.d | ld8 r8=[r9] |", "srlz.d / ld8 r8=[r9] |",
          why="stop"),
    _pair("user mask in the group", "rum 8 | ld8 r8=[r9] |", "rum 8 / ld8 r8=[r9] |",
          why="stop|psr.um"),
    _pair("moves to rr", "mov rr[r8]=r9 | srlz.d | st8 [r10]=r11 |",
          "mov rr[r8]=r9 | st8 [r10]=r11 | srlz.d |", why="out of order"),
    _pair("advanced load over store", "st8 [r10]=r11 | ld8.a r8=[r9] |",
          "ld8.a r8=[r9] | st8 [r10]=r11 |", why="out of order"),
    _pair("check load under another name", "ld8.a r8=[r9] | st8 [r10]=r11 | ld8.c.clr r8=[r9] |"
          "mov r14=r8 |",
          "ld8.a r8=[r9] | st8 [r10]=r11 | ld8.c.clr r14=[r9] | mov r8=r14 |", why="ld8"),
    _pair("spills to one bit", "st8.spill [r9]=r8 | adds r14=512,r9 | st8.spill [r14]=r10 |",
          "adds r14=512,r9 | st8.spill [r14]=r10 | st8.spill [r9]=r8 |", why="st8.spill"),
    _pair("flags cleared", "fclrf.s0 | fma.s0 f8=f9,f10,f11 |", "fma.s0 f8=f9,f10,f11 | fclrf.s0 |",
          why="fpsr.flags"),
    _pair("dead flags dropped", "fma.s0 f8=f9,f10,f11 | mov f8=f9 |", "mov f8=f9 |", why="fma"),
    _pair("another status field", "fma.s0 f8=f9,f10,f11 |", "fma.s1 f8=f9,f10,f11 |", why="f8|fma"),
    _pair("high for low", "fmerge.se f8=f9,f10 | stfd [r8]=f8 |",
          "fmerge.se f40=f9,f10 | stfd [r8]=f40 |", "f8 f40", "psr.mf"),
    _pair("controls", "fsetc.s0 127,64 | fma.s0 f8=f9,f10,f11 |",
          "fma.s0 f8=f9,f10,f11 | fsetc.s0 127,64 |", why="f8|fma"),
    _pair("compare value", "mov ar.ccv=r8 | cmpxchg8.acq r9=[r10],r11,ar.ccv |",
          "cmpxchg8.acq r9=[r10],r11,ar.ccv | mov ar.ccv=r8 |", why="cmpxchg8"),
    _pair("clock", "mov r8=ar.itc | mov r9=ar.itc |", "mov r9=ar.itc | mov r8=ar.itc |", why="r8"),
    _pair("clock over load", "mov r8=ar.itc | ld8 r9=[r10] |", "ld8 r9=[r10] | mov r8=ar.itc |",
          why="out of order"),
    _pair("banked register", "mov r16=r8 | bsw.0 |", "bsw.0 | mov r16=r8 |", why="bsw"),
    _pair("banked register lost", "mov r16=r8 | bsw.0 | mov r16=r9 |", "bsw.0 | mov r16=r9 |",
          why="bsw"),
    _pair("mode over the pointer", "mov ar.rsc=0 | mov ar.bspstore=r8 |",
          "mov ar.bspstore=r8 | mov ar.rsc=0 |", why="ar.bsp|mov"),
    _pair("mode with the pointer", "mov ar.rsc=0 | mov ar.bspstore=r8 |",
          "mov ar.rsc=0 / mov ar.bspstore=r8 |", why="ar.rsc within"),
    _pair("mode over a read of the pointer", "mov ar.rsc=0 | mov r8=ar.bspstore |",
          "mov r8=ar.bspstore | mov ar.rsc=0 |", why="r8|mov"),
    _pair("mode over NaT bits", "mov ar.rnat=r8 | mov ar.rsc=3 |",
          "mov ar.rsc=3 | mov ar.rnat=r8 |", why="ar.rnat|mov"),
    _pair("pointer over NaT bits", "mov ar.bspstore=r8 | mov ar.rnat=r9 |",
          "mov ar.rnat=r9 | mov ar.bspstore=r8 |", why="ar.rnat|mov"),
    _pair("pointer over a read of NaT bits", "mov r9=ar.rnat | mov ar.bspstore=r8 |",
          "mov ar.bspstore=r8 | mov r9=ar.rnat |", why="r9|mov"),
    _pair("pointer over loadrs", "mov ar.bspstore=r8 | loadrs |", "loadrs | mov ar.bspstore=r8 |",
          why="loadrs|mov"),
    _pair("mode over loadrs", "loadrs | mov ar.rsc=3 |", "mov ar.rsc=3 | loadrs |",
          why="loadrs|mov"),
    _pair("store over flushrs", "flushrs | st8 [r8]=r9 |", "st8 [r8]=r9 | flushrs |",
          why="out of order"),
    _pair("privilege with a kernel register", "epc | mov ar.k6=r8 |",
          "nop.m 0 / nop.m 0 / epc / mov ar.k6=r8 |", why="psr.cpl within"),
    _pair("frame", "mov r40=r8 | alloc r34=ar.pfs,8,8,0,0 |",
          "alloc r34=ar.pfs,8,8,0,0 | mov r40=r8 |", why="r40"),
    _pair("outside the frame", "add r8=r34,r10 | st8 [r11]=r8 | mov r8=0 |",
          "add r35=r34,r10 | st8 [r11]=r35 | mov r8=0 |", "r35", "r35 may be outside"),
    _pair("another frame", "alloc r34=ar.pfs,8,8,0,0 |", "alloc r34=ar.pfs,9,9,0,0 |", why="alloc"),
    _pair("seen by a break", "mov r8=r9 | break.i 1 |", "break.i 1 | mov r8=r9 |", why="r8"),
    _pair("predicates at once", "mov pr=r8,-1 | cmp.eq p6,p7=r9,r10 |",
          "cmp.eq p6,p7=r9,r10 | mov pr=r8,-1 |", why="p6"),
    _pair("branch register", "mov b6=r8 | br.cond.sptk.few b6 |", "br.cond.sptk.few b6 |",
          why="condition|mov|end"),
    _pair("link", "br.call.sptk.many b0=out |", "br.call.sptk.many b1=out |", why="br.call"),
    _pair("its own address", "mov r8=ip |", "nop.m 0 | nop.m 0 | nop.m 0 | mov r8=ip |", why="r8"),
    _pair("check moved", "ld8.s r8=[r9] | chk.s r8,out | mov r10=r8 |",
          "ld8.s r8=[r9] | mov r10=r8 / chk.s r8,out |", why="r10"),
    _pair("zero register", "mov r8=r9 |", "mov r8=r9 / mov r14=r0 |", why="r14"),
)  # fmt: skip
