"""Loads that a narrower store makes the chip replay: cases, numbers, real functions, mutants."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fixtures import inputs, programs
from passes.bytes import Bytes
from passes.lib.changes import Rewritten
from passes.lib.conflicts import conflicts, untrapped
from passes.lib.insert import Declined, Insertion, Setting, cycles
from passes.lib.tune import Tuner
from passes.replay import Replay
from rewriter.analysis.program import Program
from rewriter.core.code.superblock import straight
from rewriter.core.isa.instruction import Insn
from rewriter.core.readings.concrete import Misaligned
from rewriter.elf.debug_identity import with_old_identity
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.timing import causes, simulate
from rewriter.timing.straight import Probe
from rewriter.verify.check import verify
from rewriter.verify.terms.prover import Prover
from targets.alpha.cpus import CPUS
from targets.alpha.systems import UP1000
from tests.passes.loops import ALPHA, CODE, DATA, PAGE, Run
from tests.passes.test_cases import BASE, Case, decoded, locked, read, text

CASES = sorted((Path(__file__).parents[2] / "fixtures" / "passes" / "replay").glob("*.case"))
EV67 = CPUS["ev67"]
PROVER = Prover(64, 8)


def found(insns: tuple[Insn, ...], cpu: str, exits: int) -> list[Insertion | Declined]:
    """What the pass makes of a block."""
    superblock = straight(BASE, insns, ((len(insns) - 1, exits),))
    setting = Setting(ALPHA, ALPHA.cpus[cpu], UP1000, PROVER, locked(insns))
    return list(Replay().insertions(superblock, setting, {}))


def inserted(insns: tuple[Insn, ...], sites: list[Insertion | Declined]) -> list[Insn]:
    """The block with everything in its place."""
    new = {site.address: site.insns for site in sites if isinstance(site, Insertion)}
    return [i for n, insn in enumerate(insns) for i in new.get(BASE + 4 * n, (insn,))]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case: Case = read(path)
    insns = decoded(case.before)
    sites = found(insns, case.flags["cpu"], case.exits)
    assert [text(insn) for insn in inserted(insns, sites)] == case.after
    assert [f"{s.kind}: {s.reason}" for s in sites if isinstance(s, Declined)] == case.refused
    assert [text(insn) for insn in insns] == case.before  # written as the table prints it


def test_there_are_cases() -> None:
    assert len(CASES) >= 10


# On numbers ------------------------------------------------------------------------------------


@given(
    st.integers(-8, 0x7FFF) | st.none(), st.integers(-4, 4), st.sampled_from((1, 2, 16, 17)),
    st.sampled_from((0, 4)), st.lists(st.integers(0, 3), max_size=3), st.integers(0, 1 << 32),
)  # fmt: skip
@settings(max_examples=30)
def test_it_does_the_same(
    value: int | None, quad: int, result: int, half: int, between: list[int], seed: int
) -> None:
    """A constant or not, stored to a longword of a loaded quadword, with other stores between."""
    others = ("stq t4,{0}(a1)", "stl t4,{0}(sp)", "addq t4,t4,t5", "stb t4,{0}(sp)")
    lines = [] if value is None else [f"lda t0,{value}(zero)"]
    lines += [f"stl t0,{8 * quad + half}(sp)"]
    lines += [others[n].format(8 * ((quad + 1 + n) % 5)) for n in between]
    insns = decoded([*lines, f"ldq ${result},{8 * quad}(sp)", "lda a3,1(zero)"])
    sites = found(insns, "ev67", 1 << result | 1 << 19)
    assume(any(isinstance(site, Insertion) for site in sites))
    draw = random.Random(seed)
    registers = {n: draw.getrandbits(64) for n in (1, 2, 5, 6, 19)}
    middle = DATA + PAGE // 2
    registers |= {30: middle, 17: middle + 8 * draw.randrange(-4, 5)}
    content = draw.randbytes(PAGE)
    before = Run(insns, registers, content, (0,))
    after = Run(inserted(insns, sites), registers, content, (0,))
    assert (before.registers, before.memory) == (after.registers, after.memory)


def test_the_gain_is_the_trap() -> None:
    """The engine charges the old load a wrong-size replay, and the new one nothing of the kind."""
    insns = decoded(read(CASES[0].with_name("va-start.case")).before)
    shares = []
    for code in (insns, inserted(insns, found(insns, "ev67", 1 << 19))):
        probe = Probe.of(ALPHA.table)
        steps = [probe.step(insn, CODE + 4 * n) for n, insn in enumerate(code)]
        shares.append(simulate(steps, EV67, UP1000).share(causes.SIZE))
    assert shares[0] >= EV67.pipeline.memory.replay_trap.value  # type: ignore[union-attr]
    assert shares[1] == 0


def test_an_aligned_quadword_shows_its_longwords_aligned() -> None:
    """What the new load relies on: where the base is misaligned, the old load trapped too."""
    case = read(CASES[0].with_name("zero.case"))
    for insns in (decoded(case.before), decoded(case.after)):
        with pytest.raises(Misaligned):
            Run(insns, {30: DATA + 1}, bytes(PAGE), (0,))


def test_sizes() -> None:
    """How many bytes an instruction moves, as the manual's tables of memory instructions say."""
    sizes = {"ldbu": 1, "stw": 2, "ldl": 4, "sts": 4, "stl_c": 4, "ldq_u": 8, "stt": 8, "addq": 0}
    found = {name: ALPHA.table.effects(ALPHA.table.find(name)).size for name in sizes}
    assert found == sizes


# Stores that a rewrite made narrow ---------------------------------------------------------------


def pairs(lines: str) -> list[tuple[int, int, bool]]:
    return [(c.store, c.load, c.sure) for c in conflicts(decoded(lines.split("; ")), ALPHA, 80)]


def test_conflicts() -> None:
    """Which loads the queue cannot serve."""
    assert pairs("stb t0,3(a0); ldl t1,0(a0)") == [(0, 1, True)]
    assert pairs("stl t0,4(a0); ldl t1,0(a0)") == []
    assert pairs("stq t0,0(a0); ldl t1,4(a0)") == []
    assert pairs("stb t0,3(a0); ldq_u t1,3(a0)") == [(0, 1, True)]
    assert pairs("stb t0,3(a0); ldq_u t1,4(a0)") == [(0, 1, False)]
    assert pairs("stb t0,3(a0); ldq_u t1,11(a0)") == []
    assert pairs("stl t0,0(a0); ldq_u t1,3(a0)") == [(0, 1, True)]
    assert pairs("stq_u t0,3(a0); ldq_u t1,4(a0)") == []
    assert pairs("stl t0,0(a0); stq t2,0(a0); ldq t1,0(a0)") == []
    assert pairs("stl t0,0(a0); ldq zero,0(a0)") == []  # a hint waits for nothing
    assert pairs("stl t0,0(a0); bsr ra,.; ldq t1,0(a0)") == []


BYTE_STORE = "ldq_u t0,0(a0); insbl a1,a0,t1; mskbl t0,a0,t0; bis t0,t1,t0; stq_u t0,0(a0)"


def bytes_of(lines: str, cpu: str = "ev67") -> Rewritten:
    """What the byte pass makes of a block, as the pipeline lets it."""
    insns = decoded(lines.split("; "))
    superblock = straight(BASE, insns, ((len(insns) - 1, ALPHA.everything & ~0b110),))
    chosen = ALPHA.cpus[cpu]
    setting = Setting(ALPHA, chosen, ALPHA.system(chosen), PROVER, frozenset())
    tuner = Tuner(superblock, [Bytes()], ALPHA, chosen, PROVER, frozenset())

    def again(without: frozenset[tuple[str, int]]) -> Rewritten:
        def wanted(name: str, at: int, _: int) -> bool:
            return (name, at) not in without

        return tuner.tune(wanted)

    return untrapped(again(frozenset()), again, setting)


def test_a_store_stays_wide_for_a_wide_load() -> None:
    """One replay costs more than a byte store saves."""
    kept = bytes_of(f"{BYTE_STORE}; ldl v0,0(a0)")
    assert kept.slots == kept.superblock.insns
    assert [refused.reason for refused in kept.refused] == ["a wider load would be replayed"]


@pytest.mark.parametrize(
    ("lines", "cpu"),
    [
        (f"{BYTE_STORE}; ldl v0,8(a0)", "ev67"),
        (f"{BYTE_STORE}; ldl v0,0(a2)", "ev67"),
        (f"{BYTE_STORE}; ldl v0,0(a0)", "ev56"),
    ],
    ids=["elsewhere", "nobody knows", "in order"],
)
def test_other_stores_become_narrow(lines: str, cpu: str) -> None:
    assert [a.rewrite.kind for a in bytes_of(lines, cpu).accepted] == ["byte store"]


# The libc ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(libc_program: Program) -> Program:
    return libc_program


@pytest.fixture(scope="module")
def tuned(program: Program) -> Tuned:
    options = Options(passes=("replay", "align"), funcs=(r"\w*(print|scan)f(@.*)?",))
    return tune(program.image, program.target, EV67, options, lambda *_: None, program=program)


def test_variadic_functions(tuned: Tuned) -> None:
    """Most of the printf family; each edit says what it gains."""
    edits = [edit for edit in tuned.edits if edit.technique == "replay"]
    assert len(edits) >= 15
    assert {"fprintf", "sprintf", "printf"} <= {edit.routine.partition("@")[0] for edit in edits}
    assert all(edit.evidence.grade.value == "PROVED" for edit in edits)
    assert all("no replay trap" in edit.evidence.detail for edit in edits)
    assert all(-3 <= edit.gain <= -1 for edit in edits)


@pytest.mark.parametrize("name", ["stdio", "messages", "wide"])
def test_programs_print_the_same(name: str, libc: Path, tuned: Tuned, tmp_path: Path) -> None:
    """Programs that format and scan, under an emulator."""
    path = tmp_path / "libc.so.6.1"
    path.write_bytes(tuned.data)
    try:
        assert programs.run(name, path, "ev67") == programs.run(name, libc, "ev67")
    except inputs.Missing as missing:
        pytest.skip(str(missing))


def test_without_a_layout_there_is_no_room(program: Program) -> None:
    options = Options(passes=("replay",), funcs=("fprintf@.*",))
    alone = tune(program.image, program.target, EV67, options, lambda *_: None, program=program)
    assert not alone.edits
    assert {skip.reason for skip in alone.skips} == {"no room without a new layout"}
    assert alone.data == program.image.data


def test_a_layout_that_is_not_wanted_takes_them_along(program: Program, tuned: Tuned) -> None:
    (align,) = (e.id for e in tuned.edits if e.id.startswith("align:fprintf@60fe0"))
    options = Options(passes=("replay", "align"), funcs=("fprintf@60fe0",), skip=frozenset({align}))
    alone = tune(program.image, program.target, EV67, options, lambda *_: None, program=program)
    assert not alone.edits
    assert alone.data == program.image.data


@pytest.mark.parametrize("change", ["disp", "misaligned", "shift", "value", "dropped"])
def test_the_verifier_finds_a_wrong_one(program: Program, tuned: Tuned, change: str) -> None:
    """One of the three new instructions is wrong."""
    caught = 0
    replays = (e for e in tuned.edits if e.technique == "replay")
    edits = [e for e in replays if "lda" in e.new][:3]
    for edit in edits:
        data = bytearray(with_old_identity(program.image, tuned.data))
        at = _place(program, tuned, edit.routine, edit.new)
        words = [program.image.offset_of(at + 4 * n) for n in range(3)]
        ldl, sll, lda = (
            ALPHA.table.decode(int.from_bytes(data[w : w + 4], "little")) for w in words
        )
        assert ldl is not None and sll is not None and lda is not None
        wrong = {
            "disp": (0, ldl.replace(disp=ldl.operand("disp") - 4)),
            "misaligned": (0, ldl.replace(disp=ldl.operand("disp") - 2)),
            "shift": (1, sll.replace(rb=31)),
            "value": (2, lda.replace(disp=lda.operand("disp") + 8)),
            "dropped": (1, next(iter(ALPHA.nops(4)))),
        }[change]
        data[words[wrong[0]] : words[wrong[0]] + 4] = ALPHA.encode(wrong[1])
        image = replace(program.image, data=bytes(data))
        (owner,) = (f for f in program.functions if f.name == edit.routine)
        verdict = verify(program, image, lambda *_: None, only=[owner])
        caught += not verdict.ok
    assert caught == len(edits) == 3


def _place(program: Program, tuned: Tuned, routine: str, new: str) -> int:
    """Where three instructions stand together in a function of the output."""
    (function,) = (f for f in program.functions if f.name == routine)
    image = replace(program.image, data=tuned.data)
    for at in range(function.start, function.end - 8, 4):
        insns = [
            ALPHA.table.decode(int.from_bytes(image.read(at + 4 * n, 4), "little"))
            for n in range(3)
        ]
        if "; ".join(ALPHA.table.text(insn) for insn in insns if insn is not None) == new:
            return at
    raise AssertionError(f"{new} is not in {routine}")


def test_cycles_are_those_of_the_block() -> None:
    """An instruction more does not make straight code faster."""
    setting = Setting(ALPHA, EV67, UP1000, PROVER, frozenset())
    insns = decoded(["ldq t0,0(a0)", "addq t0,1,t0", "stq t0,0(a0)"])
    assert cycles(insns, setting) <= cycles([*insns, *insns], setting)
