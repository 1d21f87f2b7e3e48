"""Reports of made-up results: figures, JSON, lines, tables, listings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

import targets
from fixtures import inputs
from rewriter.core.code.program import Function, Refusal
from rewriter.core.edit import Edit, Evidence, Grade, Skip
from rewriter.core.target.cpu import Cpu, Figure
from rewriter.elf.emit import Patch
from rewriter.elf.image import load, parse
from rewriter.identify.profiles import Heat
from rewriter.report import listing
from rewriter.report.edits import Listed, gain
from rewriter.report.grid import Grid
from rewriter.report.summary import brief
from rewriter.report.summary.expected import Expected
from rewriter.report.summary.report import Report
from rewriter.report.tables import render
from rewriter.report.verdict import Comparison

CPU = Cpu("x1", "made up", frozenset(), Figure(16, "nowhere"))
FUNCTION = Function(0x100, 0x200, "f", "symbol")
PROVED = Evidence(Grade.PROVED, ("alignment",), ("0123",))
TESTED = Evidence(Grade.TESTED, cases=1000)


@dataclass(frozen=True)
class Outcome:
    """What the pipeline would give."""

    cpu: Cpu = CPU
    edits: Sequence[Edit] = ()
    skips: Sequence[Skip] = ()
    refusals: Sequence[Refusal] = ()
    patches: Sequence[Patch] = ()
    functions: int = 3
    instructions: int = 100
    proofs: Mapping[str, int] = field(default_factory=dict)
    heat: Heat | None = None
    room: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    debug: Sequence[str] = ()
    expected: Expected | None = None


DONE = Outcome(
    edits=(
        Edit("bytes:f+4", "bytes", "byte load", "f", 0x104, "a", "b", PROVED, 2),
        Edit("bytes:f+8", "bytes", "byte load", "f", 0x108, "a", "b", PROVED, 1),
        Edit("align:f+10", "align", "loop head", "f", 0x110, "a", "b", TESTED, 0),
    ),
    skips=(
        Skip("bytes", "byte load", "f", 0x120, "register t0 differs: (a) became (b)"),
        Skip("bytes", "byte load", "f", 0x124, "register t0 differs: (c) became (d)"),
        Skip("bytes", "word load", "f", 0x128, "unaligned\x1b access"),
    ),
    refusals=(Refusal(FUNCTION, "data in text"),),
    patches=(Patch(4, b"abcd", b"axcy"),),
    proofs={"asked": 9, "solved": 2},
)


@pytest.mark.parametrize(
    ("instructions", "cycles", "said"),
    [
        (1, None, "1 instruction saved"),
        (-2, Fraction(1), "2 instructions added, 1 modelled cycle saved"),
        (0, Fraction(-1), "0 instructions saved, 1 modelled cycle added"),
        (0, Fraction(101, 100), "0 instructions saved, 1 modelled cycle saved"),
        (0, Fraction(3, 2), "0 instructions saved, 1.5 modelled cycles saved"),
        (0, Fraction(21), "0 instructions saved, 21 modelled cycles saved"),
    ],
)
def test_one_is_no_plural(instructions: int, cycles: Fraction | None, said: str) -> None:
    assert gain(instructions, cycles) == said


def test_lines() -> None:
    assert list(Report.of(DONE).lines(1))[len(DONE.edits) :] == [
        "align, loop head: 1 site, 1 rewritten, 0 instructions saved",
        "bytes, byte load: 4 sites, 2 rewritten, 3 instructions saved",
        "bytes, byte load: 2 left alone: register t0 differs",
        "bytes, word load: 1 site, 0 rewritten, 0 instructions saved",
        "bytes, word load: 1 left alone: unaligned\\x1b access",
        "read: 3 functions, 100 instructions",
        "left alone: 1 function: data in text",
        "proofs: 9 asked, 2 solved",
        "evidence: 2 PROVED, 1 TESTED",
        "assumed by 2 edits: alignment",
        "3 edits, 2 bytes changed, 3 instructions saved",
    ]


def test_few_lines() -> None:
    said = [
        "bytes: 2 of 5 sites, 3 instructions saved",
        "align: 1 of 1 site",
        "left alone: 1 function: data in text",
        "left alone: 3 sites (-v says why): 3 bytes",
        "read: 3 functions, 100 instructions",
        "evidence: 2 PROVED, 1 TESTED",
        "assumed by 2 edits: alignment",
        "3 edits, 2 bytes changed, 3 instructions saved",
    ]
    report = Report.of(DONE)
    assert list(report.lines()) == list(report.grids()) == said


def test_no_more_lines_than_a_person_reads() -> None:
    """However many passes there are, and however much there is to say besides."""
    edits = [
        Edit(f"p{n}:f", f"p{n:02}", "kind", "f", n, "a", "b", PROVED, 1, cycles=Fraction(n))
        for n in range(20)
        for _ in range(40 - n)
    ]
    given = Evidence(Grade.PROVED, tuple(f"assumption {n}" for n in range(9)))
    edits.append(Edit("q:f", "q", "kind", "f", 9, "a", "b", given, 0))
    refusals = [Refusal(FUNCTION, f"reason {n}" * 30) for n in range(9)]
    debug = [f"debug information {n}" for n in range(9)]
    full = replace(
        DONE,
        edits=edits,
        refusals=refusals,
        debug=debug,
        heat=Heat("x", "samples", 4, 1.0, {"f": 0.5}),
    )
    lines = list(Report.of(full).lines())
    assert len(lines) == brief.LINES
    assert lines[0] == "p00: 40 of 40 sites, 40 instructions saved"
    assert lines[1] == "p01: 39 of 39 sites, 39 instructions saved, 39 modelled cycles saved"
    (also,) = (line for line in lines if line.startswith("also: "))
    shown = [line for line in lines if line[0] == "p" and line[1].isdigit()]
    assert also == ", ".join(f"p{n:02} {40 - n}" for n in range(len(shown), 20)).join(
        ("also: ", ", q 1")
    )
    (assumed,) = (line for line in lines if line.startswith("assumed by "))
    assert all(f"1 assumption {n}" in assumed for n in range(9))
    assert max(map(len, lines)) <= 200


def test_an_error_in_retune_is_never_left_out() -> None:
    """However few they are among all that is left alone."""
    often = [Refusal(FUNCTION, f"reason {n % 9}") for n in range(90)]
    why = "internal error in schedule: KeyError: 'x'"
    skip = Skip("align", "layout", "f", 0x100, f"not verified: {why}")
    report = Report.of(replace(DONE, refusals=[*often, Refusal(FUNCTION, why)], skips=[skip]))
    said = f"internal error in 2 places, please report: 1 {why}; 1 not verified: {why}"
    assert said in report.lines()


def test_verbosity_adds_edits_then_skips() -> None:
    report = Report.of(DONE)
    edit = "bytes:f+4 at 0x104: byte load, saves 2 instructions, PROVED given alignment"
    skip = "left alone bytes:f at 0x128: word load: unaligned\\x1b access"
    assert [text in report.lines(n) for n in range(3) for text in (edit, skip)] == [
        False, False, True, False, True, True,
    ]  # fmt: skip


def test_json_holds_everything_and_sums_up() -> None:
    document = json.loads(json.dumps(Report.of(DONE).as_json()))
    assert document["sites"][1] == {
        "pass": "bytes", "kind": "byte load", "sites": 4, "rewritten": 2, "saved": 3,
        "cycles": None, "timed": 0, "left": {"register t0 differs": 2},
    }  # fmt: skip
    assert (document["saved"], document["changed_bytes"], document["return_code"]) == (3, 2, 0)
    assert document["grades"] == {"PROVED": 2, "TESTED": 1}
    assert document["preconditions"] == {"alignment": 2}
    assert document["refusals"] == {"data in text": 1}
    assert [skip["reason"] for skip in document["skips"]] == [s.reason for s in DONE.skips]


def test_return_codes() -> None:
    assert Report.of(DONE).return_code == 0
    assert Report.of(replace(DONE, edits=())).return_code == 4
    assert list(Report("x1").lines()) == ["nothing to do"]


def test_tables_are_text_and_never_markup(capsys: pytest.CaptureFixture[str]) -> None:
    odd = Grid("[red]t", ("id", "n"), (("[bold]x", "1"), (":smile:", "2")), frozenset({"n"}))
    render([odd, "[red]line", *Report.of(DONE).grids(2)])
    text = capsys.readouterr().out
    for part in ("[red]t", "[bold]x", ":smile:", "[red]line", "bytes:f+4", "loop head"):
        assert part in text
    assert "\x1b access" not in text


def test_a_verdict_shows_the_first_findings() -> None:
    verdict = Comparison(findings=tuple(f"finding {n}" for n in range(12)))
    assert not verdict.ok
    assert verdict.return_code == 1
    lines = list(verdict.lines())
    assert lines[9:11] == ["found: finding 9", "found: 2 more (-v shows them)"]
    assert lines[-1] == "NOT verified"
    assert "found: finding 11" in list(verdict.lines(1))
    assert Comparison(failed=True).return_code == 1
    assert Comparison().return_code == 0


def test_a_manifest_is_listed() -> None:
    from rewriter.elf.manifest import record

    made = record(b"a", b"b", target="t", cpu="x1", edits=DONE.edits, patches=DONE.patches)
    listed = Listed(made)
    assert list(listed.lines())[-1] == "3 edits in 1 place: 2 PROVED, 1 TESTED"
    assert listed.as_json()["patches"] == [{"offset": 4, "old": "61626364", "new": "61786379"}]


def test_a_listing_follows_code_that_moves() -> None:
    """Two instructions change places with a branch over them: only what differs is marked."""
    image = load(inputs.require("alpha-sample"))
    target = targets.of(image)
    old = target.listing(image)
    # sample_length ends in `subq v0,a0,v0; ret`; the nop before its loop takes one slot.
    function = next(
        Function(s.st_value, s.st_value + s.st_size, s.name, "symbol")
        for s in image.symbols
        if s.name == "sample_length"
    )
    insns = old.insns(function.start, function.end)
    at = next(i for i, insn in enumerate(insns) if insn and target.is_nop(insn))
    start = image.offset_of(function.start)
    cut, end = start + 4 * at, start + function.end - function.start
    data = bytearray(image.data)
    nop = data[cut : cut + 4]
    data[cut : end - 4], data[end - 4 : end] = data[cut + 4 : end], nop
    edit = Edit("align:sample_length+0", "align", "k", "f", function.start, "", "", TESTED, 0)
    new = target.listing(parse(bytes(data), image.name))
    shown = listing.explain(function, old, new, replace(DONE, edits=(edit,), skips=()))
    marks = [row.mark for row in shown.rows]
    assert marks.count("-") == marks.count("+") == 1
    assert marks.index("-") == at
    assert shown.rows[0].note == "align:sample_length+0"
    assert next(iter(shown.lines())).startswith("sample_length: 0x")


def test_room_for_routines_is_said_where_there_was_any() -> None:
    assert not any("room" in line for line in Report.of(DONE).lines())
    found = replace(DONE, room={"behind the text": (1104, 984), "in place of routines": (0, 0)})
    report = Report.of(found)
    line = "room for routines: 1104 bytes behind the text, 984 used; 0 bytes in place of routines"
    assert f"{line}, 0 used" in report.lines(1)
    assert report.as_json()["room"]["behind the text"] == {"found": 1104, "used": 984}


def test_what_is_said_of_debug_information_is_in_every_form() -> None:
    report = Report.of(replace(DONE, debug=("debug information: none",)))
    assert "debug information: none" in list(report.lines())
    assert "debug information: none" in list(report.grids())
    assert report.as_json()["debug"] == ["debug information: none"]


def test_functions_left_alone_are_named_when_asked() -> None:
    refusal = DONE.refusals[0]
    line = f"left alone {refusal.function.name}: {refusal.reason}"
    report = Report.of(DONE)
    assert line not in list(report.lines(1))
    assert line in list(report.lines(2))
    grids = [grid for grid in report.grids(2) if not isinstance(grid, str)]
    found = [grid for grid in grids if grid.title == "each function left alone"]
    assert [grid.rows for grid in found] == [((refusal.function.name, refusal.reason),)]
