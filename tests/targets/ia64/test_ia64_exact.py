"""The fast path of a message, scheduled exactly: a quarter of its cycles, close to the bound."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import targets
from fixtures import ia64
from fixtures.inputs import require_tool
from passes.scheduling.bundled import counted
from passes.scheduling.bundled_model import Model
from passes.scheduling.bundled_proved import Proved, prove
from rewriter.core.code.groups import Slot, groups
from rewriter.core.code.superblock import Superblock
from rewriter.elf import image
from rewriter.suites.itanium import slots_of
from targets.ia64.cpus import CPUS
from targets.ia64.isa.bundles import straight
from targets.ia64.schedule.bundler import Scheduling, code
from targets.ia64.standard import RETURNED
from tests.targets.ia64.ia64_assembled import complaints

SCHEDULING = Scheduling(Model(CPUS["itanium2"]))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> tuple[Slot, ...]:
    loaded = image.load(ia64.fastpath(tmp_path_factory.mktemp("fastpath")))
    target = targets.of(loaded).bundling
    assert target is not None
    symbols = {symbol.name: symbol.st_value for symbol in loaded.symbols}
    return slots_of(loaded, target, symbols["fastpath"], symbols["slow"])


@cache
def best(path: tuple[Slot, ...]) -> Proved:
    return prove(Superblock(path, RETURNED), SCHEDULING)


def test_it_takes_a_quarter_and_the_bound_is_near(path: tuple[Slot, ...]) -> None:
    found = best(path)
    assert 4 * found.cycles <= SCHEDULING.cycles(path)
    assert 0 <= found.cycles - found.least <= 2
    assert SCHEDULING.cycles(found.outcome.slots) == found.cycles
    assert counted(found.outcome.slots, SCHEDULING) <= counted(path, SCHEDULING)


def test_as_finds_nothing_wrong_with_it(path: tuple[Slot, ...], tmp_path: Path) -> None:
    gas = require_tool("ia64-linux-gnu-as")
    slots = best(path).outcome.slots
    made = tuple(straight(code(slots), slots[0].address))
    assert made == slots
    warned, refused = complaints(gas, [[s.insn for s in g] for g in groups(made)], tmp_path)
    assert not refused
    assert not warned
    names = (
        Counter(s.insn.name for s in side if "nop" not in s.insn.name) for side in (path, made)
    )
    assert next(names) == next(names)


def test_system_instructions_keep_their_order(path: tuple[Slot, ...]) -> None:
    """Written out: what changes the state of the machine, in the order of the source."""
    kept = ("flushrs", "epc", "bsw.0", "rsm", "srlz.d", "loadrs", "ssm", "bsw.1", "br.ret")
    sides = ([s.insn.name for s in side] for side in (path, best(path).outcome.slots))
    old, new = ([name for name in names if name in kept] for names in sides)
    assert new == old
