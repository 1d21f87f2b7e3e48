"""Hints in loops: cases, numbers, real functions, and what the verifier says of others."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs, programs
from passes import lacking
from passes.lib.insert import Declined, Insertion, Setting
from passes.prefetch import Prefetch
from passes.streams.accesses import streams
from passes.streams.bodies import Body
from passes.streams.walk import Walked
from rewriter.analysis.program import Program
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.readings.interpret import Interpreter, Memory
from rewriter.elf.debug_identity import with_old_identity
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.timing import simulate
from rewriter.verify.check import verify
from rewriter.verify.terms.prover import Prover
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.systems import CS20, UP1000
from tests.passes.loops import ALPHA, CODE, DATA, PAGE
from tests.passes.test_cases import BASE, read, text

CASES = sorted((Path(__file__).parents[3] / "fixtures" / "passes" / "prefetch").glob("*.case"))
EV67 = CPUS["ev67"]
FUNCTIONS = ("sub_5f890", "sub_fdc90", "memfrob", "sub_64ec0")
TABLE = ALPHA.table
SUM = (
    "ldq t0,0(a0); lda a0,8(a0); srl t0,32,t1; addq t0,v0,v0; addq t1,v0,v0; srl v0,1,t2;"
    " xor t2,v0,v0; subq a1,1,a1; bne a1,head"
)


def decoded(lines: list[str]) -> tuple[Insn, ...]:
    """A loop's instructions; its label is `head`."""
    code = assemble("\n".join(("head:", *lines)), CODE).code
    words = (int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4))
    return tuple(insn for word in words if (insn := TABLE.decode(word)) is not None)


def found(
    insns: tuple[Insn, ...], cpu: str = "ev67", system: object = UP1000
) -> list[Insertion | Declined]:
    """What the pass makes of a loop."""
    chosen = ALPHA.cpus[cpu]
    if lacking(Prefetch(), ALPHA, chosen):
        return []
    places = tuple((BASE + 4 * n, None if ALPHA.is_nop(i) else i) for n, i in enumerate(insns))
    setting = Setting(ALPHA, chosen, system, Prover(64, 8), frozenset())  # type: ignore[arg-type]
    return list(Prefetch().insertions(Body(places), setting))


def inserted(insns: tuple[Insn, ...], sites: list[Insertion | Declined]) -> list[Insn]:
    """The loop with its hints; the branch back goes where it went."""
    new = {site.address: site.insns for site in sites if isinstance(site, Insertion)}
    body = [i for n, insn in enumerate(insns) for i in new.get(BASE + 4 * n, (insn,))]
    more = 4 * (len(body) - len(insns))
    return [*body[:-1], body[-1].replace(target=body[-1].operand("target") - more)]


def lines(insns: list[Insn]) -> list[str]:
    """As a case writes them."""
    return [*(text(i) for i in insns[:-1]), text(insns[-1]).rpartition(",")[0] + ",head"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case = read(path)
    insns = decoded(case.before)
    sites = found(insns, case.flags["cpu"])
    assert lines(inserted(insns, sites)) == case.after
    assert [f"{s.kind}: {s.reason}" for s in sites if isinstance(s, Declined)] == case.refused
    assert lines(list(insns)) == case.before


def test_there_are_cases() -> None:
    assert len(CASES) >= 9


def test_the_distance_follows_the_machine() -> None:
    """Of a pass of 4 cycles, 32 a line: the slow bus takes 56, so that fewer are under way."""
    insns = decoded(SUM.split("; "))
    (near,), (far,) = (found(insns, system=s) for s in (UP1000, CS20))
    assert isinstance(near, Insertion)
    assert isinstance(far, Insertion)
    lines_ahead = [-(-s.cycles(s.latency.value) // n) for s, n in ((UP1000, 56), (CS20, 32))]
    assert [s.insns[-1].operand("disp") + 8 for s in (near, far)] == [64 * n for n in lines_ahead]


def test_the_model_agrees_with_its_engine() -> None:
    """The whole loop run by the interpreter: cold it takes fewer cycles, warm no more."""
    insns = decoded(SUM.split("; "))
    took = []
    for code in (list(insns), inserted(insns, found(insns))):
        data = b"".join(map(ALPHA.encode, code))
        for warm in (False, True):
            memory = Memory()
            memory.map(CODE, data, write=False)
            memory.map(DATA, bytes(8 * PAGE))
            machine = Interpreter(TABLE, memory, {16: DATA, 17: 256, 0: 0})
            steps = list(machine.steps(CODE, CODE + len(data)))
            took.append(simulate(steps, EV67, UP1000, warm=warm).cycles)
    cold, warm, cold_after, warm_after = took
    assert cold_after < 0.95 * cold
    assert warm_after <= warm


def test_what_is_remembered_of_a_machine_is_not_said_of_another() -> None:
    """Cycles of one loop out of memory: by the CPU, the machine around it, and the passes."""
    insns, took = decoded(SUM.split("; ")), []
    for cpu, system, passes in (
        *(("ev67", UP1000, 64), ("ev67", CS20, 64), ("ev5", UP1000, 64), ("ev67", UP1000, 65)),
        *(("ev67", UP1000, 64), ("ev67", CS20, 64), ("ev5", UP1000, 64), ("ev67", UP1000, 65)),
    ):
        setting = Setting(ALPHA, ALPHA.cpus[cpu], system, Prover(64, 8), frozenset())
        walked = Walked(insns, tuple(streams(insns, ALPHA)), setting)
        took.append(walked.cold((), passes))
    assert took[:4] == took[4:]
    assert len(set(took)) == 4


# On numbers --------------------------------------------------------------------------------------


@st.composite
def bodies(draw: st.DrawFn) -> list[str]:
    """A counted loop over one or two streams."""
    size, name, back = draw(
        st.sampled_from(((8, "ldq", "stq"), (4, "ldl", "stl"), (1, "ldbu", "stb")))
    )
    step = size * draw(st.sampled_from((1, 2, -1)))
    writes = draw(st.booleans())
    body = [f"{name} t0,0(a0)", *([f"{back} t0,0(a2)", f"lda a2,{step}(a2)"] if writes else [])]
    body += [f"lda a0,{step}(a0)", "addq t0,v0,v0", "subq a1,1,a1"]
    body += ["sll v0,1,t1", "xor t1,v0,v0"][: draw(st.integers(0, 2))]
    return [*body, "bne a1,head"]


@given(bodies(), st.integers(0, 1 << 32))
@settings(max_examples=20)
def test_it_does_the_same(body: list[str], seed: int) -> None:
    """A run of the whole loop at the edge of what is mapped: hints reach beyond it, unseen."""
    insns, draw = decoded(body), random.Random(seed)
    content, passes = draw.randbytes(PAGE), draw.randrange(1, 40)
    ends = []
    for code in (list(insns), inserted(insns, found(insns))):
        memory = Memory()
        memory.map(CODE, b"".join(map(ALPHA.encode, code)), write=False)
        memory.map(DATA, content)
        down = any("lda a0,-" in line for line in body)
        place = DATA + (PAGE - 8 if down else 0)
        registers = {16: place, 17: passes, 18: place ^ 0x800, 0: seed}
        machine = Interpreter(TABLE, memory, registers)
        list(machine.steps(CODE, CODE + 4 * len(code)))
        ends.append((dict(machine.registers), memory.read(DATA, PAGE)))
    assert ends[0] == ends[1]


def test_streams() -> None:
    """What is a stream, from where, and through which registers."""
    insns = decoded(["lda a0,8(a0)", "ldq t0,-8(a0)", "mov a0,a3", "stl t0,4(a3)", "bne t0,head"])
    (stream,) = streams(insns, ALPHA)
    assert (stream.base, stream.step, stream.ahead, stream.writes) == (16, 8, 12, False)
    assert stream.at[0] == (16, 0)
    assert stream.at[-1] == (16, -8)
    assert stream.aligned(4)
    assert not streams(decoded(["ldq t0,0(a0)", "addq a0,t0,a0", "bne t0,head"]), ALPHA)


def test_a_kernel_may_walk_over_a_device() -> None:
    """Programs are loaded below, kernels in the upper half of the address space."""
    places = {0x120000000: False, 0xFFFFFC0001010000: True}
    for start, is_kernel in places.items():
        text = SimpleNamespace(executable_ranges=lambda start=start: ((start, start + 0x100),))
        assert ALPHA.is_kernel(text) is is_kernel


# The libc ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(libc_program: Program) -> Program:
    return libc_program


@pytest.fixture(scope="module")
def tuned(program: Program) -> Tuned:
    options = Options(passes=("bytes", "prefetch", "align", "schedule"), funcs=FUNCTIONS)
    return tune(program.image, program.target, EV67, options, lambda *_: None, program=program)


def test_loops_of_the_libc(tuned: Tuned) -> None:
    edits = [edit for edit in tuned.edits if edit.technique == "prefetch"]
    hinted = {edit.routine for edit in edits}
    assert {"sub_5f890", "sub_fdc90"} <= hinted <= set(FUNCTIONS)
    declined = {skip.routine for skip in tuned.skips if skip.technique == "prefetch"}
    assert set(FUNCTIONS) - hinted <= declined  # each with its reason
    assert all(edit.evidence.grade.value == "PROVED" for edit in edits)
    assert all("in the cache stayed" in edit.evidence.detail for edit in edits)
    assert not [skip for skip in tuned.skips if skip.reason.startswith("not verified")]


def test_no_boundary_is_lost_for_a_hint(program: Program) -> None:
    """Where its place is one that a loop's head needs, there is no hint."""
    options = Options(passes=("prefetch", "align"), funcs=("sub_5e480",))
    alone = tune(program.image, program.target, EV67, options, lambda *_: None, program=program)
    lost = [skip.reason for skip in alone.skips if skip.technique == "prefetch"]
    assert "a branch target would lose its boundary" in lost
    assert [edit.technique for edit in alone.edits] in ([], ["align"])


@pytest.mark.parametrize("name", ["numbers", "wide", "sort"])
def test_programs_run_the_same(name: str, libc: Path, tuned: Tuned, tmp_path: Path) -> None:
    """With the loops of strtod, wcsxfrm and the like hinted, under an emulator."""
    path = tmp_path / "libc.so.6.1"
    path.write_bytes(tuned.data)
    try:
        assert programs.run(name, path, "ev67") == programs.run(name, libc, "ev67")
    except inputs.Missing as missing:
        pytest.skip(str(missing))


def _verdict(program: Program, tuned: Tuned, at: int, insn: Insn) -> str:
    """What the verifier says of the tuned file with another instruction at an address."""
    data = bytearray(with_old_identity(program.image, tuned.data))
    offset = program.image.offset_of(at)
    data[offset : offset + 4] = ALPHA.encode(insn)
    owner = program.function_at(at)
    image = replace(program.image, data=bytes(data))
    verdict = verify(program, image, lambda *_: None, only=[owner] if owner else None)
    return verdict.findings[0] if verdict.findings else ""


def _hints(program: Program, tuned: Tuned) -> list[tuple[int, Insn]]:
    """Every hint of the output that the original has not."""
    image, found = replace(program.image, data=tuned.data), []
    for function in program.functions:
        for at in range(function.start, function.end, 4) if function.name in FUNCTIONS else ():
            insn = TABLE.decode(int.from_bytes(image.read(at, 4), "little"))
            if insn is not None and ALPHA.spelling.is_hint(insn):
                found.append((at, insn))
    return found


def test_the_verifier_lets_only_hints_in(program: Program, tuned: Tuned) -> None:
    """With a result, as a store, as a lock, as an evict-next: each is a finding."""
    (at, hint), *_ = (h for h in _hints(program, tuned) if h[1].name == "ldl")
    base = hint.operand("rb")
    assert not _verdict(program, tuned, at, hint)
    assert not _verdict(program, tuned, at, hint.replace(disp=hint.operand("disp") + 64))
    others = [
        hint.replace(ra=1), Insn(TABLE.find("ldq_l"), (31, 0, base)),
        Insn(TABLE.find("stl"), (31, hint.operand("disp"), base)),
        Insn(TABLE.find("ldq"), (31, 0, base)), Insn(TABLE.find("wh64"), (base,)),
        Insn(TABLE.find("mb"), (31, 31)), Insn(TABLE.find("trapb"), (31, 31)),
    ]  # fmt: skip
    for other in others:
        assert _verdict(program, tuned, at, other), TABLE.text(other)


def test_no_hint_near_a_lock(program: Program) -> None:
    """In place of a nop: far from any load-locked it is nothing, near one it is a finding."""
    untouched = Tuned(program.image.data, EV67, Options(()), (), (), (), (), 0, 0)
    hint = Insn(TABLE.find("ldl"), (31, 64, 16))
    near, far = [], []
    for at in program.listing.addresses[program.listing.rows >= 0].tolist()[::7]:
        insn, owner = program.listing.insn(program.listing.index(at)), program.function_at(at)
        if insn is None or not ALPHA.is_nop(insn) or owner is None:
            continue
        block = program.graph.block_holding(at)
        if program.graph.reached[block] and not program.not_understood(owner):
            (near if program.is_near_lock([at]) else far).append(at)
    draw = random.Random(1)
    assert all(
        "near a load-locked" in _verdict(program, untouched, at, hint)
        for at in draw.sample(near, 6)
    )
    assert not any(
        _verdict(program, untouched, at, hint) for at in draw.sample(far, 6) if _alone(program, at)
    )


def _alone(program: Program, at: int) -> bool:
    """Whether the straight code around an address is as far from locks as it is."""
    return not program.is_near_lock(at + 4 * n for n in range(-64, 64))


def test_what_is_near_a_lock(program: Program) -> None:
    """All up to its store-conditional, the straight code around up to a barrier, and not all."""
    listing = program.listing
    near = frozenset(listing.addresses[program.near_locks].tolist())
    assert program.locked_addresses <= near
    assert 0.3 < len(near) / len(listing) < 0.9
    names = [op.name for op in TABLE.rows]
    locks = [at for at, row in enumerate(listing.rows.tolist()) if names[row] in ("ldl_l", "ldq_l")]
    assert len(locks) > 900
    fences = 0
    for lock in locks:
        for step in (1, -1):
            for at in range(lock, lock + 81 * step, step):
                insn = listing.insn(at)
                if insn is None or insn.name == "mb" or insn.op.flow not in STRAIGHT:
                    fences += insn is not None and insn.name == "mb"
                    break
                assert int(listing.addresses[at]) in near
                if step < 0 and program.graph.first[block_of(program, at)] == at:
                    break  # what stands before a branch target may not lead there
    assert fences > 500


STRAIGHT = (Flow.NEXT, Flow.BRANCH)


def block_of(program: Program, at: int) -> int:
    """The block of a position."""
    return program.graph.block_holding(int(program.listing.addresses[at]))
