"""The PowerPC assembler against GNU as and Keystone, byte for byte, and what it refuses."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures import inputs
from targets.assembly import AssemblyError
from targets.ppc import routines
from targets.ppc.asm.assembler import assemble
from targets.ppc.asm.extended import takes_label
from targets.ppc.asm.source import statements, value, valued

OURS = [(folder, name) for folder in routines.FOLDERS for name in routines.names(folder)]
CPUS = {
    "750": "-m750cl",
    "7450": "-m7450",
    "970": "-mpower4 -maltivec",
    "power4": "-mpower4",
    "power8": "-mpower8",
    "power9": "-mpower9",
}


def _as(text: str, width: int, byteorder: str, cpu: str, folder: Path) -> bytes:
    """What GNU as makes of a text, which fills with nop alone; a warning is an error."""
    text = re.sub(r"\.p2align (\d+)", r".p2alignl \1,0x60000000", re.sub(" +", " ", text))
    source, made, code = (folder / name for name in ("x.s", "x.o", "x.bin"))
    source.write_text(text, encoding="utf-8")
    tool, copy = (inputs.require_tool(f"powerpc64-linux-gnu-{name}") for name in ("as", "objcopy"))
    order = "-mlittle" if byteorder == "little" else "-mbig"
    options = (f"-a{width}", order, *cpu.split(), "-mregnames", "--fatal-warnings")
    subprocess.run((tool, *options, "-o", made, source), check=True)
    subprocess.run((copy, "-O", "binary", "-j", ".text", made, code), check=True)
    return code.read_bytes()


@pytest.mark.parametrize(("folder", "name"), OURS)
def test_routines_as_gnu_as_makes_them(folder: str, name: str, tmp_path: Path) -> None:
    routine, machine = routines.routine(folder, name), routines.FOLDERS[folder]
    parts = statements(routine.text, name, *routines.sources(folder))
    text = "\n".join(part.text for part in parts)
    made = _as(text + "\n", machine.width, machine.byteorder, CPUS[folder], tmp_path)
    assert made == routine.code


UNKNOWN = """cnttzd lxv lxvl lxvx maddhdu maddld mtvsrdd mtvsrws stxv stxvl vclzlsbb vcmpneb
             vcmpneb. vcmpnezb vcmpnezb. vctzlsbb vextubrx"""
"""What Keystone does not know, which is of 2016: instructions of ISA 3.0."""


def test_routines_as_keystone_makes_them() -> None:
    """Every instruction of every routine, each by itself; Keystone is no part of the product."""
    pytest.importorskip("keystone", reason="pip has keystone-engine for x86-64 alone")
    from tests.support import keystone_words

    unknown, same = set[str](), 0
    for folder, name in OURS:
        for mnemonic, operands, word in _words(folder, name):
            width = routines.FOLDERS[folder].width
            if takes_label(mnemonic):
                condition, comma, distance = operands.rpartition(",")
                theirs = keystone_words.branch(width, mnemonic, condition + comma, int(distance))
            else:
                theirs = keystone_words.word(width, mnemonic, operands)
            if theirs is None:
                unknown.add(mnemonic)
            else:
                assert f"{theirs:08x}" == f"{word:08x}", (folder, name, mnemonic, operands)
                same += 1
    assert unknown == set(UNKNOWN.split())
    assert same > 5000


def _words(folder: str, name: str) -> Iterator[tuple[str, str, int]]:
    """Each instruction of a routine: mnemonic, operands with numbers for symbols, and our word."""
    routine, machine = routines.routine(folder, name), routines.FOLDERS[folder]
    files = {"file": name, "folders": routines.sources(folder)}
    made = assemble(routine.text, width=machine.width, byteorder=machine.byteorder, **files)
    at = 0
    for one in statements(routine.text, name, *routines.sources(folder)):
        if one.mnemonic == ".p2align":
            at += -at % (1 << value(one.operands, made.labels))
        elif not one.text.startswith(".") and "=" not in one.text and not one.text.endswith(":"):
            operands = valued(one.operands, made.labels)
            if takes_label(one.mnemonic):
                condition, comma, target = operands.rpartition(",")
                operands = f"{condition}{comma}{int(target) - at}"
            word = int.from_bytes(made.code[at : at + 4], machine.byteorder)
            yield one.mnemonic, operands, word
            at += 4
    assert at == len(made.code)


LATER = """
        lxvl    vs33,r3,r4
        stxvl   vs5,r3,r4
        lxvll   vs63,r31,r0
        stxvll  vs63,0,r31
        lxv     vs33,16(r3)
        lxv     vs2,-32768(r3)
        stxv    vs33,32752(r31)
        lxvx    vs33,r3,r4
        stxvx   vs12,r3,r4
        lxvwsx  vs33,0,r4
        lxvb16x vs33,r3,r4
        stxvb16x vs33,r3,r4
        cnttzd  r3,r4
        cnttzw  r30,r4
        vctzlsbb r3,v4
        vclzlsbb r3,v4
        vcmpnezb. v1,v2,v3
        vcmpnezb v31,v2,v3
        vcmpneb. v1,v2,v3
        vcmpneb v1,v2,v3
        mtvsrws vs33,r3
        mtvsrdd vs33,r3,r4
        mfvsrld r3,vs33
        xxspltib vs33,255
        vextublx r3,r4,v5
        vextubrx r3,r4,v5
back:   b       ahead
        bdnz    back
        bdnzt   4*cr6+eq,back
        bnl     cr7,back
        .p2align 5
ahead:  bl      back
        blr
"""


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_later_instructions_and_branches(byteorder: str, tmp_path: Path) -> None:
    ours = assemble(LATER, width=64, byteorder="little" if byteorder == "little" else "big")
    assert ours.code == _as(LATER, 64, byteorder, "-mpower9", tmp_path)


def test_labels_constants_and_addresses() -> None:
    text = "SIZE = 8+OTHER-2\nstart: nop\nhere: addi r3,r4,SIZE\n b here\n"
    made = assemble(text, width=32, byteorder="big", base=0x1000, symbols={"OTHER": 4})
    assert made.labels == {"SIZE": 10, "start": 0x1000, "here": 0x1004}
    assert made.code.hex() == "600000003864000a4bfffffc"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nop\n b nowhere", "x.s, line 2: nowhere is not defined: b nowhere"),
        ("a: nop\na: nop", "x.s, line 2: a is already defined: a:"),
        ("r3: nop", "r3 is a register"),
        (" lwz r3,70000(r4)", "operand d=70000 does not fit its 16-bit field"),
        (" stw r0,-4(r1,", "operands are not of the form {rs},{d}({ra0})"),
        (" bogus r3,r4", "there is no instruction bogus"),
        (" lxv vs1,8(r3)", "8 does not fit"),
        (" lxvl vs1,r3", "operands are not of the form {xt},{ra0},{rb}: lxvl"),
        (" lxvl vs64,r3,r4", "vs64 is not defined"),
        ("x: bne- x", "a hint means different things"),
        (" .long 5", "there is no directive .long"),
        (" beq far\n" + " nop\n" * 8191 + "far: nop", "is 32768 bytes away, 32768 are reached"),
        ("X = 5 +* 3", "'5 +* 3' is no value"),
        (" mtcrf 300,r3", "operand fxm=300 does not fit its 8-bit field"),
        (" add r3,v4,r5", "operand ra=100 does not fit its 5-bit field"),
        (" addi r3,r0,5", "operand ra0 cannot be 0"),
        (" lwz r3,0(f1)", "operand ra0 cannot be 65"),
        (" cmpwi cr9,r3,1", "cr9 is not defined"),
        (" add r3,4,r5", "4 is no register of ra"),
        (" li r3,5,6", "li has another number of operands"),
        (" dcbt r3,r4,0,5", "dcbt has another number of operands"),
        (" sldi r3,r4,64", "64 is no place in 64 bits"),
        (" slwi r3,r4,-1", "-1 is no place in 32 bits"),
        (" lis r3,70000", "70000 does not fit 16 bits"),
        ("x: beq cr1,cr2,x", "beq has another number of operands"),
        ("x: bdnz eq,x", "bdnz has another number of operands"),
        ("x: bdnzt x", "bdnzt has another number of operands"),
        (" blr eq", "blr has another number of operands"),
        ("x: b cr1,x", "operands are not of the form {li}"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    """With file, line and text."""
    with pytest.raises(AssemblyError) as caught:
        assemble(text, width=64, byteorder="big", file="x.s")
    assert problem in str(caught.value)


def test_a_machine_of_32_bits_has_no_64_bit_instructions() -> None:
    with pytest.raises(AssemblyError, match="no instruction ld of 32 bits"):
        assemble("ld r3,8(r4)", width=32, byteorder="big")


def test_the_farthest_branches(tmp_path: Path) -> None:
    text = (
        "near: nop\n" + " nop\n" * 8191 + " bne near\n beq far\n" + " nop\n" * 8190 + "far: nop\n"
    )
    made = assemble(text, width=32, byteorder="big")
    assert made.code == _as(text, 32, "big", "-m7450", tmp_path)
