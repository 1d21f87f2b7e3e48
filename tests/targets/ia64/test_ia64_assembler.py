"""The IA-64 assembler: real code from objdump's text to the same bytes, and GNU as on our text."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.code.groups import groups
from rewriter.core.isa.instruction import Insn
from targets.assembly import AssemblyError
from targets.ia64.asm.assembler import assemble
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import Bundle
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.rows import TABLE
from tests.targets.ia64.ia64_files import NAMES, texts

PART = 2_000 * BUNDLE
_LINE = re.compile(r"^ *[0-9a-f]+:\t *(?:\[(\w+)\])? *(.*?)(;;)?$")
_ADDRESS = re.compile(r"\b(?:0x)?([0-9a-f]+) <[^>]*>")


def explicit(listing: str) -> Iterator[str]:
    """A disassembly without addresses, bundle by bundle, as `as -x` takes it."""
    inside = False
    for line in listing.split("\n"):
        if match := _LINE.match(line):
            template, text, stop = match.groups()
            if template:
                yield ("}\n" if inside else "") + f"{{ .{template.lower()}"
                inside = True
            text = text.replace("(p0", "(p")
            yield " ".join(("", _ADDRESS.sub(r"0x\1", text), stop or ""))
    yield "}"


def disassembled(path: Path, start: int, stop: int) -> str:
    objdump = inputs.require_tool("ia64-linux-gnu-objdump")
    command = (objdump, "-d", "-z", "--no-show-raw-insn")
    window = (f"--start-address={start:#x}", f"--stop-address={stop:#x}")
    whole = (*command, *window, path)
    return subprocess.run(whole, capture_output=True, check=True, text=True).stdout


def without_tags(code: bytes) -> Iterator[Bundle]:
    """The bundles; what a move to a branch register foretells is not in objdump's text."""
    for at in range(0, len(code), BUNDLE):
        bundle = bundles.decode(code[at : at + BUNDLE])
        assert bundle is not None
        yield Bundle(bundle.template, tuple(map(_without_tag, bundle.words)))


def _without_tag(word: int) -> int:
    insn = TABLE.decode(word)
    assert insn is not None, hex(word)
    cleared = {o.name: 0 for o in insn.op.format.operands if o.name in ("tag13", "ignored")}
    return TABLE.encode(insn.replace(**cleared)) if cleared else word


@pytest.mark.parametrize("name", NAMES)
def test_real_code_from_its_disassembly(name: str) -> None:
    path = inputs.require(name)
    for address, data in texts(path):
        start = len(data) // 3 // BUNDLE * BUNDLE
        part = data[start : start + PART]
        listing = disassembled(path, address + start, address + start + len(part))
        made = assemble("\n".join(explicit(listing)), address + start).code
        assert list(without_tags(made)) == list(without_tags(part))


def gnu(source: str, folder: Path) -> tuple[bytes, str]:
    """What `as -x` makes of the text, and what it says."""
    gas = inputs.require_tool("ia64-linux-gnu-as")
    (folder / "text.s").write_text(source)
    command = (gas, "-x", "-o", folder / "text.o", folder / "text.s")
    said = subprocess.run(command, capture_output=True, check=True, text=True).stderr
    with (folder / "text.o").open("rb") as stream:
        return ELFFile(stream).get_section_by_name(".text").data(), said


# By unit, what is spelled otherwise than in the table; as reads all of it.
SPELLINGS = {
    "m": """
        alloc r34=ar.pfs,2,3,4,8; mov r8=r9; mov ret0=-1; mov r8=0x1fffff; (p6) mov sp=gp
        add r8=8,r9; add r8=100000,r3; cmp.ne p6,p7=r8,r9; cmp.ne.unc p6,p7=-3,r9
        cmp.ge p6,p0=r8,r9; cmp.ge p6,p7=5,r9; cmp.gt p6,p7=r8,r9; cmp.gt p6,p7=5,r9
        cmp.le p6,p7=r8,r9; cmp.le.unc p6,p7=-4,r9; cmp4.leu p6,p7=r8,r9; cmp.gtu p6,p7=7,r9
        cmp4.geu p6,p7=7,r9; cmp.ltu p6,p7=7,r9; mov ar.ccv=r9; mov r9=ar.itc; mov r8=ar.unat
        mov ar.fpsr=r8; nop 0; break 0x100; chk.s r8,base; ld8 r8=[r9]; ld4.s.nt1 r8=[r9],-8
        st8.rel [ r9 ] = r8; lfetch.excl.nt2 [in0],64; ldf8 farg1=[r9],8; (p0) add r1=r2,r3
        shladd r8=r9,3,in1; cmp.eq.or.andcm p6,p7=r8,r9; cmp.gt.and p6,p7=r0,r9; addp4 r8=-1,r9
        ld8.fill r8=[r9]; fetchadd8.acq r8=[r9],-1; setf.sig f8=r9; and r8=-8,r9; andcm r8=-1,r9
    """,
    "i": """
        shl r8=r9,3; shr r8=r9,60; (p63) shr.u r8=r9,1; shl r8=r9,r10; shr.u r8=r9,r10
        extr.u r8=r9,3,8; dep r8=r9,r10,8,8; dep.z r8=-1,3,3; tbit.nz p6,p7=r8,3
        tnat.nz.unc p6,p7=r8; tbit.z.and p6,p7=r8,0; mov b6=r8; mov rp=r8; mov r8=b6; mov pr=r8
        mov pr=r8,-2; mov pr=r8,0xfffffffffffffffe; mov pr.rot=1<<16;
        mov ar.lc=r8; mov ar.ec=3; mov r8=ar.pfs; mov r8=pr; mov r8=ip; chk.s r8,base; nop 1
        mux1 r8=r9,@brcst; mux2 r8=r9,0x1b; czx1.r r8=r9; popcnt r8=r9; shrp r8=r9,r10,63
        pmpyshr2.u r8=r9,r10,7; mov.ret.sptk b0=r8,base; pshl4 r8=r9,5; unpack1.h r8=r9,r10
    """,
    "f": """
        mov f8=f9; fneg f8=f9; fabs f8=f9; fnegabs f8=f9; fadd.d.s1 f8=f9,f10; fadd f8=f9,f10
        fsub.s f8=f9,f10; fmpy.d f8=f9,f10; fnmpy.s0 f8=f9,f10; fpmpy.s2 f8=f9,f10; fpneg f8=f9
        fnorm.d f8=f9; xmpy.hu f8=f9,f10; xma.lu f8=f9,f10,f11; xmpy.l f8=f9,f10; nop 0
        frcpa.s1 f8,p6=f9,f10; fma.d f8=f9,f10,f11; fcvt.fx.trunc.s1 f8=f9; fclass.m p6,p7=f8,3
    """,
    "b": """
        br base; (p6) br.dptk base; br.few b6; br.cond.spnt.many.clr base; br.ret.sptk.many rp
        br.ret.sptk rp; br.call.sptk.many b0=base; br.cloop.sptk base; br.ctop.dptk base; nop 0
        (p6) br.wtop.dptk.few base; brp.loop.imp base,base; br.call.sptk b0=b6; br.cexit.spnt base
    """,
    "x": """
        movl r8=0x123456789abcdef0; movl r8=-1; brl base; (p6) brl.cond.dptk.many base; nop 0
        brl.call.sptk.many b0=base
    """,
}
AROUND = {
    "m": "{{ .mii; {}; nop.i 0; nop.i 0 }}",
    "i": "{{ .mib; nop.m 0; {}; nop.b 0 ;; }}",
    "f": "{{ .mfi; nop.m 0; {}; nop.i 0 }}",
    "b": "{{ .bbb; nop.b 0; nop.b 0; {} }}",
    "x": "{{ .mlx; nop.m 0; {}; }}",
}


@pytest.mark.parametrize("unit", SPELLINGS)
def test_other_spellings_as_gnu_as_reads_them(unit: str, tmp_path: Path) -> None:
    statements = [s.strip() for s in re.split(r"[;\n]", SPELLINGS[unit]) if s.strip()]
    bodies = "\n".join(AROUND[unit].format(statement) for statement in statements)
    source = f"base:\n{bodies}\n{{ .mii; nop.m 0; nop.i 0; nop.i 0 ;; }}\n"
    theirs, _ = gnu(source, tmp_path)
    assert assemble(source.replace("1<<16", "0x10000")).code == theirs


PLAIN = ("add r8=r9,r10", "ld8 r8=[r9]", "shl r8=r9,3", "fma.d f8=f9,f10,f11", "movl r8=1")
_NOPS = ("nop.",)


@settings(max_examples=100, derandomize=True)
@given(st.lists(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=7), min_size=1, max_size=4))
def test_groups_become_bundles_in_order(groups_of_text: list[list[str]]) -> None:
    """The same instructions in the same groups, and no bundle of nops alone."""
    code = assemble(" ;;\n".join("; ".join(group) for group in groups_of_text) + " ;;").code
    slots = list(bundles.straight(code, 0))
    made = [[s.insn for s in group if not s.insn.name.startswith(_NOPS)] for group in groups(slots)]
    wanted = [[instruction_of(text) for text in group] for group in groups_of_text]
    assert [[i.replace(slot=0) if i.has("slot") else i for i in g] for g in made] == wanted
    for at in range(0, len(code), BUNDLE):
        inside = [s.insn.name for s in slots if s.address // BUNDLE == at // BUNDLE]
        assert not all(name.startswith(_NOPS) for name in inside)


def instruction_of(text: str) -> Insn:
    """The only instruction of a bundle made for it."""
    slots = bundles.straight(assemble(text).code, 0)
    (insn,) = (slot.insn for slot in slots if not slot.insn.name.startswith(_NOPS))
    return insn.replace(slot=0) if insn.has("slot") else insn


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("add r8=r9,f10", "line 1: f10 cannot be the operand r3: add r8=r9,f10"),
        ("\nadds r8=8192,r9", "line 2: operand imm14=8192 does not fit its 14-bit field"),
        ("frobnicate r8", "line 1: there is no such instruction: frobnicate r8"),
        (
            "{ .mii; nop 0; nop 0; ld8 r8=[r9] }",
            "line 1: there is no such instruction of an I slot",
        ),
        ("{ .mmb; nop 0 ;; nop 0; nop 0 }", "line 1: no template is 'mmb' with stops behind slots"),
        ("{ .mii; nop 0 }", "line 1: 1 instructions in a bundle .mii"),
        ("br there", "line 1: there is not defined"),
        ("a: a: nop.i 0", "line 1: a is already defined"),
        ("r8: nop.i 0", "line 1: r8 is already defined"),
        (";;", "line 1: there is no instruction before this stop"),
        (".frob 1", "line 1: there is no directive .frob"),
        (".rotr w[2]; mov w[2]=r8", "line 1: w has no element 2"),
        ("mov r8=r9 ;; (p6) mov r8=q9", "line 1: q9 is no register"),
        ("cmp.leu p6,p7=0,r9", "line 1: no unsigned number is below 0"),
        ("}", "line 1: there is no bundle to close"),
    ],
)
def test_what_means_nothing_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AssemblyError, match=re.escape(problem)):
        assemble(text)
