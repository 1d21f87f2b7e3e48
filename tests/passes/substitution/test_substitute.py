"""`substitute` on the real libc: what becomes what, that it runs, and what stands against it."""

from __future__ import annotations

import random
import signal
import struct
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import targets
from fixtures import programs
from fixtures.local import LOCAL
from passes.substitute import Substitute, Substitution
from rewriter.analysis.program import Program, analyse
from rewriter.contracts import CONTRACTS
from rewriter.core.edit import Grade
from rewriter.core.target.protocol import CannotMove
from rewriter.elf import manifest
from rewriter.elf.caves.build import caves_of
from rewriter.elf.caves.room import Caves
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image, load, parse
from rewriter.elf.unwind import entries
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.verify.check import verify
from rewriter.verify.routines.calls import ASSUMED
from rewriter.verify.routines.replaceable import Known, Named
from tests.conftest import Patched, Run
from tests.support.depth import DEEP

ONLY = ("--passes", "substitute")
SHARE = ("--funcs", "mem.*|strl.*|strc.*")
IN_PLACE = {"ffsll", "memchr", "memcmp", "strlen", "udiv_qrnnd"}
STAYING = {op + size for op in ("div", "rem") for size in ("l", "lu", "q", "qu")}
"""Divisions: glibc's raise SIGFPE where the divisor is zero, and ours do not."""


@pytest.fixture(scope="module")
def image(libc_program: Program) -> Image:
    """The real libc."""
    return libc_program.image


@pytest.fixture(scope="module")
def known(libc_program: Program) -> Known:
    """What is known of its routines."""
    return Known(libc_program)


@pytest.fixture(scope="module")
def ev67(patched: Patched) -> Path:
    """The libc with routines for an EV67."""
    return patched("alpha-libc", "ev67", ONLY)


@pytest.fixture(scope="module")
def ev6(patched: Patched) -> Path:
    """The libc, or a share of it, with routines for an EV6."""
    return patched("alpha-libc", "ev6", ONLY if DEEP else (*ONLY, *SHARE))


def _named(known: Known, name: str) -> Named:
    return next(named for named in known.named.values() if name in named.contracts)


def _place(known: Known, name: str, cpu: str = "ev67", caves: Caves | None = None) -> Substitution:
    target = known.program.target
    room = caves or caves_of(known.program.image, target)
    choices = Substitute().choices(known, _named(known, name), target.cpus[cpu])
    return Substitute().place(known, choices, room)


def _refusal(known: Known, name: str, cpu: str = "ev67", caves: Caves | None = None) -> str:
    with pytest.raises(CannotMove) as refused:
        _place(known, name, cpu, caves)
    return str(refused.value)


# What becomes what ------------------------------------------------------------------------


def test_every_known_routine_of_the_libc_is_replaced(ev67: Path, known: Known) -> None:
    record = manifest.read(ev67.read_bytes())
    assert record is not None
    found = {edit.address: edit for edit in record.edits}
    assert set(found) == (_by_symbol(known) | set(LOCAL.values())) - _staying(known)
    for address, edit in found.items():
        names = known.named[address].contracts
        assert edit.id == f"substitute:{edit.routine}+{address - _start(known, address):x}"
        assert edit.kind == ("in place" if set(names) & IN_PLACE else "in a cave")
        assert edit.evidence.grade is Grade.TESTED and edit.evidence.cases >= 26
        assert set(edit.evidence.preconditions) <= {ASSUMED}


def _by_symbol(known: Known) -> set[int]:
    return {at for at, named in known.named.items() if named.provenance == "symbol"}


def _staying(known: Known) -> set[int]:
    return {at for at, named in known.named.items() if set(named.contracts) <= STAYING}


def _start(known: Known, address: int) -> int:
    function = known.program.function_at(address)
    assert function is not None
    return function.start


def test_counts_of_bits_only_where_the_cpu_has_them(known: Known) -> None:
    assert _place(known, "strlen", "ev67").routine.folder == "ev67"
    assert _place(known, "strlen", "ev6").routine.folder == "ev6"
    assert _refusal(known, "strlen", "ev56") == "no tuned routine for ev56"


@pytest.mark.parametrize("cpu", ["ev6", "ev67"])
def test_the_wide_division_writes_no_register_that_the_old_one_left(cpu: str, known: Known) -> None:
    """No symbol names it and no unwind entry covers it: its signature and its calls do."""
    found = _place(known, "udiv_qrnnd", cpu)
    assert found.named.address == LOCAL["udiv_qrnnd"] and found.named.provenance == "signature"
    assert (found.routine.folder, found.body, found.chosen.assumed) == (cpu, None, ())


def test_both_entries_lead_to_the_cave(known: Known, image: Image) -> None:
    """memcpy is mostly entered behind its gp set-up."""
    found = _place(known, "memcpy")
    assert found.body is not None and found.body.address % 64 == 0
    start = found.named.address
    assert set(found.words) == {start, start + 8}
    table = known.program.target.table
    for address, word in found.words.items():
        insn = table.decode(int.from_bytes(word, "little"))
        assert insn is not None and insn.target(address) == found.address + found.routine.entry


def test_a_routine_inside_a_function_leaves_the_rest_alone(known: Known) -> None:
    """memset is entered in the middle of what its unwind entry covers."""
    found = _place(known, "memset")
    assert found.function.start < found.named.address
    assert set(found.words) == {found.named.address} and not found.unwind


def test_in_place_the_unwind_entry_covers_the_new_code(ev67: Path, known: Known) -> None:
    """strlen grew over the nops behind it."""
    bare = manifest.detach(ev67.read_bytes())[0]
    new = {frame.start: frame for frame in entries.frames(parse(bare, "new"))}
    strlen = new[_named(known, "strlen").address]
    old = known.program.frames[strlen.start]
    assert (old.end - old.start, strlen.end - strlen.start) == (104, 112)
    assert len(unwind_rows.rows(strlen)) == 1


def test_signatures_name_what_symbols_do_not(image: Image, known: Known) -> None:
    """The same routines without any symbol: the rest of the road is the same."""
    bare = replace(image, symbols=())
    other = Known(analyse(bare, known.program.target))
    found = {at for at, named in other.named.items() if named.provenance == "signature"}
    assert len(found & _by_symbol(known)) > 25
    strlen = _named(known, "strlen").address
    assert _try(other, other.named[strlen]).routine.name == "strlen"


# What runs --------------------------------------------------------------------------------


@pytest.mark.parametrize("program", programs.PROGRAMS)
def test_programs_print_the_same_on_ev67(program: str, ev67: Path, libc: Path) -> None:
    assert programs.run(program, ev67, "ev67") == programs.run(program, libc, "ev67")


@pytest.mark.parametrize("program", programs.PROGRAMS)
def test_programs_print_the_same_on_ev6(program: str, ev6: Path, libc: Path) -> None:
    assert programs.run(program, ev6, "ev6") == programs.run(program, libc, "ev6")


def test_routines_for_ev67_run_on_nothing_less(ev67: Path) -> None:
    assert programs.run("strings", ev67, "ev6").returncode == -signal.SIGILL


def test_a_fault_in_a_cave_unwinds_to_the_program(ev67: Path) -> None:
    """Without its unwind entry nothing would: the program shows the difference."""
    good = programs.run("faults", ev67, "ev67").stdout
    lines = good.decode().splitlines()
    assert len(lines) > 20 and all(line.count(" main+") == 4 for line in lines)


def test_without_the_new_table_it_would_not(ev67: Path, image: Image, tmp_path: Path) -> None:
    """The control: PT_GNU_EH_FRAME leads to the old table again."""
    data = bytearray(ev67.read_bytes())
    new = load(ev67)
    number = next(n for n, s in enumerate(new.segments) if s.p_type == entries.PT_GNU_EH_FRAME)
    (e_phoff,) = struct.unpack_from("<Q", data, 32)
    at = e_phoff + 56 * number
    data[at : at + 56] = image.data[at : at + 56]
    path = tmp_path / "libc.so.6.1"
    path.write_bytes(data)
    lines = programs.run("faults", path, "ev67").stdout.decode().splitlines()
    assert any(line.count(" main+") < 4 for line in lines)


# The user's choice ------------------------------------------------------------------------


@pytest.mark.usefixtures("analysed_once")
def test_only_skip_and_max_edits(run: Run, libc: Path, tmp_path: Path) -> None:
    def edits(*options: str) -> set[str]:
        out, kept = tmp_path / "out", ("--cache", tmp_path / "kept")
        done = run("patch", libc, "-o", out, "--cpu", "ev67", *ONLY, *kept, *options)
        assert done.exit_code == 0, done.stderr
        record = manifest.read(out.read_bytes())
        assert record is not None and manifest.revert(out.read_bytes()) == libc.read_bytes()
        return {edit.id for edit in record.edits}

    some = "substitute:memcpy+0", "substitute:strlen+0"
    of = ("--funcs", "mem.*|strl.*")  # there are more than five
    assert edits("--only", some[0], "--only", some[1], *of) == set(some)
    left = edits("--skip", some[0], "--skip", some[1], "--max-edits", "3", *of)
    assert len(left) == 3 and not left & set(some)


@pytest.mark.usefixtures("analysed_once")
def test_nothing_to_do_is_the_same_file(run: Run, libc: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("patch", libc, "-o", out, "--cpu", "ev56", *ONLY, *SHARE).exit_code == 4
    assert out.read_bytes() == libc.read_bytes()


@pytest.mark.usefixtures("analysed_once")
def test_verify_and_revert_take_the_two_files(
    run: Run, libc: Path, ev6: Path, tmp_path: Path
) -> None:
    done = run("verify", libc, ev6)
    assert done.exit_code == 0 and "TESTED" in done.stdout, done.stdout
    assert run("revert", ev6, "-o", tmp_path / "back").exit_code == 0
    assert (tmp_path / "back").read_bytes() == libc.read_bytes()


# What stands against it -------------------------------------------------------------------


def test_no_room(known: Known) -> None:
    assert _refusal(known, "memcpy", caves=Caves(())) == "no room"
    assert _place(known, "strlen", caves=Caves(())).body is None


def test_what_does_not_behave_like_its_name_stays(image: Image) -> None:
    """strlen that is one off, and memcpy called memmove."""
    at = image.offset_of(next(s.st_value for s in image.symbols if s.name == "strlen"))
    data = bytearray(image.data)
    (word,) = struct.unpack_from("<I", data, at + 4)
    ret = data.index(struct.pack("<I", 0x6BFA8001), at)
    assert word
    data[ret - 4 : ret] = struct.pack("<I", 0x40003400)  # addq v0,1,v0 hides what was there
    other = _known(image, bytes(data))
    assert "does not behave like strlen" in _refusal(other, "strlen")
    memcpy = replace(_named(other, "memcpy"), contracts=("memmove",))
    with pytest.raises(CannotMove, match="does not behave like memmove"):
        _try(other, memcpy)


def _known(image: Image, data: bytes) -> Known:
    return Known(analyse(replace(image, data=data), targets.of(image)))


def _try(known: Known, named: Named) -> Substitution:
    target = known.program.target
    room = caves_of(known.program.image, target)
    return Substitute().place(known, Substitute().choices(known, named, target.cpus["ev67"]), room)


def test_one_routine_with_two_names_gets_the_one_that_keeps_both(known: Known) -> None:
    both = replace(_named(known, "memmove"), contracts=("memcpy", "memmove"))
    assert _try(known, both).routine.name == "memmove"


T6, LDA_T6, USE_T6 = 7, 0x20FF0001, 0x40E03407
"""t6, which only the new strchr writes; `lda t6,1(zero)`; `addq t6,1,t6`."""


def _nops_around_a_call(known: Known, name: str) -> int:
    """A call with a nop in front of it and behind it."""
    listing, target = known.program.listing, known.program.target
    entry = _named(known, name).address
    for at in range(1, len(listing) - 1):
        if listing.targets[at] == entry:
            around = [listing.insn(n) for n in (at - 1, at + 1)]
            call = listing.insn(at)
            if call and call.name == "bsr" and all(i and target.is_nop(i) for i in around):
                return int(listing.addresses[at])
    raise AssertionError("no such call")


def test_a_value_that_a_caller_keeps_is_seen(image: Image, known: Known) -> None:
    """As gcc -fipa-ra might: t6 is set before a call of strchr and read after it."""
    assert ASSUMED in _place(known, "memcpy").chosen.assumed
    assert not _place(known, "strchr").chosen.assumed
    call = image.offset_of(_nops_around_a_call(known, "strchr"))
    data = bytearray(image.data)
    struct.pack_into("<I", data, call + 4, USE_T6)
    assert isinstance(_place(_known(image, bytes(data)), "strchr"), Substitution)
    struct.pack_into("<I", data, call - 4, LDA_T6)
    assert _refusal(_known(image, bytes(data)), "strchr") == "a caller may keep a value in t6"


def test_what_a_routine_writes_includes_what_it_calls(known: Known) -> None:
    names = known.program.target.table.register_names
    for name, register in (("mempcpy", "t4"), ("strcpy", "t7"), ("ffs", "t5")):
        function = known.program.function_at(_named(known, name).address)
        assert function is not None
        assert known.calls.writes(function) >> names.index(register) & 1


# The verifier -----------------------------------------------------------------------------


def test_a_flipped_bit_in_what_was_replaced_is_seen(known: Known, ev67: Path) -> None:
    """New code in place, and the branches to caves."""
    image, chance = known.program.image, random.Random(6)
    bare = with_old_identity(image, manifest.detach(ev67.read_bytes())[0])
    check = partial(verify, known.program, progress=lambda *_: None, known=known)
    missed = []
    for name in ("strlen", "ffsll", "memcpy", "memset"):
        named = _named(known, name)
        function = known.program.function_at(named.address)
        assert function is not None
        size = len(_place(known, name).routine.code) if name in IN_PLACE else 4
        for _ in range(4):
            data, at = bytearray(bare), chance.randrange(size)
            data[image.offset_of(named.address) + at] ^= 1 << chance.randrange(8)
            new = replace(image, data=bytes(data))
            if check(new=new, only=frozenset((function,))).ok:
                missed.append((name, at))
    assert not missed


def test_another_routine_than_the_one_it_was_is_seen(known: Known, ev67: Path) -> None:
    """memmove's entry leads to strlen's code: tuned, but no memmove."""
    image = known.program.image
    bare = bytearray(with_old_identity(image, manifest.detach(ev67.read_bytes())[0]))
    target, memmove = known.program.target, _named(known, "memmove")
    strcmp = _named(known, "strcmp").address
    word = target.table.decode(int.from_bytes(bare[strcmp : strcmp + 4], "little"))
    goal = word.target(strcmp) if word else None
    assert goal is not None
    for at in known.entries(memmove):
        offset = image.offset_of(at)
        bare[offset : offset + 4] = target.branch(at, goal)
    new = replace(image, data=bytes(bare))
    function = known.program.function_at(memmove.address)
    verdict = verify(known.program, new, lambda *_: None, frozenset((function,)), known=known)  # type: ignore[arg-type]
    assert verdict.failed == (function,)


@pytest.mark.parametrize(("cpu", "lacks"), [("ev67", False), ("ev6", True), ("", True)])
def test_the_cpu_has_what_the_new_routine_needs(
    known: Known, ev67: Path, cpu: str, lacks: bool
) -> None:
    """strlen of an EV67 counts bits; where no CPU is named it may be one that cannot."""
    program = known.program
    bare = with_old_identity(program.image, manifest.detach(ev67.read_bytes())[0])
    function = program.function_at(_named(known, "strlen").address)
    assert function is not None
    verdict = verify(
        program,
        replace(program.image, data=bare),
        lambda *_: None,
        frozenset((function,)),
        known=known,
        made_for=program.target.cpus.get(cpu),
    )
    assert any("the CPU may lack CIX" in finding for finding in verdict.findings) == lacks
    assert bool(verdict.failed) == lacks


def test_a_name_alone_is_not_believed(known: Known, ev67: Path) -> None:
    """A signature of strcpy fits one place more, where each character has four bytes."""
    (other,) = set(known.named) - _by_symbol(known) - set(LOCAL.values())
    outcome = known.outcome(known.named[other], CONTRACTS["strcpy"])
    assert isinstance(outcome, str)
    record = manifest.read(ev67.read_bytes())
    assert record is not None
    believed, stay = f"substitute: does not behave like strcpy: {outcome}", "no tuned routine does"
    assert record.skips[believed] == 1
    assert [n for why, n in record.skips.items() if stay in why] == [len(STAYING)]
    assert len(record.skips) == 2


def test_a_second_run_finds_nothing_to_do(ev67: Path) -> None:
    again = parse(manifest.detach(ev67.read_bytes())[0], "again")
    other = Known(analyse(again, targets.of(again)))
    for name in ("strlen", "memcpy", "memset"):
        assert _refusal(other, name) == "a tuned routine already"
