"""Routines of a real kernel in pieces: the user copy, its exception entries, and wrong ones."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from passes.substitute import Substitute
from rewriter.analysis.program import Program
from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import Contract, View
from rewriter.core.code.program import Function
from rewriter.core.target.protocol import CannotMove, Tuned
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.gap import text_gap
from rewriter.elf.headers import SHF_EXECINSTR, read_headers
from rewriter.elf.image import Image
from rewriter.road import acceptance, pipeline
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from rewriter.verify.check import Verdict, verify
from rewriter.verify.routines.pieces import placement_at
from rewriter.verify.routines.pieces_rules import Pieces
from rewriter.verify.routines.replaceable import Known, Named
from rewriter.verify.routines.rules import preconditions
from rewriter.verify.routines.trial import Trials
from rewriter.verify.trials.steps import Stepper, Stores
from targets.alpha.registers import T7
from targets.alpha.routines import Routine, variants
from tests.verification.tables.extable import ENTRY, table

NAMES = ("__copy_user", "copy_page", "clear_page", "csum_ipv6_magic", "__udiv_qrnnd")
ACCESSES = {0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, *range(0x28, 0x30)}
"""Opcodes of ldbu, ldq_u, ldwu, stw, stb, stq_u and of ldl to stq_c (Handbook v4, appendix C)."""


@pytest.fixture(scope="module")
def known(kernel: Program) -> Known:
    return Known(kernel)


@pytest.fixture(scope="module")
def data(kernel: Program) -> bytes:
    """The kernel with these routines for an EV67."""
    options = Options(passes=("substitute",), funcs=NAMES)
    done = _tuned(kernel, options)
    assert {edit.routine: edit.kind for edit in done.edits} == dict.fromkeys(NAMES, "in pieces")
    tried = {edit.routine: edit.evidence.cases for edit in done.edits}
    assert tried["__copy_user"] > 500
    assert {kind for kind, (found, used) in done.room.items() if used} >= {
        "behind the text", "in place of routines"
    }  # fmt: skip
    assert all(used <= found for found, used in done.room.values())
    return with_old_identity(kernel.image, done.data)


def _quiet(stage: str, done: int, total: int) -> None:
    pass


def _tuned(kernel: Program, options: Options) -> pipeline.Tuned:
    cpu = kernel.target.cpus["ev67"]
    return tune(kernel.image, kernel.target, cpu, options, _quiet, program=kernel)


def _named(known: Known, name: str) -> tuple[Named, Function]:
    named = next(n for n in known.named.values() if name in n.contracts)
    function = known.program.function_at(named.address)
    assert function is not None
    return named, function


def _copy() -> Routine:
    (routine,) = variants("__copy_user")
    return routine


def test_the_table_keeps_its_size_and_every_access_that_may_fault_has_one_entry(
    kernel: Program, known: Known, data: bytes
) -> None:
    named, function = _named(known, "__copy_user")
    old, new = table(kernel, kernel.image.data), table(kernel, data)
    owned = {at for at, (access, *_) in old.items() if access in function}
    assert len(owned) == 14 and {at for at in old if old[at] != new.get(at)} == owned
    image = replace(kernel.image, data=data)
    placement = placement_at(image, kernel.target, _copy(), named.address)
    assert placement is not None
    accesses = {
        at
        for at in placement.places.values()
        if image.read(at, 4)[3] >> 2 in ACCESSES and image.read(at, 4) != b"\0\0\xfe\x2f"
    }
    assert {new[at][0] for at in owned} == accesses
    wanted = {placement.places[at]: placement.places[to] for at, to in _copy().resumes}
    assert {new[at][0]: new[at][1] for at in owned} == wanted


def test_no_fewer_bytes_are_copied_than_before_a_fault(kernel: Program, data: bytes) -> None:
    """A fault at every byte of either side: the count is exact, the original's never smaller."""
    contract = CONTRACTS["__copy_user"]
    new = _left(kernel, data, contract)
    old = _left(kernel, kernel.image.data, contract)
    assert len(new) > 200 and len(new) == len(old)
    assert all(got == exact <= before for (got, exact), (before, _) in zip(new, old, strict=True))
    assert any(got < before for (got, _), (before, _) in zip(new, old, strict=True))


def _left(kernel: Program, data: bytes, contract: Contract) -> list[tuple[int, int]]:
    """For each of some cases what a file's routine says is left, and what is."""
    image, target = replace(kernel.image, data=data), kernel.target
    resumes = {fixup.access: fixup.resume for fixup in target.tables.exceptions.read(image)}
    trials = Trials(image, target, resumes=resumes)
    address = next(s.st_value for s in image.symbols if s.name == contract.name)
    code = trials.code_at(address, 4, contract.name)
    room = trials._room(contract.linkage)
    hints = target.trials.write_hints
    stepper = Stepper(code, contract, room, target.table, hints, Stores.UNCHANGED)
    found = []
    for point in [point for _, point in contract.few() if point.get("fault")][::11]:
        case = contract.case(room.arena, point)
        exact = contract.model(View(case.pieces, "little"), *case.arguments)
        stepper.problem(case)
        assert exact is not None
        found.append((stepper.interpreter.registers[stepper.linkage.result], exact))
    return found


# What stands against it -------------------------------------------------------------------


def _tampered(routine: Routine, **changes: object) -> Tuned:
    return replace(routine, **changes)  # type: ignore[arg-type]


def test_a_routine_that_needs_more_entries_than_there_are_stays(known: Known) -> None:
    routine = _copy()
    more = _tampered(routine, resumes=(*routine.resumes, (0, routine.resumes[0][1])))
    reason = preconditions(known, *_named(known, "__copy_user"), more)
    assert reason == "needs 15 entries of the exception table, has 14"


def test_the_register_of_the_current_thread_is_not_written(known: Known) -> None:
    """`lda t7,1(zero)` more: gcc is told -ffixed-8, and callers do not show that they read it."""
    lda = struct.pack("<I", 0x08 << 26 | T7 << 21 | 31 << 16 | 1)
    routine = _copy()
    writes = _tampered(routine, code=routine.code + lda)
    reason = preconditions(known, *_named(known, "__copy_user"), writes)
    assert reason == "the new one writes t7, which this kernel reserves"


def test_what_the_original_does_not_keep_is_not_replaced(known: Known) -> None:
    """Linux 6.1 for EV5 leaves the last bytes of an odd destination: fixing that is no tuning."""
    named, _ = _named(known, "__clear_user")
    with pytest.raises(CannotMove, match="does not behave like __clear_user: memory at"):
        Substitute().chosen(known, named, known.program.target.cpus["ev67"])


def test_a_second_run_finds_nothing_to_do(kernel: Program, data: bytes) -> None:
    again = Known(replace(kernel, image=replace(kernel.image, data=data)))
    for name in ("__copy_user", "copy_page"):
        named, _ = _named(again, name)
        with pytest.raises(CannotMove, match="a tuned routine already"):
            Substitute().chosen(again, named, kernel.target.cpus["ev67"])


# Mutants ----------------------------------------------------------------------------------


def test_the_verifier_accepts_it(kernel: Program, known: Known, data: bytes) -> None:
    verdict = _verdict(kernel, known, data)
    assert verdict.ok and len(verdict.tried) == len(NAMES), verdict.findings


Change = Callable[[int, int], tuple[int, int]]
WRONG: dict[str, Change] = {
    "resumes an instruction later": lambda access, word: (access, word + 4),
    "is for the instruction behind": lambda access, word: (access + 4, word - 4),
    "sets a register": lambda access, word: (access, word & ~(31 << 16)),
    "is dead": lambda access, word: (0, word),
    "is for another function": lambda access, word: (access + 0x10000, word),
}


@pytest.mark.parametrize("what", WRONG)
def test_one_wrong_entry_is_found(kernel: Program, known: Known, data: bytes, what: str) -> None:
    _, function = _named(known, "__copy_user")
    old = table(kernel, kernel.image.data)
    for where in [at for at, (access, *_) in old.items() if access in function][::9]:
        wrong = bytearray(data)
        entry = ENTRY.unpack_from(wrong, where)
        ENTRY.pack_into(wrong, where, *WRONG[what](*entry))
        assert not _verdict(kernel, known, bytes(wrong)).ok


def test_the_old_entries_with_the_new_code_are_found(
    kernel: Program, known: Known, data: bytes
) -> None:
    section = kernel.image.section("__ex_table")
    assert section is not None
    whole, wrong = slice(section.sh_offset, section.file_end), bytearray(data)
    wrong[whole] = kernel.image.data[whole]
    assert not _verdict(kernel, known, bytes(wrong)).ok


def test_a_flipped_bit_in_a_piece_is_found(kernel: Program, known: Known, data: bytes) -> None:
    """In every piece of the user copy, wherever it stands, one bit of its first word."""
    image = replace(kernel.image, data=data)
    named, _ = _named(known, "__copy_user")
    placement = placement_at(image, kernel.target, _copy(), named.address)
    assert placement is not None
    places = set(placement.places.values())
    starts = [at for at in sorted(places) if at - 4 not in places]
    assert len(starts) > 2
    for at in starts:
        wrong = bytearray(data)
        wrong[image.offset_of(at) + 3] ^= 0x20
        assert not _verdict(kernel, known, bytes(wrong)).ok, f"{at:#x}"


def test_more_in_the_gap_than_pieces_is_found(kernel: Program, known: Known, data: bytes) -> None:
    gap = text_gap(kernel.image)
    assert gap is not None
    wrong = bytearray(data)
    wrong[kernel.image.offset_of(gap.end - 4)] = 1
    assert not _verdict(kernel, known, bytes(wrong)).ok


def test_pieces_behind_the_text_are_in_its_section(
    kernel: Program, known: Known, data: bytes
) -> None:
    """Else strip would clear them; a section that covers more or less is found."""
    gap = text_gap(kernel.image)
    assert gap is not None
    headers = read_headers(data, "new")
    section = headers.sections[gap.before.index]
    end = section.sh_addr + section.sh_size
    new = replace(kernel.image, data=data)
    assert gap.start < end <= gap.end and not any(new.read(end, gap.end - end))
    assert new.read(end - 4, 4) != bytes(4)
    at = headers.e_shoff + headers.layout.shdr.size * gap.before.index + 32
    wrong = bytearray(data)
    struct.pack_into("<Q", wrong, at, section.sh_size - 4)
    assert not _verdict(kernel, known, bytes(wrong)).ok


# Room at the ends of others ---------------------------------------------------------------

HOSTS = (
    *("ata_scsi_pass_thru", "ata_gen_passthru_sense"),
    *("LZ4_decompress_safe_forceExtDict", "LZ4_decompress_safe_continue"),
)
"""Functions of which a new layout leaves much."""


def _move_in(kernel: Program, known: Known, data: bytes) -> set[int]:
    """Where memmove is, with the branches that only lead to it."""
    (routine,) = variants("memmove")
    pieces = Pieces(kernel, known, replace(kernel.image, data=data))
    placement = pieces.placed(_named(known, "memmove")[0], routine)
    assert placement is not None
    return placement.addresses


@pytest.fixture(scope="module")
def lodged(kernel: Program, known: Known) -> bytes:
    """memmove at the ends of others; the first of them that it chose was as if not verified."""
    hosts = [f for f in kernel.functions if f.name in HOSTS]
    lost: list[Function] = []

    def refused(program: Program, new: Image, *more: object) -> Verdict:
        verdict = verify(program, new, *more)  # type: ignore[arg-type]
        assert verdict.ok, verdict.findings
        if lost:
            return verdict
        lodging = _move_in(kernel, known, new.data)
        lost.append(next(f for f in hosts if any(at in f for at in lodging)))
        return replace(verdict, findings=(f"{lost[0].name}: as if",), failed=(lost[0],))

    options = Options(passes=("bytes", "align", "substitute"), funcs=("memmove", *HOSTS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acceptance, "verify", refused)
        done = _tuned(kernel, options)
    assert [e.routine for e in done.edits if e.technique == "substitute"] == ["memmove"]
    assert {s.routine for s in done.skips if s.technique == "align"} == {lost[0].name}
    assert not any(at in lost[0] for at in _move_in(kernel, known, done.data))
    assert all(used <= found for found, used in done.room.values())
    return with_old_identity(kernel.image, done.data)


def test_a_routine_whose_room_went_back_is_put_elsewhere(
    kernel: Program, known: Known, lodged: bytes
) -> None:
    verdict = _verdict(kernel, known, lodged)
    assert verdict.ok and len(verdict.tried) == 1, verdict.findings


def test_both_entries_lead_to_the_new_routine(kernel: Program, known: Known, lodged: bytes) -> None:
    """memmove is entered at its start and, with gp set, 8 bytes on: the old code stays there."""
    named, function = _named(known, "memmove")
    entries = known.entries(named)
    assert entries == (named.address, named.address + 8)
    offset, size = kernel.image.offset_of(named.address), function.end - function.start
    old, new = (image[offset : offset + size] for image in (kernel.image.data, lodged))
    assert {at for at in range(0, size, 4) if old[at : at + 4] != new[at : at + 4]} == {0, 8}
    for at in (0, 8):
        for word in (old[at : at + 4], _further(new[at : at + 4])):
            wrong = bytearray(lodged)
            wrong[offset + at : offset + at + 4] = word
            assert not _verdict(kernel, known, bytes(wrong)).ok, f"{at:#x} is {word.hex()}"
    wrong = bytearray(lodged)
    wrong[offset + 4 : offset + 8] = new[8:12]  # a way that is no entry
    assert not _verdict(kernel, known, bytes(wrong)).ok


def _further(branch: bytes) -> bytes:
    """A branch to one instruction later."""
    return struct.pack("<I", struct.unpack("<I", branch)[0] + 1)


def _verdict(kernel: Program, known: Known, data: bytes) -> Verdict:
    cpu = kernel.target.cpus["ev67"]
    return verify(kernel, replace(kernel.image, data=data), _quiet, known=known, cpu=cpu)


def test_what_writes_the_stack_pointer_may_lodge_too(kernel: Program) -> None:
    """It is not the host that writes it: behind the host's last row its own writes are counted."""
    options = Options(passes=("bytes", "align", "substitute"), funcs=("__remqu", *HOSTS))
    done = _tuned(kernel, options)
    (edit,) = (edit for edit in done.edits if edit.technique == "substitute")
    assert (edit.routine, edit.kind) == ("__remqu", "in pieces")
    assert done.room["at the ends of functions"][1]
    assert not any("not verified" in skip.reason for skip in done.skips), done.skips


# Memory that is given back ----------------------------------------------------------------


def _given_back(kernel: Program) -> Program:
    """The same, but the hosts are in memory that is given back when the kernel has started."""
    text = next(s for s in kernel.image.sections if s.sh_flags & SHF_EXECINSTR)
    hosts = tuple(
        replace(text, name=".init.text", sh_flags=0, sh_addr=f.start, sh_size=f.end - f.start)
        for f in kernel.functions
        if f.name in HOSTS
    )
    assert len(hosts) == len(HOSTS)
    return replace(kernel, image=replace(kernel.image, sections=(*kernel.image.sections, *hosts)))


def test_no_piece_stands_in_memory_that_is_given_back(kernel: Program) -> None:
    """In `test_what_writes_the_stack_pointer_may_lodge_too` the same routine moves in there."""
    options = Options(passes=("bytes", "align", "substitute"), funcs=("__remqu", *HOSTS))
    done = _tuned(_given_back(kernel), options)
    assert {edit.technique for edit in done.edits} >= {"align"}
    assert not done.room["at the ends of functions"][0]


def test_a_piece_in_memory_that_is_given_back_is_found(
    kernel: Program, known: Known, lodged: bytes
) -> None:
    (routine,) = variants("memmove")
    named, image = _named(known, "memmove")[0], replace(kernel.image, data=lodged)
    placement = Pieces(kernel, known, image).placed(named, routine)
    assert placement is not None
    found = [
        list(Pieces(program, known, image).odd_ways(named, placement, routine))
        for program in (kernel, _given_back(kernel))
    ]
    assert found == [[], ["pieces of it are in memory that is given back"]]
