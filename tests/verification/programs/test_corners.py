"""Programs that a rewriter easily makes another of; changes that a verifier easily lets pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import targets
from fixtures import corners, inputs
from rewriter.analysis.program import Program, analyse
from rewriter.elf import image
from rewriter.elf.image import Image
from rewriter.verify.check import verify
from targets.alpha.image.pointers import UNOP
from tests.conftest import Run

THROWING = ("-fnon-call-exceptions", "-fexceptions")
PROGRAMS = (
    *(
        ("sw4.c", (o, f"-mcpu={cpu}"))
        for o, cpu in (("-O1", "ev4"), ("-O2", "ev5"), ("-O3", "ev4"))
    ),
    ("cg.c", ("-O2", "-mcpu=ev4")),
    ("pv.c", ("-O2", "-mcpu=ev4")),
    ("pv.c", ("-O3", "-mcpu=ev5")),
    ("nc.cc", ("-O1", "-mcpu=ev5", *THROWING)),
    ("nc.cc", ("-O2", "-mcpu=ev4", *THROWING)),
)


def _compiled(source: str, flags: tuple[str, ...]) -> Path:
    return inputs.or_skip(lambda name: corners.compiled(name, flags), source)


def _pair(name: str) -> list[Path]:
    return [inputs.or_skip(corners.assembled, f"{name}_{which}.s") for which in ("old", "new")]


@pytest.mark.parametrize(("source", "flags"), PROGRAMS)
def test_a_program_does_the_same(
    source: str, flags: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    """Guards that are no bounds, labels in tables of any kind, values that only handlers read."""
    program = _compiled(source, flags)
    tuned = tmp_path / "tuned"
    done = run("patch", program, "-o", tuned, "--cpu", "ev67")
    assert done.exit_code == 0, done.stderr
    before, after = corners.run(program), corners.run(tuned)
    assert before.returncode == 0
    assert after == before


# One of each pair is wrong ------------------------------------------------------------------

DIFFERENT = {
    "alignment": "what one way shows of an address is used for another",
    "behind": "a jump leaves the address of what is behind it, which seems unreached",
    "bytes": "a store writes its neighbours, too",
    "clock": "two readings of a clock are taken for one",
    "linkage": "a register is kept over a call that does not keep it",
    "signal": "a load comes from below the stack pointer",
    "stack": "a load passes the end of the frame that it is from, and something else is gone",
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_change_is_refused(name: str, run: Run) -> None:
    old, new = _pair(name)
    done = run("verify", old, new)
    assert done.exit_code == 1, done.stdout
    assert "not shown equal" in done.stderr
    assert "f at" in done.stderr  # and not that something else differs


def test_two_loads_of_a_place_may_become_one(run: Run) -> None:
    """No other thread can tell: both may have been made at one moment."""
    assert run("verify", *_pair("volatile")).exit_code == 0


# Real code ----------------------------------------------------------------------------------


def _analysed(path: Path) -> Program:
    loaded = image.load(path)
    return analyse(loaded, targets.of(loaded))


def _changed(program: Program, words: dict[int, bytes]) -> Image:
    data = bytearray(program.image.data)
    for address, word in words.items():
        offset = program.image.offset_of(address)
        data[offset : offset + len(word)] = word
    return replace(program.image, data=bytes(data))


def _refused(program: Program, words: dict[int, bytes]) -> bool:
    verdict = verify(program, _changed(program, words), lambda stage, done, total: None)
    return not verdict.ok


@pytest.fixture(scope="module")
def libm() -> Program:
    return _analysed(inputs.require("alpha-libm"))


EVENTS = frozenset({"trapb", "excb", "mt_fpcr", "mf_fpcr"})
"""Barriers for traps, and what reads and writes flags and rounding mode."""


def _neighbours(program: Program) -> Iterator[int]:
    """Positions of arithmetic next to such an event, or of an event next to arithmetic."""
    listing, table = program.listing, program.listing.table
    for at in range(len(listing) - 1):
        pair = listing.insns_at(at, at + 2)
        if None in pair or program.function_at(int(listing.addresses[at])) is None:
            continue
        effects = [table.effects(insn.op) for insn in pair if insn is not None]
        for one, other in (effects, effects[::-1]):
            if one.rounds and EVENTS & set(other.events):
                yield at


def test_arithmetic_keeps_its_place_beside_events(libm: Program) -> None:
    """A trap barrier, or a change of the rounding mode, and arithmetic do not change places."""
    listing, size = libm.listing, 4
    found = list(islice(_neighbours(libm), 30))
    assert len(found) >= 10
    for at in found:
        first, second = (libm.target.encode(i) for i in listing.insns_at(at, at + 2) if i)
        address = int(listing.addresses[at])
        assert _refused(libm, {address: second, address + size: first}), hex(address)


def test_arithmetic_without_a_reader_stays(libm: Program) -> None:
    """Its flags are read by `fetestexcept`: nextafterf adds two numbers for nothing else."""
    function = next(f for f in libm.functions if f.name.startswith("nextafterf"))
    listing, table = libm.listing, libm.listing.table
    first, last = listing.span(function.start, function.end)
    tried = 0
    for at, insn in zip(range(first, last), listing.insns_at(first, last), strict=True):
        if insn is not None and table.effects(insn.op).rounds:
            address = int(listing.addresses[at])
            assert _refused(libm, {address: libm.target.encode(UNOP)}), hex(address)
            tried += 1
    assert tried


def test_long_double_results_are_returned(libc: Path) -> None:
    """`_OtsMulX` returns 128 bits in $16 and $17."""
    program = _analysed(libc)
    function = next(f for f in program.functions if f.name.startswith("_OtsMulX"))
    listing, pair = program.listing, 0b11 << 16
    first, last = listing.span(function.start, function.end)
    insns = listing.insns_at(first, last)
    returns = [n for n, insn in enumerate(insns) if insn is not None and insn.name == "ret"]
    tried = 0
    for end in returns:
        for n in range(max(0, end - 12), end):
            insn = insns[n]
            if insn is not None and insn.name == "bis" and listing.table.defs(insn) & pair:
                address = int(listing.addresses[first + n])
                assert _refused(program, {address: program.target.encode(UNOP)}), hex(address)
                tried += 1
    assert tried


def test_code_of_a_switch_without_a_default_is_reached() -> None:
    """The compiler dropped the bound; an instruction of a late case may not go."""
    program = _analysed(_compiled("sw.c", ("-O2", "-mcpu=ev4")))
    function = next(f for f in program.functions if f.name == "f")
    listing = program.listing
    loads = [
        address
        for address, insn in zip(
            range(function.start, function.end, 4),
            listing.insns(function.start, function.end),
            strict=True,
        )
        if insn is not None and insn.name == "ldq_u" and insn.operand("disp") in (3, 5, 7)
    ]
    assert len(loads) >= 3  # of the cases 6, 7 and 9
    for address in loads:
        assert _refused(program, {address: program.target.encode(UNOP)}), hex(address)
