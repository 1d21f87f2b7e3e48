"""Tuned routines in the real IA-64 libc: where they stand, how they unwind, what the verifier sees.

How to unwind is read from the new file by binutils and checked against runs of its routines.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pytest

from fixtures import inputs
from passes.substitution.worth import Worth
from rewriter.analysis.functions import find_functions
from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import Case
from rewriter.core.edit import Grade
from rewriter.core.target.bundling import Code
from rewriter.core.target.protocol import Tuned
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image, load, parse
from rewriter.road.bundled.road import BundledRoad, prepared
from rewriter.road.bundled.routines import NO_ROOM, BundledRoutines, Replacement
from rewriter.road.options import Options
from rewriter.road.source_lines import Described
from rewriter.verify.regions.check import Verdict, verify
from rewriter.verify.routines.bundled_known import KnownBundled, Tried
from rewriter.verify.routines.cases import spread
from rewriter.verify.routines.replaceable import Named
from targets import ia64
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.machine.calling import RETURN
from targets.ia64.machine.trials import ARENA, LIMIT, Trials, following_slot
from targets.ia64.registers import NUMBERS, PR
from targets.ia64.standard import PRESERVED_PREDICATES
from targets.ia64.substitution import Harness
from tests.support.depth import depth

TARGET = ia64.Ia64()
CPU = TARGET.cpus["itanium2"]
LIMBS = {f"__mpn_{name}" for name in ("add_n", "addmul_1", "mul_1", "sub_n", "submul_1")}
NAMES = {"memchr", "memcpy", "memmove", "memset", "strcmp", "strlen", "strncmp", *LIMBS}


@dataclass(frozen=True)
class Patched:
    """The libc, its tuned form, and where the routines' entries are."""

    old: Image
    road: BundledRoad
    data: bytes

    @property
    def code(self) -> Code:
        return self.road.prepared.code

    @cached_property
    def known(self) -> KnownBundled:
        """What the verifier finds of the old file: the same for all mutants of the new one."""
        return KnownBundled(self.old, TARGET, self.code)

    def at(self, name: str) -> int:
        """Where the tuned routine stands."""
        return self._by_name[name].placed.address

    def start(self, name: str) -> int:
        """Where the old one stood."""
        return self._by_name[name].candidate.room.start

    @cached_property
    def _by_name(self) -> dict[str, Replacement]:
        return {one.candidate.function.name: one for one in self.road.replaced}


def quiet(stage: str, done: int, total: int) -> None:
    pass


@pytest.fixture(scope="module")
def patched() -> Patched:
    image = load(inputs.require("ia64-libc"))
    road = BundledRoad(prepared(image, TARGET, CPU, Options(passes=("substitute",))))
    return Patched(image, road, road.run(road.functions, quiet))


def test_all_that_glibc_has_find_a_place(patched: Patched) -> None:
    edits = {edit.routine: edit for edit in patched.road.edits}
    assert edits.keys() == NAMES
    assert {edit.evidence.grade for edit in edits.values()} == {Grade.TESTED}
    assert all(edit.evidence.cases >= 36 for edit in edits.values())
    kinds = {name: edit.kind for name, edit in edits.items()}
    assert {n for n, kind in kinds.items() if kind == "in place"} == {
        "memchr",
        "memcpy",
        "memset",
        "strlen",
        *LIMBS,
    }
    assert patched.at("memmove") == patched.at("memcpy")


def test_a_second_run_finds_nothing(patched: Patched) -> None:
    image = parse(patched.data, "tuned")
    functions = find_functions(image, TARGET.described(image))
    known = KnownBundled(image, TARGET, TARGET.code(image, functions))
    options = Options(passes=("substitute",))
    routines = BundledRoutines(known, CPU, options, Described(image))
    replaced, skips = routines.run()
    assert not replaced
    assert {s.routine for s in skips if s.reason == "a tuned routine already"} == NAMES
    assert {function.name for function in routines.tuned()} == NAMES


# What the verifier says of mutants.


def verdict(patched: Patched, data: bytes) -> Verdict:
    new = replace(patched.old, data=bytes(data))
    return verify(patched.known, new, quiet)


def mutant(patched: Patched, *changes: tuple[int, bytes]) -> str:
    """What the verifier says of the file with other bytes at some addresses."""
    data = bytearray(with_old_identity(patched.old, patched.data))
    for address, content in changes:
        at = patched.old.offset_of(address)
        assert data[at : at + len(content)] != content
        data[at : at + len(content)] = content
    return "; ".join(verdict(patched, data).findings)


def read(patched: Patched, address: int, size: int) -> bytes:
    return parse(patched.data, "tuned").read(address, size)


def test_the_verifier_shows_the_same(patched: Patched) -> None:
    found = verdict(patched, patched.data)
    assert (found.findings, found.grades) == ((), {Grade.TESTED.value: len(NAMES)})


@pytest.mark.parametrize("name", ["memcpy", "strcmp", "memset"][: depth(1, 3)])
def test_one_bit_of_a_routine(patched: Patched, name: str) -> None:
    at = patched.at(name) + 2 * BUNDLE
    (byte,) = read(patched, at, 1)
    assert mutant(patched, (at, bytes((byte ^ 0x40,))))


def test_a_way_to_another_routine(patched: Patched) -> None:
    """Each of two entries goes to the other's routine."""
    ways = {
        name: TARGET.substituting.branch(patched.start(name), patched.at(other))
        for name, other in (("strcmp", "strncmp"), ("strncmp", "strcmp"))
    }
    found = mutant(patched, *((patched.start(name), way) for name, way in ways.items()))
    assert "strcmp" in found
    assert "strncmp" in found


def test_code_that_nothing_comes_to(patched: Patched) -> None:
    """A bundle between a way and the first routine behind it."""
    at = patched.start("memmove") + BUNDLE
    assert at < patched.at("strcmp")
    found = mutant(patched, (at, read(patched, patched.at("strcmp"), BUNDLE)))
    assert "in its place is more or less than tuned routines" in found


def described(patched: Patched, name: str) -> tuple[int, int]:
    """Where the row of the unwind table and the descriptors of an old routine are."""
    table = patched.old.table(".IA_64.unwind")
    for at in range(table.start, table.stop, 24):
        start, _, info = (int.from_bytes(patched.old.read(at + n, 8), "little") for n in (0, 8, 16))
        if start == patched.start(name):
            return at, info
    raise AssertionError(name)


def test_descriptors_that_say_something_else(patched: Patched) -> None:
    _, info = described(patched, "memmove")
    at = info + 8 + 2  # the register of the first save
    (byte,) = read(patched, at, 1)
    found = mutant(patched, (at, bytes((byte + 1,))))
    assert "its unwind information does not describe the new code" in found


def test_a_row_that_ends_elsewhere(patched: Patched) -> None:
    row, _ = described(patched, "memcpy")
    found = mutant(patched, (row + 8, patched.old.read(row + 8, 8)))
    assert "its unwind information does not describe the new code" in found


# How it unwinds.


@dataclass(frozen=True)
class Region:
    """A region of unwind information: its slots, what it saves in which register, what it pops."""

    slots: int
    saved: dict[str, int]
    popped: int


_ENTRY = re.compile(r"\[0x([0-9a-f]+)-0x([0-9a-f]+)\]")
_REGION = re.compile(r"R\d:(?:body|prologue)\(rlen=(\d+)\)")
_SAVE = re.compile(r"P3:(pr|lc)_gr\(reg=r(\d+)\)")
_POP = re.compile(r"B2:epilogue\(t=0,ecount=(\d+)\)")


def regions(text: str) -> Iterator[Region]:
    """The regions of one entry, as readelf prints them; nothing else may be in it."""
    slots, saved, popped = 0, dict[str, int](), 0
    for line in text.splitlines()[2:]:
        if begins := _REGION.search(line):
            yield Region(slots, saved, popped)
            slots, saved, popped = int(begins[1]), {}, 0
        elif save := _SAVE.search(line):
            saved[save[1]] = int(save[2])
        elif pops := _POP.search(line):
            popped = int(pops[1]) + 1
        else:
            assert not line.strip(), line
    yield Region(slots, saved, popped)


def states(found: Iterator[Region]) -> list[dict[str, int]]:
    """For each slot of an entry what is saved where when control comes to it."""
    stack: list[dict[str, int]] = [{}]
    out: list[dict[str, int]] = []
    for region in found:
        out += [stack[-1]] * region.slots
        if region.saved:  # a prologue without a time saves with its last slot
            stack.append({**stack[-1], **region.saved})
        del stack[len(stack) - region.popped :]
    return out


@pytest.fixture(scope="module")
def unwinding(patched: Patched, tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What readelf prints of the new file's entries, by their start."""
    path: Path = tmp_path_factory.mktemp("unwinding") / "tuned.so"
    path.write_bytes(patched.data)
    readelf = inputs.require_tool("ia64-linux-gnu-readelf")
    said = subprocess.run((readelf, "-u", path), capture_output=True, text=True, check=True).stdout
    parts = said.split("\n<")[1:]
    return {int(found[1], 16): part for part in parts if (found := _ENTRY.search(part))}


def room_of(patched: Patched, address: int) -> int:
    """The old routine in whose place an address is."""
    return max(patched.start(name) for name in NAMES if patched.start(name) <= address)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_unwinding_finds_what_the_caller_had(
    patched: Patched, unwinding: dict[int, str], name: str
) -> None:
    """At every slot of some runs."""
    home = room_of(patched, patched.at(name))
    where = states(regions(unwinding[home]))
    harness = Tried(parse(patched.data, "tuned"), TARGET, patched.code).harness
    assert isinstance(harness, Harness)
    harness.trials.entry = patched.at(name)
    contract = CONTRACTS[name.removeprefix("__")]
    saved = set[str]()
    for _, point in spread(contract, 12):
        saved |= unwound(harness.trials, contract.case(ARENA, point), where, home)
    assert saved == SAVED.get(name, {"pr"})


SAVED = {name: {"lc", "pr"} for name in ("memcpy", "memmove", *LIMBS)} | {
    name: set[str]() for name in ("memset", "strlen")
}
_LC = NUMBERS["ar.lc"]
_MASK = sum(1 << p - PR for p in PRESERVED_PREDICATES)


def unwound(runs: Trials, case: Case, where: list[dict[str, int]], home: int) -> set[str]:
    """Looks at every slot of a call; which registers were found saved somewhere."""
    before, state, found = runs.started(case), runs.processor.state, set[str]()
    lc, predicates = before[_LC], sum(before[p] << p - PR for p in PRESERVED_PREDICATES)
    for step in runs.processor.steps(runs.entry, RETURN, LIMIT):
        following = following_slot(step)
        if following == RETURN:
            break
        saved = where[(following - home) // BUNDLE * 3 + following % BUNDLE]
        now = sum(state.r[p] << p - PR for p in PRESERVED_PREDICATES)
        assert (state.r[saved["pr"]] & _MASK if "pr" in saved else now) == predicates
        assert state.r[saved.get("lc", _LC)] == lc
        found |= saved.keys()
    return found


def test_what_is_not_accepted_goes_back(patched: Patched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then there is less room, too: what stood in its place finds another or none."""
    road, choose = patched.road, BundledRoutines._better
    chosen = {
        one.named.address: (one.routine, one.worth, one.may_leave)
        for one in (replacement.candidate for replacement in road.replaced)
    }

    def remembered(
        self: BundledRoutines, named: Named, routines: Sequence[Tuned]
    ) -> tuple[Tuned, Worth, bool]:
        """Which routine is best does not depend on what was refused."""
        return chosen.get(named.address) or choose(self, named, routines)

    monkeypatch.setattr(BundledRoutines, "_better", remembered)
    memmove = next(function for function in road.functions if function.name == "memmove")
    again = BundledRoutines(
        road.prepared.known, CPU, road.prepared.options, road.prepared.described, {memmove: "x"}
    )
    replaced, skips = again.run()
    names = {one.candidate.function.name for one in replaced}
    assert names == NAMES - {"memmove", "strcmp", "strncmp"}
    reasons = {skip.routine: skip.reason for skip in skips}
    assert reasons["memmove"] == "not verified: x"
    assert reasons["strcmp"] == reasons["strncmp"] == NO_ROOM


IN_PROGRAMS = {"mpn_mul_1", "mpn_addmul_1", "mpn_submul_1"}
"""Among those with a namesake in kernels: they use floating-point registers from f32 on."""


def test_a_kernel_gets_no_routine_that_changes_a_programs_registers(patched: Patched) -> None:
    """The same names in a file whose text lies where no program's can."""
    names = {"memcpy", "memset", "__copy_user", "copy_page", "mpn_add_n", *IN_PROGRAMS}
    found = {}
    for image in (patched.old, load(inputs.require("ia64-vmlinux"))):
        known = KnownBundled(image, TARGET, patched.code)
        found[image.name] = {n for n in names if any(known.tuned(Named(0, (n,), "symbol")))}
    assert list(found.values()) == [names, names - IN_PROGRAMS]
