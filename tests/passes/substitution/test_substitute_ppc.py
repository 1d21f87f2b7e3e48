"""`substitute` on the real 32-bit PowerPC libc: what becomes what, runs, and is refused."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import targets
from fixtures import inputs, programs
from passes.substitute import Substitute
from rewriter.analysis.program import analyse
from rewriter.contracts import CONTRACTS
from rewriter.core.code.dataflow import written
from rewriter.core.edit import Grade
from rewriter.core.target.protocol import CannotMove, suited
from rewriter.elf import manifest
from rewriter.elf.caves.build import caves_of
from rewriter.elf.caves.room import Caves, Room
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image, load, parse
from rewriter.identify.search import search, text_of
from rewriter.identify.signatures import shipped
from rewriter.road.options import Options
from rewriter.road.routines.choices import Choices
from rewriter.road.routines.routine import Routines
from rewriter.road.work import Work
from rewriter.verify.check import verify
from rewriter.verify.routines.replaceable import Known, by_signature
from rewriter.verify.routines.resolved import picked
from rewriter.verify.routines.rules import objection
from rewriter.verify.trials.engines.sweep import Sweep
from rewriter.verify.trials.image import code_at, code_of
from rewriter.verify.trials.records import chunks
from targets.ppc import routines
from targets.ppc.trial_program import PpcTrials
from tests.conftest import Patched
from tests.support.depth import DEEP, depth

SOME = ("memset", "rawmemchr", "strchr")
EVERY = (*SOME, "memcpy")
STAYING = ("stpcpy", "strcmp")
"""Those of which the model says that ours takes longer on a 750."""
LOSING = {"memchr": 6, "strchr": 20}
"""Those that gain there in the calls that programs make most, and the length at which they lose."""
WANTED = EVERY if DEEP else SOME
UNREACHED = 0x1B0
"""Bytes into memchr: behind the fourth byte of a word that has one of those sought."""
IN_CAVES = {"memcpy", "rawmemchr", "strchr"}
FUNCTIONS = "|".join(f"_*{name}" for name in (*WANTED, "strncmp"))


@pytest.fixture(scope="module")
def image() -> Image:
    """The libc."""
    return load(inputs.require("ppc-libc"))


@pytest.fixture(scope="module")
def known(image: Image) -> Known:
    """What is known of its routines."""
    return Known(analyse(image, targets.of(image)))


@pytest.fixture(scope="module")
def new(patched: Patched) -> Path:
    """The libc with routines for a 7450."""
    return patched("ppc-libc", "7450", ("--passes", "substitute", "--funcs", FUNCTIONS))


def _run(
    program: str, libc: Path, folder: Path, cpu: str = "7450"
) -> subprocess.CompletedProcess[bytes]:
    """A program compiled for this machine, on a libc among the others' libraries."""
    original = inputs.require("ppc-libc")
    library = folder / libc.parent.name / "lib"
    if not library.is_dir():
        library.mkdir(parents=True)
        for other in original.parent.glob("*.so*"):
            (library / other.name).symlink_to(libc if other.name == original.name else other)
    made = folder / program
    if not made.is_file():
        gcc = inputs.require_tool("powerpc-linux-gnu-gcc")
        source = programs.HERE / "programs" / programs.PROGRAMS[program].source
        subprocess.run((gcc, *programs.FLAGS, str(source), "-o", str(made)), check=True)
    qemu = inputs.require_tool("qemu-ppc")
    command = (qemu, "-cpu", cpu, "-L", str(library.parent), str(made))
    return subprocess.run(command, capture_output=True, check=False, env=dict(programs.GUEST_ENV))


def test_what_becomes_what_and_that_it_runs(new: Path, image: Image, tmp_path: Path) -> None:
    """Each routine in its own place or in new room; the program needs AltiVec then."""
    record = manifest.read(new.read_bytes())
    assert record is not None and manifest.revert(new.read_bytes()) == image.data
    found = {edit.routine.lstrip("_"): edit for edit in record.edits}
    assert set(found) == set(WANTED)
    for name, edit in found.items():
        assert edit.kind == ("in a cave" if name in IN_CAVES else "in place")
        assert edit.evidence.grade is Grade.TESTED and edit.evidence.cases >= 60
    old = _run("strings", inputs.require("ppc-libc"), tmp_path)
    assert old.returncode == 0 and old.stdout
    assert _run("strings", new, tmp_path).stdout == old.stdout
    assert _run("strings", new, tmp_path, "750").returncode == -signal.SIGILL


def test_a_flipped_bit_in_what_was_replaced_is_seen(known: Known, new: Path) -> None:
    """A bit of each new routine, of the branch to one, and of another's entry that leads there."""
    table, image = known.program.target.table, known.program.image
    bare = with_old_identity(image, manifest.detach(new.read_bytes())[0])
    check = partial(
        verify,
        known.program,
        progress=lambda *_: None,
        known=known,
        made_for=known.program.target.cpus["7450"],
    )
    for name in SOME:
        named = next(one for one in known.named.values() if name in one.contracts)
        function = known.program.function_at(named.address)
        assert function is not None
        fine = check(new=replace(image, data=bare), only=frozenset((function,)))
        assert fine.ok, name
        offset = image.offset_of(named.address)
        word = table.decode(int.from_bytes(bare[offset : offset + 4], "big"))
        goal = word.target(named.address) if word and name in IN_CAVES else named.address
        assert goal is not None
        body = parse(bare, "new").offset_of(goal)
        for at in (offset + 3, body + 3, body + 33):
            data = bytearray(bare)
            data[at] ^= 4
            assert not check(new=replace(image, data=bytes(data)), only=frozenset((function,))).ok


def test_what_takes_longer_by_the_model_stays(known: Known) -> None:
    """Each says what part of the original's cycles ours takes."""
    cpu = known.program.target.cpus["750"]
    for name in STAYING:
        named = next(one for one in known.named.values() if name in one.contracts)
        with pytest.raises(CannotMove, match=r"model: 1\.\d\d of the original's cycles"):
            next(Substitute().behaving(known, named, cpu))


def test_what_loses_at_a_length_stays(known: Known) -> None:
    """Though it gains in the calls that programs make most."""
    cpu = known.program.target.cpus["750"]
    for name, size in LOSING.items():
        named = next(one for one in known.named.values() if name in one.contracts)
        with pytest.raises(CannotMove, match=rf"model: 1\.\d\d of .* cycles at {size} bytes"):
            next(Substitute().behaving(known, named, cpu))


def test_signatures_name_what_symbols_do_not(known: Known) -> None:
    """Without any symbol the same routines are found by their words."""
    bare = Known(replace(known.program, image=replace(known.program.image, symbols=())))
    found = {one.address for one in by_signature(bare.program)}
    assert len(found & set(known.named)) > 18 and len(found) < 25


def test_what_has_no_room_is_looked_behind_before_places_are_given(
    known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In room for the smaller memmove alone: when it gets its place nothing is tried any more."""
    program = known.program
    work = Work(program, program.target.cpus["7450"], Options(("substitute",)))
    named = next(one for one in work.known.named.values() if one.contracts == ("memmove",))
    best, other = suited(program.target, "memmove", work.cpu)
    room = Room(0x300000, 0x300000 + len(other.code) + 64, 0)
    routines = Routines(work, Choices(work, Substitute()), Caves((room,)))
    function = program.function_at(named.address)
    assert function is not None and len(best.code) > room.size
    assert routines.crowded([function]) == []  # nobody has looked
    routines.choices.look(function)
    ((found, left),) = routines.crowded([function])
    assert found is named
    routines.choices.learn({named.address: routines.choices.behind((found, left))})
    monkeypatch.delattr(Substitute, "another")
    placed = routines.run(function)
    assert placed is not None and placed.routine == other and placed.address == room.start


def test_code_that_no_case_comes_to_must_be_known(known: Known) -> None:
    """glibc's memchr has a way that nothing leads to: with a bit changed there it is another
    routine, and so is what calls it."""
    image = known.program.image
    memchr, raw = (
        next(one for one in known.named.values() if one.contracts == (name,))
        for name in ("memchr", "rawmemchr")
    )
    data = bytearray(image.data)
    data[image.offset_of(memchr.address) + UNREACHED + 3] ^= 4
    other = Known(replace(known.program, image=replace(image, data=bytes(data))))
    for one in (memchr, raw):
        function = known.program.function_at(one.address)
        assert function is not None
        assert objection(known, one, function) == ""
        assert objection(other, one, function).startswith("not tried everywhere: ")


def test_variants_for_power9_are_known_and_replaced() -> None:
    """By their words: the 64-bit libc has no symbol for what a resolver picks."""
    file = load(inputs.require("ppc64el-libc"))
    program = analyse(file, targets.of(file))
    target, every = program.target, Known(program)
    found = search(text_of(file, target), target, shipped(target))
    caves = caves_of(file, target)
    for symbol in ("__strcmp_power9", "__stpcpy_power9", "__strlen_power9", "__memmove_power7"):
        (at,) = {m.address for m in found if m.signature.sources[0].symbol == symbol}
        choices = Substitute().choices(every, every.named[at], target.cpus["power9"])
        placed = Substitute().place(every, choices, caves)
        assert (placed.kind, placed.routine.folder) == ("in place", "power9")


@pytest.mark.parametrize(
    ("file", "name", "ours"),
    [
        ("ppc-libc", "memcmp", ("750", "words")),
        ("ppc-libc", "strcmp", ("750", "words")),
        ("ppc64-libc", "strcmp", ("power4", "signs")),
    ],
)
def test_comparisons_give_the_very_values(file: str, name: str, ours: tuple[str, str]) -> None:
    """Not only their sign: under qemu, on every shape of the contract (in few, each 31st)."""
    image, (folder, kind) = load(inputs.require(file)), ours
    target, contract = targets.of(image).sequential, CONTRACTS[name]
    assert target is not None
    program = PpcTrials(image.bits, "big").program(contract.linkage)
    inputs.require_tool(program.emulator[0])
    named = (s.st_value for s in image.symbols if s.name == name)
    address = picked(image, target, name, target.cpus[folder]) or next(named)
    points = islice(contract.points(), 0, None, depth(31, 1))
    made = list(chunks(contract, points, program.arena, program.capacity, program.byteorder))
    codes = (
        code_of(image, name, address, 0x50000000, target.relocated),
        code_at(routines.routine(folder, name, kind), program.routine),
        code_at(routines.routine(folder, name), program.routine),
    )
    with Sweep(program) as engine:
        outputs = [engine.run(code, [chunk.before for chunk in made]) for code in codes]
    assert all(output.status == 0 for output in outputs)
    assert np.array_equal(outputs[0].output, outputs[1].output)
    assert not np.array_equal(outputs[0].output, outputs[2].output)  # the plain one's are others
    assert len(outputs[0].output) == sum(len(chunk.before) for chunk in made)


@dataclass(frozen=True)
class _Text:
    """All that says whether a file is a kernel."""

    start: int

    def executable_ranges(self) -> list[tuple[int, int]]:
        return [(self.start, self.start + 0x1000)]


def test_no_kernel_gets_floating_point_or_vectors(image: Image) -> None:
    """It has the registers of whatever program ran last."""
    target = targets.of(image).sequential
    assert target is not None
    names = target.table.register_names
    for start, own in ((0x10000000, False), (0xC0000000, True)):
        mask = target.reserved(_Text(start))  # type: ignore[arg-type]
        for name in ("f0", "f13.1", "v0", "v19.3", "vrsave"):
            assert bool(mask >> names.index(name) & 1) == own, name
    insns = [insn for routine in target.routines("memcpy") for insn in routine.insns()]  # type: ignore[attr-defined]
    assert written(target.table, insns) & mask


@pytest.mark.parametrize(
    ("cpu", "folder"), [("603e", "750"), ("7400", "7450"), ("970", "7450"), ("power10", "7450")]
)
def test_a_cpu_takes_what_was_made_for_earlier_ones(cpu: str, folder: str, image: Image) -> None:
    target = targets.of(image).sequential
    assert target is not None
    assert next(suited(target, "memcpy", target.cpus[cpu])).folder == folder
