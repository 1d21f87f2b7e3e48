"""Our IA-64 routines against their contracts, on the group-parallel machine; GNU as on their text.

Every alignment, length and end of a page that the contracts name, speculative loads that are
deferred for no reason, registers that a call preserves, stores outside, illegal groups.
"""

from __future__ import annotations

import re
import subprocess
from itertools import islice, product
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st
from ia64_trials import code_of_routine, libc, ours

from fixtures import inputs
from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import MASK64, Case, Contract
from rewriter.core.code.groups import groups
from rewriter.core.isa.operands import Kind
from rewriter.verify.trials.engines.sweep import Code
from targets.ia64 import routines
from targets.ia64.asm.assembler import assemble
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.groups import violations
from targets.ia64.isa.rows import TABLE
from targets.ia64.machine.trials import ARENA, Trials

NAMES = routines.names()
TUNED = ("memchr", "memmove", "strcmp", "strncmp")  # what glibc has not tuned for this CPU
GRAIN = 16  # bytes: the pages of a memory that defers whatever it can
CASES, DEFERRED = 200, 100


def test_what_glibc_has_not_tuned_is_there() -> None:
    assert set(TUNED) <= set(NAMES) <= set(CONTRACTS)


@pytest.mark.parametrize("name", NAMES)
def test_cases_of_the_contract(name: str) -> None:
    assert not wrong(ours(name), CONTRACTS[name], CASES)


@pytest.mark.parametrize("name", [name for name in NAMES if ".s " in routines.routine(name).text])
def test_loads_that_are_deferred(name: str) -> None:
    assert not wrong(ours(name), CONTRACTS[name], DEFERRED, GRAIN)


@pytest.mark.parametrize("name", TUNED)
def test_the_libcs_keep_the_same_contracts(name: str) -> None:
    assert not wrong(libc(name), CONTRACTS[name], DEFERRED)


def wrong(code: Code, contract: Contract, cases: int, grain: int = 0) -> str:
    """The first problem among about so many cases, spread over all plans."""
    trials = Trials(code, grain)
    points = [point for _, point in contract.few()]
    for point in islice(points, 0, None, max(1, len(points) // cases)):
        try:
            problem = trials.problem(contract, contract.case(ARENA, point))
        except Exception as fault:  # whatever the machine stops for
            problem = f"{type(fault).__name__}: {fault}"
        if problem:
            return f"{problem}: {point}"
    return ""


_DRAWN = {"count": st.integers(0, 400)} | {
    name: st.integers(0, 63) for name in ("to", "source", "first", "second")
}


def _points(contract: Contract) -> st.SearchStrategy[dict[str, int]]:
    """Shapes off the grid: any length, any alignment to a line."""
    return st.one_of(
        [
            st.fixed_dictionaries(
                {n: _DRAWN.get(n, st.sampled_from(sorted(v))) for n, v in plan.axes.items()}
            )
            for plan in contract.plans
            if plan.axes
        ]
    )


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("_page")])
def test_shapes_off_the_grid(name: str) -> None:
    contract, trials = CONTRACTS[name], Trials(ours(name))

    @settings(max_examples=60, derandomize=True)
    @given(_points(contract))
    def check(point: dict[str, int]) -> None:
        assert not trials.problem(contract, contract.case(ARENA, point))

    check()


_WIDE = st.integers(1, 64).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))


def test_any_division() -> None:
    """Any divisor and quotient, and dividends around their product."""
    both = [(CONTRACTS[name], Trials(ours(name))) for name in ("divqu", "remqu", "divq", "remq")]

    @settings(max_examples=150, derandomize=True)
    @given(_WIDE, _WIDE, st.integers(-1, 1))
    def check(divisor: int, quotient: int, beside: int) -> None:
        divisor = divisor or 1
        quotient = min(quotient, MASK64 // divisor)
        arguments = ((quotient * divisor + beside) & MASK64, divisor)
        for contract, trials in both:
            if arguments != (1 << 63, MASK64):  # a quotient that does not fit
                assert not trials.problem(contract, Case(arguments, ()))

    check()


@pytest.mark.parametrize("byte", [0, 2])  # of the contract's: zero, and another
def test_long_fills(byte: int) -> None:
    """Just and far enough for passes of 64 bytes, which leave after any number of them."""
    contract, trials = CONTRACTS["memset"], Trials(ours("memset"))
    for count in (*range(84, 92), *range(148, 164), 215, 280, 1000, 4097):
        for to in range(16):
            case = contract.build(ARENA, count=count, to=to, place=0, byte=byte)
            assert not trials.problem(contract, case)


@pytest.mark.parametrize("distance", [0, 8, -8, 13, -13, 1000, -1000])
def test_long_moves(distance: int) -> None:
    """Long enough for the loops whose loads run far ahead; 0: two buffers."""
    contract, trials = CONTRACTS["memmove"], Trials(ours("memmove"))
    where = {"distance": distance} if distance else {"source": 5, "place": 0}
    for count in (1040, 2048, 2064, 2087, 3001):
        for to in (0, 3):
            assert not trials.problem(contract, contract.build(ARENA, count=count, to=to, **where))


@pytest.mark.parametrize("distance", [0, 5, -5])
def test_moves_of_a_few_words(distance: int) -> None:
    """Fewer words than a loop has stages, and some more; 0: two buffers."""
    contract, trials = CONTRACTS["memmove"], Trials(ours("memmove"))
    for count, to, source in product(range(14, 58), range(8), range(8)):
        if distance and source:
            continue
        where = {"distance": distance} if distance else {"source": source, "place": 0}
        assert not trials.problem(contract, contract.build(ARENA, count=count, to=to, **where))


@pytest.mark.parametrize("name", NAMES)
def test_gnu_as_makes_the_same_and_warns_of_nothing(name: str, tmp_path: Path) -> None:
    code = routines.routine(name).code
    assert gnu(code, tmp_path) == (code, "")


@pytest.mark.parametrize("name", NAMES)
def test_a_routine_stands_anywhere_on_its_boundary(name: str) -> None:
    text = routines.routine(name).text
    assert assemble(text, 3 * routines.ALIGNMENT).code == routines.routine(name).code


def test_gnu_as_warns_of_a_stop_that_is_missing(tmp_path: Path) -> None:
    text = routines.routine("memchr").text
    made = assemble(text.replace("adds    r17=-32,r17", "adds    r17=-32,r17; add r9=r17,r9", 1))
    assert "violates RAW dependency" in gnu(made.code, tmp_path)[1]


def gnu(code: bytes, folder: Path) -> tuple[bytes, str]:
    """What `as -x` makes of the code's text, and what it says."""
    gas = inputs.require_tool("ia64-linux-gnu-as")
    source, made = folder / "text.s", folder / "text.o"
    source.write_text(explicit(code))
    command = (gas, "-x", "-o", made, source)
    said = subprocess.run(command, capture_output=True, check=True, text=True).stderr
    with made.open("rb") as stream:
        return ELFFile(stream).get_section_by_name(".text").data(), said


def explicit(code: bytes) -> str:
    """The code as text for `as -x`; what tells it that predicates exclude each other it finds."""
    lines = [".text", "base:"]
    for at in range(0, len(code), BUNDLE):
        bundle = bundles.decode(code[at : at + BUNDLE])
        assert bundle is not None
        lines.append(f"{{ .{bundle.template.name.lower()}")
        for number, word in enumerate(bundle.words):
            insn = TABLE.decode(word)
            assert insn is not None
            text = TABLE.text(insn, at).replace("(p0", "(p")
            if any(operand.kind is Kind.TARGET for operand in insn.op.format.operands):
                text = re.sub(r"(?<=[ ,=])0x[0-9a-f]+$", r"base+\g<0>", text)
            if insn.name == "alloc":
                own, rest = insn.operand("sol"), insn.operand("sof") - insn.operand("sol")
                text = f"{text.partition(',')[0]},0,{own},{rest},{insn.operand('sor')}"
            stop = ";;" if bundle.template.slot_of(number) in bundle.template.stops else ""
            lines.append(f"  {text} {stop}")
        lines.append("}")
    return "\n".join((*lines, ""))


@pytest.mark.parametrize("name", NAMES)
def test_no_group_is_illegal(name: str) -> None:
    for group in groups(routines.routine(name).slots()):
        assert not [v for v in violations([slot.insn for slot in group]) if v.certain]


def test_a_routine_is_asked_for_by_its_name() -> None:
    with pytest.raises(FileNotFoundError):
        routines.routine("memfrob")


# A change of a routine's text, and what a trial says of it.
MUTANTS = (
    ("memchr", "adds    r18=-8,r15", "adds    r18=-7,r15", "AccessFault"),
    ("memchr", "  (p8)  mov     r21=in2", "        nop 0", "gives"),
    ("memchr", "shr.u   r19=r19,r20", "nop 0", "gives"),
    ("memchr", "mov     pr=r9,-2", "nop 0", "changes p"),
    ("memchr", "tnat.nz p7,p0=z[1]", "cmp.ne p7,p0=r0,r0", "NatConsumption"),
    ("memmove", "mov     ar.lc=r10", "nop 0", "changes ar.lc"),
    ("memmove", "  (p11) st1     [r30]=r29", "  (p11) st2     [r30]=r29", "leaves other memory"),
    ("memmove", "  (p10) st4     [r3]=r16", "        nop 0", "leaves other memory"),
    ("memmove", "shladd  r23=r20,3,r0", "shladd  r23=r20,2,r0", "leaves other memory"),
    ("memmove", "sub     r17=in0,in1", "sub     r17=in1,in0", "leaves other memory"),
    ("memmove", "cmp.lt  p11,p0=8,r2", "cmp.lt  p11,p0=7,r2", "AccessFault"),
    ("memmove", "add     r28=in1,r27 ;;", "add     r28=in1,r27", "GroupViolation"),
    ("memmove", "cmp.ne  p7,p0=r19,r28", "cmp.ne  p7,p0=r26,r28", "AccessFault"),
    ("__copy_user", "mov     r8=r21", "nop 0", "gives"),
    ("__copy_user", "mov     from=in1", "mov     from=in0", "gives"),
    ("__clear_user", "mov     r8=r23", "nop 0", "gives"),
    ("memset", "mux1    r16=in1,@brcst", "mov     r16=in1", "leaves other memory"),
    ("strlen", "shr.u   r16=r16,r17", "nop 0", "AccessFault"),
    ("memcmp", "cmp.lt  more[2],p0=r0,r25 ;;", "cmp.eq  more[2],p0=r0,r0 ;;", "AccessFault"),
    ("memcmp", "cmp.lt.and p6,p0=r0,r25", "nop 0", "AccessFault"),
    ("divq", "fcvt.fx.trunc.s1", "fcvt.fx.s1", "gives"),
    ("remqu", "sub     r16=r0,in1", "mov     r16=in1", "gives"),
    ("strcmp", "adds    in0=-32,r14", "adds    in0=-24,r14", "AccessFault"),
    ("strcmp", "mov     pr=r9,-2", "nop 0", "changes p"),
    ("strcmp", "cmp.ne.and p7,p0=r16,r0", "nop 0", "AccessFault"),
    ("strcmp", "ld1.s   r17=[in1],1", "ld1     r17=[in1],1", "AccessFault"),
    ("strcmp", "ld8.s   b[1]=[r23],8", "ld8     b[1]=[r23],8", "AccessFault"),
    ("strncmp", "cmp.ltu p9,p8=8,r25", "cmp.ltu p9,p8=0,r25", "gives"),
    ("strncmp", "(p8)  add     r22=in0,in2", "nop 0", "AccessFault"),
    ("strncmp", "chk.s.m r17,leave", "nop 0", "NatConsumption"),
    ("strncmp", "cmp.lt.and p6,p0=r0,r25", "nop 0", "gives"),
    ("mpn_mul_1", "mov     none[0]=f0", "nop 0", "gives"),
    ("mpn_mul_1", "STAGES = 5", "STAGES = 6", "gives"),
    ("mpn_mul_1", "mov     ar.lc=r2", "nop 0", "changes ar.lc"),
    ("mpn_mul_1", "STAGES = 5", "STAGES = 4", "gives"),
    ("mpn_mul_1", "(p20) stf8", "(p19) stf8", "leaves other memory"),
    ("mpn_addmul_1", "cmp.eq.or carry[0],p0=-1", "cmp.eq.or carry[0],p0=-2", "gives"),
    ("mpn_addmul_1", "STAGES = 4", "STAGES = 5", "AccessFault"),
    ("mpn_addmul_1", "mov     high[0]=f0", "nop 0", "gives"),
    ("mpn_submul_1", "cmp.eq.or borrow[0],p0=0", "cmp.eq.or borrow[0],p0=1", "gives"),
    ("mpn_submul_1", "mov     pr=r9,ROTATING", "nop 0", "changes p"),
    (
        "mpn_add_n",
        "cmp.ltu.unc carry[0],p0=sum[0],u[1]",
        "cmp.ltu.unc carry[0],p0=u[1],v[1]",
        "gives",
    ),
    ("mpn_add_n", "cmp.eq.or carry[1],p0=-1", "cmp.eq.or carry[1],p0=-2", "gives"),
    ("mpn_sub_n", "cmp.eq.or borrow[1],p0=0", "cmp.eq.or borrow[1],p0=1", "gives"),
)


@pytest.mark.parametrize(("name", "old", "new", "problem"), MUTANTS)
def test_trials_find_what_is_wrong(name: str, old: str, new: str, problem: str) -> None:
    text = routines.routine(name).text
    assert old in text
    mutant = code_of_routine(routines.made(name, text.replace(old, new, 1)))
    grain = GRAIN if "tnat" in old or "chk.s" in old else 0
    assert problem in wrong(mutant, CONTRACTS[name], 4 * CASES, grain)
