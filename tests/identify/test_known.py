"""Routines of the real libc, found though their names are hidden, and what is none."""

from __future__ import annotations

import io
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from made import Made, Places

from fixtures import inputs
from fixtures.local import LOCAL
from rewriter.contracts import CONTRACTS
from rewriter.core.target.protocol import Sequential
from rewriter.elf.image import Image, load, parse
from rewriter.identify.search import search, text_of
from rewriter.identify.signatures import Database, digest, shipped, start_of
from rewriter.identify.symbols import contract_of
from rewriter.verify.routines.known import Status, known_routines, like_routines, unknown_functions

SOME = ("strlen", "memcpy", "strncmp", "memmove", "ffsll", "divqu")


def _known(image: Image, target: Sequential, database: Database) -> dict[str, int]:
    found = known_routines(image, target, database, CONTRACTS)
    known = {finding.routine: finding.address for finding in found if finding.known}
    assert len(known) == sum(finding.known for finding in found), "one place for each routine"
    return known


@pytest.fixture
def emulator() -> None:
    """The libc divides in floating point, which only the emulator knows."""
    inputs.require_tool("qemu-alpha")


@pytest.mark.usefixtures("emulator")
def test_the_signatures_that_come_with_retune_find_the_libc(
    hidden: Image, target: Sequential, all_places: Places
) -> None:
    """All of it, and nothing else: a place that is called known is what its symbol says."""
    assert _known(hidden, target, shipped(target)) == all_places


@pytest.mark.usefixtures("emulator")
def test_signatures_of_the_archive_find_the_library(
    hidden: Image, target: Sequential, all_places: Places, made: Made, archive: Path
) -> None:
    """The linker relaxed the calls in between."""
    assert _known(hidden, target, made(archive)) == all_places


def test_the_library_and_the_archive_have_the_same_routines(
    made: Made, archive: Path, libc: Path
) -> None:
    one, two = ({(s.routine, s.digest) for s in made(p).signatures} for p in (archive, libc))
    assert two < one and {routine for routine, _ in one - two} == set(LOCAL)


@pytest.mark.parametrize("name", LOCAL)
def test_a_routine_without_a_symbol_is_the_archives(name: str, image: Image, archive: Path) -> None:
    """It has no relocation, so its bytes are the same, and there once."""
    ar = inputs.require_tool("alpha-linux-gnu-ar")
    member = subprocess.run((ar, "p", archive, f"{name}.o"), capture_output=True, check=True)
    section = ELFFile(io.BytesIO(member.stdout)).get_section_by_name(".text")
    code = section.data()
    assert image.data.count(code) == 1
    assert image.data.index(code) == image.offset_of(LOCAL[name])


def test_the_kernel(target: Sequential) -> None:
    """Built by others with flags of its own; the linker has no names for us."""
    image = load(inputs.require("alpha-vmlinux"))
    named = {(contract_of(s.name, CONTRACTS), s.st_value) for s in image.symbols if s.st_shndx}
    found = known_routines(replace(image, symbols=()), target, shipped(target), CONTRACTS)
    known = {(finding.routine, finding.address) for finding in found if finding.known}
    assert known <= named
    assert len(known) >= 25
    bad = {finding.routine for finding in found if (finding.routine, finding.address) in named}
    # Linux 6.1 leaves the last bytes of a misaligned area: `clr $0` stands before its `mskqh`.
    assert "__clear_user" in bad - {routine for routine, _ in known}


@pytest.mark.parametrize("routine", SOME)
def test_one_changed_instruction_is_another_routine(
    routine: str, image: Image, target: Sequential, places: Places, made: Made, libc: Path
) -> None:
    """A literal operand, a register, or a displacement, in the middle of it."""
    signature = next(s for s in made(libc).signatures if s.routine == routine)
    assert _matches(image, target, made(libc), places[routine]) == {routine}
    changed = 0
    for word in range(2, signature.words):
        at = image.offset_of(places[routine] + 4 * word)
        insn = target.table.decode(int.from_bytes(image.data[at : at + 4], "little"))
        if insn is None or insn.op.format.name not in ("operate", "operate literal"):
            continue
        if target.is_nop(insn):
            continue
        data = bytearray(image.data)
        data[at] ^= 1  # the register of the result
        mutant = replace(image, data=bytes(data))
        assert routine not in _matches(mutant, target, made(libc), places[routine])
        changed += 1
    assert changed >= 4


def _matches(image: Image, target: Sequential, database: Database, address: int) -> set[str]:
    size = max(s.words for s in database.signatures)
    words = text_of(image, target)
    near = [(start, part) for start, part in words if start <= address < start + 4 * len(part)]
    ((start, part),) = near
    first = (address - start) // 4
    found = search([(address, part[first : first + size])], target, database)
    return {match.signature.routine for match in found if match.address == address}


@pytest.mark.parametrize(
    ("code", "claimed"),
    [("strlen", "strchr"), ("memcpy", "memset"), ("strcmp", "strcpy"), ("ffsll", "strlen")],
)
def test_a_forged_signature_is_refused(
    code: str, claimed: str, hidden: Image, target: Sequential, made: Made, libc: Path
) -> None:
    entry = next(s for s in made(libc).signatures if s.routine == code)
    forged = Database.of(target.name, [replace(entry, routine=claimed)])
    (finding,) = known_routines(hidden, target, forged, CONTRACTS)
    assert finding.status is Status.REFUSED and not finding.known
    assert finding.evidence is None and finding.detail


def test_a_subtle_difference_is_refused(
    hidden: Image, target: Sequential, places: Places, made: Made, libc: Path
) -> None:
    """strlen that subtracts another register, with a signature made of its own bytes."""
    at = hidden.offset_of(places["strlen"])
    words = hidden.data[at : at + 4 * 26]
    ret = words.index((0x6BFA8001).to_bytes(4, "little"))
    data = bytearray(hidden.data)
    data[at + ret - 3] ^= 0x01  # an operand of what computes the result
    mutant = replace(hidden, data=bytes(data))
    ranges = text_of(mutant, target)
    ((start, part),) = [r for r in ranges if r[0] <= places["strlen"] < r[0] + 4 * len(r[1])]
    own = part[(places["strlen"] - start) // 4 :][:26]
    entry = next(s for s in made(libc).signatures if s.routine == "strlen")
    forged = replace(
        entry, digest=digest(target.normal(own)), start=start_of(target.coarse(own)), words=26
    )
    (finding,) = known_routines(mutant, target, Database.of("alpha", [forged]), CONTRACTS)
    assert finding.address == places["strlen"] and finding.status is Status.REFUSED


def test_the_same_code_twice_is_ambiguous_unless_named(
    image: Image, hidden: Image, target: Sequential, places: Places, made: Made, libc: Path
) -> None:
    """A copy of strlen over strchr, which is longer."""
    data = bytearray(image.data)
    one, two = (image.offset_of(places[name]) for name in ("strlen", "strchr"))
    data[two : two + 104] = data[one : one + 104]
    strlen = [s for s in made(libc).signatures if s.routine == "strlen"]
    database = Database.of(target.name, strlen)
    both = {places["strlen"], places["strchr"]}
    found = known_routines(replace(hidden, data=bytes(data)), target, database, CONTRACTS)
    assert {f.address for f in found if f.status is Status.AMBIGUOUS} == both
    found = known_routines(replace(image, data=bytes(data)), target, database, CONTRACTS)
    assert {f.address: f.status for f in found} == {
        places["strlen"]: Status.KNOWN,
        places["strchr"]: Status.AMBIGUOUS,
    }


def test_behaviour_alone_says_like(hidden: Image, target: Sequential, places: Places) -> None:
    """An unknown build: no signature, and still strlen behaves like strlen."""
    functions = unknown_functions(hidden, target, ())
    near = [f for f in functions if places["bcopy"] <= f.start <= places["strrchr"]]
    assert len(near) > 60
    found = like_routines(hidden, target, near, CONTRACTS)
    assert not any(finding.known for finding in found)
    assert {finding.status for finding in found} == {Status.LIKE}
    right = {f.routine for f in found if places.get(f.routine) == f.address}
    assert right >= {
        *("strlen", "strchr", "strrchr", "strcmp", "strncmp", "memcmp", "memchr", "rawmemchr"),
        *("memcpy", "mempcpy", "memmove", "bcopy", "bzero", "strcpy", "strcat", "strncat"),
        *("strncpy", "strnlen", "ffs", "ffsll"),
    }


def test_a_foreign_target_has_no_matches(target: Sequential) -> None:
    """Words of another architecture: the search looks, and finds nothing."""
    other = load(inputs.require("ppc-libc"))
    assert not search(text_of(other, target), target, shipped(target))


def test_a_file_without_functions_is_searched(sample_bytes: bytes, target: Sequential) -> None:
    image = parse(sample_bytes, "sample")
    found = known_routines(image, target, shipped(target), CONTRACTS)
    assert all(f.status in (Status.KNOWN, Status.REFUSED) for f in found)


@pytest.fixture
def sample_bytes() -> bytes:
    """The library that is always there."""
    return inputs.require("alpha-sample").read_bytes()
