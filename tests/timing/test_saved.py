"""What edits save on a CPU's model: the same as timing both versions whole."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import targets
from fixtures import inputs, members
from rewriter.elf.image import load
from rewriter.timing import causes
from rewriter.timing.saved import Savings, packed
from rewriter.timing.straight import Code, timed
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from targets.alpha.systems import UP1000
from tests.conftest import Run

OLD = "ldq_u t0,0(a0); extbl t0,a0,t0; addq t0,t1,v0; ret zero,(ra),1"
NEW = "ldbu t0,0(a0); addq t0,t1,v0; ret zero,(ra),1"

BASES = ("a0", "a1", "a2", "a3", "a4", "a5", "s0", "s1", "s2", "s3", "t8", "t9", "sp", "gp")


def _code(text: str, at: int = 0) -> Code:
    code = assemble(text.replace(";", "\n")).code
    words = (int.from_bytes(code[n : n + 4], "little") for n in range(0, len(code), 4))
    return packed(at, [TABLE.decode(word) for word in words])


def _cycles(code: Code, cpu: str) -> int:
    return sum(stretch.cycles for stretch in timed(code, TABLE, CPUS[cpu], UP1000))


@pytest.mark.parametrize("cpu", ["ev5", "ev67"])
def test_the_difference_of_both_versions(cpu: str) -> None:
    old, new = _code(OLD), _code(NEW)
    savings = Savings(CPUS[cpu], TABLE, UP1000)
    assert savings.cycles(old, new) == _cycles(old, cpu) - _cycles(new, cpu)
    assert savings.cycles(new, old) == -savings.cycles(old, new)


def test_a_load_and_an_extraction_take_longer_than_a_byte_load() -> None:
    # 21264 Hardware Reference Manual 2.1: EXTBL takes one cycle behind the load.
    assert Savings(CPUS["ev67"], TABLE, UP1000).cycles(_code(OLD), _code(NEW)) == 1


@pytest.mark.parametrize("cpu", ["ev5", "ev6", "ev67"])
def test_no_access_of_straight_code_misses(cpu: str) -> None:
    """Loads from many registers are not in each other's way, however few ways a cache has."""
    loads = "; ".join(f"ldq t0,{8 * n}({base})" for n, base in enumerate(BASES))
    (stretch,) = timed(_code(f"{loads}; ret zero,(ra),1"), TABLE, CPUS[cpu], UP1000)
    spent = stretch.result.breakdown
    assert not {causes.INNER, causes.BOARD, causes.MEMORY, causes.DTB} & {
        c for c in spent if spent[c]
    }


def test_the_same_code_elsewhere_is_timed_only_where_it_stands_otherwise() -> None:
    savings = Savings(CPUS["ev67"], TABLE, UP1000)
    assert savings.cycles(_code(NEW), _code(NEW, 0x1000)) == 0
    assert not savings._known  # the same place of a fetch block: nothing was timed
    assert savings.cycles(_code(NEW), _code(NEW, 0x1004)) == _cycles(_code(NEW), "ev67") - _cycles(
        _code(NEW, 0x1004), "ev67"
    )


def test_whole_functions_of_the_sample() -> None:
    image = load(inputs.find("alpha-sample"))
    listing = targets.of(image).listing(image)
    code = [(int(listing.addresses[at]), listing.insn(at)) for at in range(64)]
    known = [(at, insn) for at, insn in code if insn is not None]
    savings = Savings(CPUS["ev67"], TABLE, UP1000)
    assert savings.cycles(known, []) == _cycles(known, "ev67")


@pytest.mark.parametrize(
    ("look_up", "name", "passes"),
    [
        (inputs.find, "alpha-sample", {"align", "bytes", "schedule"}),
        (members.library, "libroutines.so", {"substitute"}),
    ],
)
def test_the_report_has_cycles_of_every_pass(
    look_up: Callable[[str], Path], name: str, passes: set[str], run: Run
) -> None:
    file = str(inputs.or_skip(look_up, name))
    done = run("patch", file, "--dry-run", "--cpu", "ev67", "--cycles", "--json")
    report = json.loads(done.stdout)
    per_site: Counter[tuple[str, str]] = Counter()
    for edit in report["edits"]:
        assert edit["cycles"] is not None, edit["id"]
        per_site[edit["pass"], edit["kind"]] += edit["cycles"]
    rewritten = [site for site in report["sites"] if site["rewritten"]]
    assert {site["pass"] for site in rewritten} >= passes
    for site in rewritten:
        assert site["cycles"] == pytest.approx(per_site[site["pass"], site["kind"]])
    plain = json.loads(run("patch", file, "--dry-run", "--cpu", "ev67", "--json").stdout)
    assert {e["id"] for e in plain["edits"]} == {e["id"] for e in report["edits"]}
