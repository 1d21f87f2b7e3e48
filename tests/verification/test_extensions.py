"""Instructions that only some CPUs have stay behind the branch that asks for them.

Each stands behind a branch in the old code and before it in the new one, where nothing but an old
CPU could tell the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import retune

from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.elf import note
from rewriter.verify.check import verify
from targets.alpha import Alpha
from tests.support.sample_code import Room, sample_room
from tests.verification.tables.test_ppc_rows import assembled, changed_text

GUARDED = """
    .machine power9
    .globl f
    .type f, @function
f:  {start}
    cmpwi 4, 0
    {first}
    beq 1f
    {second}
    add 3, 6, 7
    blr
1:  li 3, 0
    li 5, 0
    blr
    .size f, .-f
"""
"""A function of r3 that is told what the CPU has in r4; r5 is nobody's."""


def said(tmp_path: Path, machine: str, old: str, new: str, cpu: str = "") -> str:
    """What the verifier says of code in the place of other code, perhaps on a CPU."""
    programs = list[Program]()
    for name, text in (("old", old), ("new", new)):
        (tmp_path / name).mkdir()
        programs.append(assembled(text, tmp_path / name, machine))
    program, _ = programs
    verdict = verify(
        program,
        changed_text(*programs),
        lambda *progress: None,
        made_for=program.target.cpus[cpu] if cpu else None,
    )
    return " ".join(map(str, verdict.findings))


def hoisted(tmp_path: Path, machine: str, text: str, cpu: str = "", start: str = "nop") -> str:
    """What the verifier says of an instruction that went above the branch."""
    texts = (("nop", text), (text, "nop"))
    old, new = (GUARDED.format(start=start, first=one, second=two) for one, two in texts)
    return said(tmp_path, machine, old, new, cpu)


EXTENSIONS = (
    ("powerpc", "vaddubm 0, 2, 3", "ALTIVEC", "750", "7450"),
    ("powerpc", "isel 5, 3, 6, 2", "ISEL", "7450", "power9"),
    ("powerpc64", "popcntd 5, 3", "2.06", "970", "power7"),
    ("powerpc64", "mtvsrd 0, 3", "2.07", "power7", "power8"),
    ("powerpc64", "xxlxor 0, 1, 2", "VSX", "970", "power7"),
    ("powerpc64le", "cnttzd 5, 3", "3.0", "power8", "power9"),
)


@pytest.mark.parametrize(("machine", "text", "needs", "older", "newer"), EXTENSIONS)
def test_an_extension_stays_behind_its_test(
    machine: str, text: str, needs: str, older: str, newer: str, tmp_path: Path
) -> None:
    """On any CPU, and on one that lacks it; one that has it does the same."""
    for folder, cpu, finding in (("any", "", needs), ("old", older, needs), ("new", newer, "")):
        (tmp_path / folder).mkdir()
        found = hoisted(tmp_path / folder, machine, text, cpu)
        assert finding in found
        assert bool(found) is bool(finding)


@pytest.mark.parametrize(
    ("machine", "text"),
    [("powerpc", "mulhw 5, 3, 6"), ("powerpc64", "mulld 5, 3, 6"), ("powerpc64le", "popcntd 5, 3")],
)
def test_what_every_cpu_has_may_pass(machine: str, text: str, tmp_path: Path) -> None:
    """Little-endian code of Linux is for POWER8 and later."""
    assert hoisted(tmp_path, machine, text) == ""


@pytest.mark.parametrize("load", ["lvx 0, 0, 3", "lxvd2x 0, 0, 3"])
def test_a_vector_load_stays_behind_its_test(load: str, tmp_path: Path) -> None:
    """Though the code has read the same bytes by then."""
    start = "ld 8, 0(3)\n ld 9, 8(3)"
    assert hoisted(tmp_path, "powerpc64", load, start=start)


@pytest.mark.parametrize(("start", "may"), [("popcntd 8, 6", True), ("popcntb 8, 6", False)])
def test_one_of_the_same_need_was_executed_before(start: str, may: bool, tmp_path: Path) -> None:
    """An older need shows nothing."""
    assert (hoisted(tmp_path, "powerpc64", "popcntd 5, 3", start=start) == "") == may


@pytest.mark.parametrize(("start", "may"), [("popcntd 8, 6", True), ("popcntb 8, 6", False)])
def test_an_extension_may_go_behind_a_branch(start: str, may: bool, tmp_path: Path) -> None:
    """It is executed on one way less, where another must have shown that the CPU has it."""
    texts = (("popcntd 5, 3", "nop"), ("nop", "popcntd 5, 3"))
    old, new = (GUARDED.format(start=start, first=one, second=two) for one, two in texts)
    assert (said(tmp_path, "powerpc64", old, new) == "") == may


PROBE = """
    .machine power9
    .globl f
    .type f, @function
f:  cmpwi 4, 0
    {first}
    beq 1f
    cmpwi 5, 0
    beq 2f
    {probe}
    bl g
2:  {second}
    blr
1:  {third}
    add 3, 3, 6
    blr
    .size f, .-f
    .type g, @function
g:  blr
    .size g, .-g
"""
"""A caller that comes back from f by some ways knows that the CPU has what `probe` is."""


@pytest.mark.parametrize(
    ("others", "may"),
    [
        ({}, False),
        ({"first": "popcntd 9, 3"}, True),
        ({"first": "popcntb 9, 3"}, False),
        ({"second": "popcntd 9, 3"}, False),
        ({"third": "popcntd 9, 3"}, False),
        ({"second": "popcntd 9, 3", "third": "popcntd 9, 3"}, False),
    ],
    ids=["alone", "before", "an older one", "behind a call", "aside", "both"],
)
def test_a_probe_stays_on_its_way(others: dict[str, str], may: bool, tmp_path: Path) -> None:
    """Unless another of its need is executed before, or behind it with no call in between."""
    around = {"first": "nop", "second": "nop", "third": "nop", **others}
    old, new = (PROBE.format(probe=probe, **around) for probe in ("popcntd 9, 9", "nop"))
    old, new = (text.replace("9, 3", "10, 3") for text in (old, new))
    for folder, cpu in (("any", ""), ("old", "970"), ("new", "power7")):
        (tmp_path / folder).mkdir()
        found = said(tmp_path / folder, "powerpc64", old, new, cpu)
        assert (found == "") == (may or cpu == "power7"), found
        assert not found or "2.06" in found


def test_a_probe_may_go_where_another_follows(tmp_path: Path) -> None:
    """No way leads around it."""
    old, new = (
        PROBE.replace("bl g", "nop").format(probe=probe, first="nop", second=other, third="nop")
        for probe, other in (("popcntd 9, 9", "popcntd 10, 3"), ("nop", "popcntd 10, 3"))
    )
    assert said(tmp_path, "powerpc64", old, new) == ""


def test_an_extension_may_not_come_anew(tmp_path: Path) -> None:
    """No CPU is named for which it is made: neither in the manifest nor by who asks."""
    texts = ("mulld 5, 3, 3", "popcntd 5, 3")
    old, new = (GUARDED.format(start=one, first="nop", second="nop") for one in texts)
    for folder, cpu, finding in (("any", "", "2.06"), ("new", "power7", "")):
        (tmp_path / folder).mkdir()
        assert finding in said(tmp_path / folder, "powerpc64", old, new, cpu)


CHOICE = """
    .machine power9
    .globl f
    .type f, @function
f:  cmpw 5, 6
    {}
1:  add 3, 3, 5
    blr
    .size f, .-f
"""


def test_a_choice_comes_only_where_every_cpu_knows_it(tmp_path: Path) -> None:
    """It stands for a branch over a move, which every CPU has."""
    old, new = map(CHOICE.format, ("blt 1f\n mr 3, 4", "isel 3, 3, 4, 0\n nop"))
    for cpu, same in (("", False), ("7450", False), ("power9", True)):
        folder = tmp_path / (cpu or "any")
        folder.mkdir()
        assert (said(folder, "powerpc", old, new, cpu) == "") == same


@pytest.fixture(scope="module")
def room() -> Room:
    """A function of the sample with room for code of our own."""
    return sample_room()


@pytest.mark.parametrize(
    ("text", "older", "newer"),
    [
        ("sextb a1,t0", "ev5", "ev56"),
        ("ctpop a1,t0", "ev6", "ev67"),
        ("maxsb8 a1,a2,t0", "ev56", "pca56"),
        ("addq a1,a2,t0", "", "ev4"),
    ],
)
def test_an_extension_of_alpha_stays_behind_its_test(
    room: Room, text: str, older: str, newer: str
) -> None:
    codes = (f"{one}; beq a0,out; {two}" for one, two in (("unop", text), (text, "unop")))
    behind = "addq a1,a2,v0; ret; out: clr v0; ret"
    before, after = (room.holding(Alpha(), f"{code}; {behind}") for code in codes)
    program, cpus = analyse(before, Alpha()), Alpha.cpus
    assert not program.not_understood(room.place)
    for cpu in (older, newer):
        found = verify(program, after, lambda *progress: None, made_for=cpus.get(cpu)).findings
        assert any("may lack it" in str(one) for one in found) is (cpu == older != "")
        assert bool(found) is (cpu == older != "")


def test_a_probe_of_alpha_stays(room: Room) -> None:
    """Where the CPU is not known to have it."""
    codes = ("ctpop t0,t0; ret", "unop; ret")
    before, after = (room.holding(Alpha(), code) for code in codes)
    program = analyse(before, Alpha())
    for cpu, same in (("ev6", False), ("ev67", True)):
        made_for = Alpha.cpus[cpu]
        found = verify(program, after, lambda *progress: None, made_for=made_for).findings
        assert (not found) is same


def test_what_a_patched_file_is_made_for_says_its_manifest() -> None:
    """Without it the CPU must be named, one with these instructions."""
    sample = inputs.require("alpha-sample").read_bytes()
    tuned = retune.patch(sample, cpu="ev67", passes=["bytes"]).data()
    bare = note.detach(tuned)
    assert retune.verify(sample, tuned).ok
    assert not retune.verify(sample, tuned, cpu="ev5").ok
    assert not retune.verify(sample, bare).ok
    assert retune.verify(sample, bare, cpu="ev67").ok
