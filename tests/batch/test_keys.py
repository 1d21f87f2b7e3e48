"""What a function became is asked for only where all that it depended on is the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Pin
from rewriter.elf.headers import PF_X
from rewriter.elf.image import Image, parse
from rewriter.identify.profiles import MOVE, NONE, Counts, Direction
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.road.remembered.keys import Keys
from rewriter.road.remembered.results import Results
from targets.alpha.cpus import CPUS
from tests.passes.test_cmov import SCARCE, assembled, conditional_moves
from tests.passes.test_reload import ALPHA, CODE
from tests.support.small_kernel import linked

_SHOFF = slice(0x28, 0x30)
_SHNUM = slice(0x3C, 0x40)
"""Fields of the header of a 64-bit file: where section headers are, how many, which has names."""

APART = ".rept 40; unop; .endr"
"""So far away that a function does not count as being around another."""


def key(program: Program, name: str) -> bytes:
    """That of a function."""
    (function,) = (f for f in program.functions if f.name == name)
    return Keys(program, b"").function(function)


@pytest.mark.parametrize(
    ("body", "same"), [("lda $29,64($29)", False), ("addq $16,2,$0", True)], ids=["gone", "kept"]
)
def test_what_callees_leave_of_shared_data(body: str, same: bool, tmp_path: Path) -> None:
    """Behind a call gp is made again where the callee does not leave it, whatever else it does."""
    found = []
    for name, leaf in (("one", "addq $16,1,$0"), ("other", body)):
        (tmp_path / name).mkdir()
        code = CODE.format("leaf").replace("addq $16,1,$0", leaf, 1)
        code = code.replace("func leaf", f"{APART}\n        func leaf")
        found.append(key(analyse(linked(tmp_path / name, code), ALPHA), "_start"))
    assert (found[0] == found[1]) is same


FAULTING = """
        func _start
        lda $2,8($16)
1:      ldq $1,0($16)
        addq $1,$17,$0
        ret $31,($26),1
        end _start
        {}
        func handler
2:      addq ${},1,$0
        ret $31,($26),1
        end handler
        .pushsection __ex_table,"a",@progbits
        .long 1b - ., 0x23ff0000 + 2b - 1b
        .popsection
"""


@pytest.mark.parametrize(("register", "same"), [(2, False), (16, True)])
def test_what_is_read_where_an_access_faults(register: int, same: bool, tmp_path: Path) -> None:
    """Control goes on in another function, which may read what is there before the access."""
    found = []
    for name, read in (("one", 16), ("other", register)):
        (tmp_path / name).mkdir()
        program = analyse(linked(tmp_path / name, FAULTING.format(APART, read)), ALPHA)
        assert program.fixups
        found.append(key(program, "_start"))
    assert (found[0] == found[1]) is same


def test_what_other_code_says_of_a_place() -> None:
    """What is relied on, named, and given to a function as its pointer counts by itself."""
    program = _analysed(parse(inputs.require("alpha-sample").read_bytes(), "sample"))
    function = next(f for f in program.functions if f.size > 64)
    names, (block, *_) = program.graph.named.copy(), program.graph.blocks_of(function)
    names[block] ^= True
    shared = {**program.references.shared, function.start: 64}
    relied = replace(program)
    relied.__dict__["pins"] = (Pin(function.start + 4, "a word"),)
    others = (
        replace(program, graph=replace(program.graph, named=names)),
        replace(program, references=replace(program.references, shared=shared)),
        relied,
    )
    keys = {Keys(one, b"").function(function) for one in (program, *others)}
    assert len(keys) == 1 + len(others)


def test_what_is_in_a_segment_with_code_counts_without_section_headers() -> None:
    """Unwind tables, read-only data: not of the functions, though the segment is executable."""
    data = bytearray(inputs.require("alpha-sample").read_bytes())
    data[_SHOFF], data[_SHNUM] = bytes(8), bytes(4)
    one = parse(bytes(data), "sample")
    start, end = next((s.p_vaddr, s.p_vaddr + s.p_filesz) for s in one.segments if s.p_flags & PF_X)
    program = _analysed(one)
    behind = max(f.end for f in program.functions)
    assert start < program.functions[0].start and behind < end
    name = next(f.name for f in program.functions if f.size > 64)
    data[one.offset_of(end - 1)] ^= 1
    assert key(program, name) != key(_analysed(parse(bytes(data), "sample")), name)


def test_a_known_profile_is_of_one_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came of the counts of one text is nothing to another, of which there are none."""
    image = assembled(tmp_path, "f.so", SCARCE)
    counts = {(MOVE, at): Direction(1000, 0, 0) for at in conditional_moves(image)}

    def made(known: Counts, results: Results | None = None) -> Tuned:
        monkeypatch.setattr("rewriter.road.pipeline.known", lambda image: known)
        options = Options(passes=("cmov", "align"))
        cpu, said = CPUS["ev67"], lambda *steps: None
        return tune(image, ALPHA, cpu, options, said, results=results)

    first = Results()
    profiled = made(counts, first)
    assert any(edit.technique == "cmov" for edit in profiled.edits)
    for known, same in ((NONE, made(NONE)), (counts, profiled)):
        again = made(known, Results.parse(first.dump(), b""))
        assert (again.data, again.edits) == (same.data, same.edits)


def test_directions_count_where_they_were_counted() -> None:
    """Another function's do not, but for the sum by which moves are weighed."""
    program = _analysed(parse(inputs.require("alpha-sample").read_bytes(), "sample"))
    function, other = [f for f in program.functions if f.size > 64][:2]
    mine, far = {function.start: Direction(9, 1, 0)}, {other.start: Direction(7, 1, 0)}

    def of(moves: dict[int, Direction], branches: dict[int, Direction]) -> bytes:
        return Keys(program, b"", moves, branches).function(function)

    assert of({}, {}) == of(far, far)
    assert of(mine, far) == of(mine, {})
    assert len({of({}, {}), of(mine, {}), of({}, mine), of(mine | far, {})}) == 4


def _analysed(image: Image) -> Program:
    return analyse(image, targets.of(image))
