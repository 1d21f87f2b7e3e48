"""Every PowerPC routine of ours against its contract: under qemu on each machine that it is for,
and the 32-bit ones under Unicorn, which sees pages and stores that are none of the case's."""

from __future__ import annotations

from functools import cache
from itertools import islice

import pytest
from ppc_unicorn import MODELS, Guarded

from fixtures import inputs
from rewriter.contracts import CONTRACTS
from rewriter.core.code.dataflow import written
from rewriter.core.edit import Evidence
from rewriter.core.isa.registers import register_mask
from rewriter.core.readings.machine import ByteOrder
from rewriter.verify.trials.engines.sweep import Code, Sweep
from rewriter.verify.trials.image import code_at
from rewriter.verify.trials.records import Chunk, chunks
from rewriter.verify.trials.steps import Stepper
from rewriter.verify.trials.trial import Counterexample, sweep
from targets.ppc import routines
from targets.ppc.asm.assembler import assemble
from targets.ppc.isa import table
from targets.ppc.linkage import linkages
from targets.ppc.registers import FPR, NAMES, VR
from targets.ppc.trial_program import PpcSweep, PpcTrials
from tests.support.depth import depth
from tests.support.ppc_trials import MutantTrials
from tests.support.trial_mutants import Fate, Mutants

MACHINES = {
    "750": PpcSweep(linkages(32)["standard"], 32, "big", "750", vectors=False),
    "7450": PpcSweep(linkages(32)["standard"], 32, "big", "7450", vectors=True),
    "970": PpcSweep(linkages(64)["standard"], 64, "big", "970", vectors=True),
    "power4": PpcSweep(linkages(64)["standard"], 64, "big", "970", vectors=True),
    "power8": PpcSweep(linkages(64)["standard"], 64, "little", "power8", vectors=True),
    "power9": PpcSweep(linkages(64)["standard"], 64, "little", "power9", vectors=True),
}
"""Each folder of routines, and the machine that runs them."""
LIMBS = ("mpn_mul_1", "mpn_addmul_1", "mpn_submul_1")
OWN = {"power4": ("memcpy", "mempcpy", "memmove"), "power8": LIMBS[1:]}
"""Routines of a folder that are run, where another folder has all others from it."""
OURS = [(folder, name) for folder in MACHINES for name in OWN.get(folder, routines.names(folder))]


NEEDS = {
    "750": set(),
    "7450": {"ALTIVEC"},
    "970": {"64", "2.00", "ALTIVEC"},
    "power4": {"64", "2.00"},
    "power8": {"64"},
    "power9": {"64", "2.05", "2.07", "3.0", "64-3.0", "ALTIVEC", "ISEL"},
}
"""Features that a CPU must have for the routines of a folder."""
HAVING_LIMBS = {"power8": LIMBS, "power9": LIMBS}
STRINGS = (
    *("memcpy", "mempcpy", "memmove", "memset", "bzero", "memcmp", "memchr", "rawmemchr"),
    *("strlen", "strnlen", "strcpy", "stpcpy", "strncpy", "strcat"),
    *("strchr", "strrchr", "strcmp", "strncmp"),
)


def _code(folder: str, name: str) -> Code:
    return code_at(routines.routine(folder, name), MACHINES[folder].routine)


@cache
def _prepared(name: str, width: int, byteorder: ByteOrder) -> tuple[Chunk, ...]:
    program = next(p for p in MACHINES.values() if (p.width, p.byteorder) == (width, byteorder))
    points = islice(CONTRACTS[name].points(), 0, None, depth(13, 1))
    return tuple(chunks(CONTRACTS[name], points, program.arena, program.capacity, byteorder))


@pytest.mark.parametrize("folder", MACHINES)
def test_what_there_is_and_what_it_needs(folder: str) -> None:
    names = routines.names(folder)
    assert set(names) == {*(STRINGS if folder != "power8" else ()), *HAVING_LIMBS.get(folder, ())}
    found = {need for name in names for need in routines.routine(folder, name).needs}
    assert found <= NEEDS[folder]


@pytest.mark.parametrize("folder", MACHINES)
def test_what_passes_vectors_and_numbers_is_left_alone(folder: str) -> None:
    """A function that is called for the first time has its arguments there while the dynamic loader
    looks for it, which may come to any routine of the C library."""
    machine = MACHINES[folder]
    rows = table(machine.width, machine.byteorder)
    passing = register_mask(machine.linkage.others)
    assert passing & 1 << VR + 2 and passing & 1 << VR + 13 and passing & 1 << FPR + 1
    for name in routines.names(folder):
        for one in routines.variants(name, machine.width, machine.byteorder):
            taken = passing & written(rows, one.insns())
            assert not taken, (one.folder, one.name, _named(taken))


def _named(mask: int) -> list[str]:
    return [name for number, name in enumerate(NAMES) if mask >> number & 1]


@pytest.mark.parametrize(("folder", "name"), OURS)
def test_every_shape(folder: str, name: str) -> None:
    """In few shapes every thirteenth, which goes through all alignments and lengths."""
    program = MACHINES[folder]
    inputs.require_tool(program.emulator[0])
    prepared = _prepared(name, program.width, program.byteorder)
    with Sweep(program) as engine:
        found = sweep(_code(folder, name), CONTRACTS[name], prepared, engine)
    assert isinstance(found, Evidence), str(found)
    assert found.cases == sum(len(chunk) for chunk in prepared) > 300


@pytest.mark.parametrize(("folder", "name"), [(f, n) for f, n in OURS if f in MODELS])
def test_nothing_else_is_touched(folder: str, name: str) -> None:
    """Under Unicorn only the pages of the case are there."""
    program, contract = MACHINES[folder], CONTRACTS[name]
    guarded = Guarded(_code(folder, name), contract, program)
    for _, point in islice(contract.few(), 0, None, depth(7, 1)):
        assert not guarded.problem(contract.case(program.arena, point)), point


STEPPED = [
    (folder, name)
    for folder in MACHINES
    for name in routines.names(folder)
    if folder not in ("7450", "970") or "ALTIVEC" in routines.routine(folder, name).needs
]
"""What a 7450 has from the 750, and a 970 from the POWER4, is tried once."""


@pytest.mark.parametrize(("folder", "name"), STEPPED)
def test_step_by_step(folder: str, name: str) -> None:
    """No byte behind a page's end, none written outside, whatever the size of a cache block."""
    program, contract = MACHINES[folder], CONTRACTS[name]
    trials = PpcTrials(program.width, program.byteorder)
    stepper = Stepper(
        _code(folder, name),
        contract,
        program,
        trials.table,
        {},
        arithmetic=trials.arithmetic,
        worlds=trials.worlds,
    )
    for _, point in islice(contract.few(), 0, None, depth(17, 1)):
        assert not stepper.problem(contract.case(program.arena, point)), point


@pytest.mark.parametrize(
    ("folder", "name"), [("750", "strlen"), ("7450", "memset"), ("power9", "strlen")]
)
def test_most_mutants_are_killed(folder: str, name: str) -> None:
    """Of the mutants that change what an instruction does, seven in ten are killed.

    A head that takes more bytes than it must, or a larger number of which five bits count, is no
    less right; nor are flags that nothing reads.  Of a small draw three may be such.
    """
    program, contract = MACHINES[folder], CONTRACTS[name]
    inputs.require_tool(program.emulator[0])
    code = _code(folder, name)
    span = code.entry, len(code.parts[0][1])
    with Sweep(program) as engine:
        trials = MutantTrials(program.width, program.byteorder, program)
        found = Mutants(code, span, contract, trials, engine).strength(depth(25, 150))
    same = sum(found.fates[fate] for fate in (Fate.NOP, Fate.HINT, Fate.IGNORED))
    assert found.fates[Fate.KILLED] >= 0.7 * (found.mutants - same), found
    assert found.fates[Fate.NOT_FOUND] <= max(3, 0.1 * found.mutants), found


def _made(
    folder: str, text: str, name: str = "strlen", every: int = 997
) -> Counterexample | Evidence:
    """What a trial of a contract says of a text."""
    program = MACHINES[folder]
    inputs.require_tool(program.emulator[0])
    made = assemble(
        text,
        width=program.width,
        byteorder=program.byteorder,
        folders=routines.sources(folder),
    )
    code = Code("made", ((program.routine, made.code),), program.routine)
    contract = CONTRACTS[name]
    points = islice(contract.points(), 0, None, every)
    prepared = list(chunks(contract, points, program.arena, program.capacity, program.byteorder))
    with Sweep(program) as engine:
        return sweep(code, contract, prepared, engine, microseconds=300_000)


BYTES = """
        addi    r4,r3,-1
loop:   lbzu    r5,1(r4)
        cmpwi   r5,0
        bne     loop
        subf    r3,r3,r4
"""


@pytest.mark.parametrize(
    ("folder", "fault", "problem"),
    [
        ("750", "addi r14,r14,1", "mask 0x4000"),
        ("750", "addi r31,r31,1", "mask 0x80000000"),
        ("750", "crxor 4*cr2+eq,4*cr2+eq,4*cr2+eq\n creqv 4*cr3+lt,4*cr3+lt,4*cr3+lt", "mask 0x1"),
        ("750", "fneg f14,f14", "mask 0x800"),
        ("7450", "vspltisb v20,-1", "mask 0x1000"),
        ("7450", "li r4,-3\n mtspr 256,r4", "mask 0x1000"),
        ("970", "sldi r29,r29,1", "mask 0x20000000"),
        ("970", "fneg f31,f31", "mask 0x800"),
        ("power9", "vspltisb v31,-1", "mask 0x1000"),
        ("power9", "addi r2,r2,8", "mask 0x4"),
        ("power9", "addi r3,r3,1", "the result is"),
        ("750", "stb r4,0(r4)", "wrong in 1 byte of memory: the first, at"),
        ("750", "lwz r5,0(0)", "SIGSEGV"),
        ("750", "fadd f1,f1,f1\n lvx v0,0,r3", "SIGILL"),
        ("power9", "loop2: b loop2", "runs too long"),
    ],
)
def test_a_trial_sees(folder: str, fault: str, problem: str) -> None:
    """One fault each, behind a routine that is right."""
    found = _made(folder, f"{BYTES}{fault}\n blr")
    assert isinstance(found, Counterexample) and problem in found.problem, found


@pytest.mark.parametrize("folder", MACHINES)
def test_a_trial_of_what_is_right(folder: str) -> None:
    assert isinstance(_made(folder, f"{BYTES} blr"), Evidence)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("isel    r8,r8,r5", "isel    r8,0,r5"),  # the last block alone
        ("isel    r8,r8,r3,4*cr6+eq\n        vminub", "li r8,0\n        vminub"),  # or line
        ("beq     cr6,strrchr_back", "nop"),  # the last block of a line that had the byte
        ("cmpldi  cr1,r5,4080", "cmpldi  cr1,r5,4081"),  # a byte behind the page
        ("beq     strrchr_at", "nop"),  # the end itself is sought
        ("vand    v17,v15,v17", "vand    v17,v15,v15"),  # what is behind the end
        ("clrrdi  r3,r3,6", "clrrdi  r3,r3,7"),  # what is in front of the string
    ],
)
def test_a_search_that_forgets(right: str, wrong: str) -> None:
    """strrchr for POWER9 with one fault: where the byte was long ago, and at edges."""
    _refused("strrchr", routines.routine("power9", "strrchr").text, right, wrong)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("andi.   r5,r5,4032", "andi.   r5,r5,4064"),  # 32 bytes behind the page
        ("cmpld   r8,r5", "cmpldi  r8,16"),  # what lies behind the page is an end
        ("bne     string_eight", "nop"),  # an end in the second word
        ("vsldoi  v1,v1,v1,8", "nop"),  # its bytes
        ("vminub  v18,v15,v16", "vminub  v18,v15,v15"),  # the fourth block
        ("vcmpgtub. v18,v19,v18       #", "vcmpgtub. v18,v19,v0 #"),  # the second of a line
        ("vminub  v18,v1,v14", "vminub  v18,v14,v14"),  # the first of a line behind the fifth
        ("bdnzt   4*cr6+lt,string_lines", "bdnz    string_lines"),  # all of such lines
        ("bdnzt   4*cr6+lt,string_next", "bdnzf   4*cr6+lt,string_next"),
        ("li      r7,48", "li      r7,32"),  # where the block of the end is
        ("subf    r5,r6,r4", "subf    r5,r6,r9"),  # a source that is not at a line
        ("stxvl   vs33,r6,r5", "stxv    vs33,0(r6)"),  # bytes behind the end
        ("stbx    r0,r6,r7", "nop"),  # the end
    ],
)
def test_a_copy_that_forgets(right: str, wrong: str) -> None:
    """strcpy for POWER9 with one fault."""
    shared = next(folder / "string.s" for folder in routines.sources("power9"))
    body = shared.read_text(encoding="utf-8")
    text = routines.routine("power9", "strcpy").text.replace(".include string", f"\n{body}")
    _refused("strcpy", text, right, wrong)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("cmpldi  r6,4080", "cmpldi  r6,4090"),  # 16 bytes behind a page
        ("cmpldi  cr1,r7,4080", "cmpldi  cr1,r7,4090"),
        ("cmpld   r6,r5", "cmpldi  r6,16"),  # what is behind the end counts
        ("cmpldi  cr1,r5,1", "cmpldi  cr1,r5,3"),  # two or three bytes are one
        ("sldi    r6,r5,56", "li      r6,-1"),  # all sixteen at a page's end
        ("srdi    r0,r6,5", "srdi    r0,r6,6"),  # a pair of blocks
        ("lxv     vs47,-16(r7)", "lxv     vs47,-32(r7)"),  # the last block
        ("vnor    v0,v0,v14", "vnor    v0,v0,v0"),  # the second block of a line
        ("vor     v16,v16,v18", "vor     v16,v16,v16"),  # the fourth
        ("li      r0,2", "li      r0,1"),  # the second half of the last line
        ("andi.   r0,r6,32", "andi.   r0,r6,0"),  # what is left behind lines
        ("subf    r6,r0,r6", "nop"),  # bytes in front of a multiple of 16
    ],
)
def test_a_comparison_that_forgets(right: str, wrong: str) -> None:
    """memcmp for POWER9 with one fault."""
    _refused("memcmp", routines.routine("power9", "memcmp").text, right, wrong)


@pytest.mark.parametrize(
    ("folder", "name", "right", "wrong"),
    [
        ("power9", "mpn_mul_1", "addze   r10,r7", "mr r10,r7"),  # a carry of those over
        ("power9", "mpn_mul_1", "addze   r10,r10", "nop"),  # the last one
        ("power9", "mpn_addmul_1", "addic   r10,r10,0", "subfc r9,r10,r10"),  # none at first
        ("power9", "mpn_addmul_1", "std     r11,16(r3)", "std r8,16(r3)"),
        ("power9", "mpn_submul_1", "adde    r11,r11,r7", "addc r11,r11,r7"),  # a borrow
        ("power9", "mpn_submul_1", "maddhdu r10,r8,r6,r9", "mulhdu r10,r8,r6"),
        ("power8", "mpn_addmul_1", "addze   r10,r8", "mr r10,r8"),
        ("power8", "mpn_submul_1", "subf    r10,r7,r8", "mr r10,r8"),
    ],
)
def test_a_product_that_forgets(folder: str, name: str, right: str, wrong: str) -> None:
    """Products of long numbers with one fault."""
    _refused(name, routines.routine(folder, name).text, right, wrong, folder)


@pytest.mark.parametrize(
    ("name", "part", "right", "wrong"),
    [
        ("strlen", "length", "vcmpequb. v1,v1,v0", "vcmpequb. v1,v1,v14"),  # a first block
        ("strlen", "length", "vcmpequb. v14,v14,v0", "vcmpequb. v14,v0,v1"),  # a second one
        ("strlen", "length", "clrrwi  r4,r4,5", "clrrwi  r4,r4,6"),  # what is in front
        ("strlen", "length", "addi    r4,r4,-36", "addi    r4,r4,-32"),
        ("memchr", "find", "vslb    v1,v1,v14", "nop"),  # the byte's upper half
        ("memchr", "find", "vor     v0,v0,v1", "vor     v0,v1,v1"),  # its lower half
        ("memchr", "find", "cmplwi  cr7,r11,10", "cmplwi  cr7,r11,6"),  # words behind the last
        ("memchr", "find", "addi    r11,r11,1", "nop"),  # the last blocks
        ("memchr", "find", "bdnzt   4*cr6+eq,find_blocks", "bt 4*cr6+eq,find_blocks"),
        ("strchr", "either", "vminub  v1,v1,v15", "vminub  v1,v15,v15"),  # the end
        ("strchr", "either", "vminub  v14,v14,v16", "vminub  v14,v14,v14"),  # the byte
        ("strchr", "either", "vminub  v14,v1,v14", "vminub  v14,v14,v14"),  # the first block
        ("strchr", "either", "bne     cr6,either_even", "nop"),
        ("memset", "fill", "andi.   r5,r5,31", "andi.   r5,r5,15"),  # a block behind pairs
        ("memset", "fill", "vslb    v1,v1,v14", "nop"),
    ],
)
def test_vectors_that_forget(name: str, part: str, right: str, wrong: str) -> None:
    """Routines for the 7450 with one fault where vectors are."""
    shared = next(folder / f"{part}.s" for folder in routines.sources("7450"))
    text = routines.routine("7450", name).text
    body = shared.read_text(encoding="utf-8")
    _refused(name, text.replace(f".include {part}", f"\n{body}"), right, wrong, "7450")


def _refused(name: str, text: str, right: str, wrong: str, folder: str = "power9") -> None:
    """A text passes a thirteenth of the shapes, and does not with one fault."""
    assert right in text
    assert isinstance(_made(folder, text, name, 13), Evidence)
    assert isinstance(_made(folder, text.replace(right, wrong), name, 13), Counterexample)
