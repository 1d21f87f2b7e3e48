"""Every routine of ours against its contract: every shape in qemu, fewer step by step, and the
real libc's routines by the same contracts, which is how we know the contracts."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
from alpha_libc import LIBC_BASE, Libc
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.contracts import CONTRACTS, checksum, pages, user
from rewriter.contracts.contract import MASK64, Case, Contract, Piece, View
from rewriter.core.edit import Evidence, Grade
from rewriter.verify.trials.engines.sweep import Code, Sweep
from rewriter.verify.trials.image import code_at
from rewriter.verify.trials.records import chunks
from rewriter.verify.trials.steps import Stepper, Stores
from rewriter.verify.trials.trial import step, sweep, trial
from targets.alpha import routines
from targets.alpha.cpus import CPUS
from targets.alpha.trial_program import AlphaTrials
from tests.support.depth import depth

BASE = 0x180000000
OURS = [(name, routine) for name in routines.names() for routine in routines.variants(name)]
IDS = [f"{routine.folder}/{routine.name}" for _, routine in OURS]


def _ours(name: str) -> list[Code]:
    return [code_at(routine, BASE) for routine in routines.variants(name)]


def test_every_contract_has_a_routine_for_the_21264() -> None:
    """But those of long numbers, which the libc has without a symbol."""
    assert {n for n in CONTRACTS if n not in routines.names()} == {
        n for n in CONTRACTS if n.startswith("mpn_")
    }
    for name in routines.names():
        assert routines.best(name, CPUS["ev6"].features) is not None
    strlen, memcpy = routines.best("strlen", CPUS["ev67"].features), "memcpy"
    assert strlen is not None and strlen.folder == "ev67"
    assert routines.best(memcpy, CPUS["ev5"].features) is None


@pytest.mark.parametrize("name", routines.names())
def test_every_shape(name: str, alpha: AlphaTrials, libc_routine: Libc) -> None:
    """Cases are made once for all implementations of a contract."""
    contract = CONTRACTS[name]
    program = alpha.program(contract.linkage)
    theirs = libc_routine(name)
    codes = [*_ours(name), *([theirs] if theirs else [])]
    points = islice(contract.points(), 0, None, depth(11, 1))  # no axis is as long or divides it
    room = program.arena, program.capacity, program.byteorder
    prepared = list(chunks(contract, points, *room))
    total = sum(len(chunk) for chunk in prepared)
    with Sweep(program) as engine:
        for code in codes:
            found = sweep(code, contract, prepared, engine)
            assert isinstance(found, Evidence), str(found)
            assert (found.grade, found.cases) == (Grade.TESTED, total)


@pytest.mark.parametrize(("name", "routine"), OURS, ids=IDS)
def test_step_by_step(name: str, routine: routines.Routine, alpha: AlphaTrials) -> None:
    """No misaligned access, no byte behind a page's end, none written outside, none lost."""
    found = step(code_at(routine, BASE), CONTRACTS[name], alpha)
    assert isinstance(found, Evidence), str(found)


KERNELS = {c.name for family in (pages, user, checksum) for c in family.CONTRACTS}


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_the_libc_has_nothing_of_a_kernels(name: str, libc_routine: Libc) -> None:
    assert libc_routine(name) is None


@pytest.mark.parametrize(
    "name",
    [n for n in routines.names() if CONTRACTS[n].linkage == "standard" and n not in KERNELS],
)
def test_the_libc_step_by_step(name: str, alpha: AlphaTrials, libc_routine: Libc) -> None:
    """It was made before byte stores: it writes back what is beside."""
    code = libc_routine(name)
    assert code is not None
    found = step(code, CONTRACTS[name], alpha, Stores.UNCHANGED)
    assert isinstance(found, Evidence), str(found)


@pytest.mark.parametrize("name", [n for n, c in CONTRACTS.items() if c.linkage == "divide"])
def test_the_libc_divides_in_floating_point(
    name: str, alpha: AlphaTrials, libc_routine: Libc
) -> None:
    """On plain numbers, as chopped quotients of doubles and their corrections."""
    code = libc_routine(name)
    assert code is not None and code.entry > LIBC_BASE
    found = step(code, CONTRACTS[name], alpha)
    assert isinstance(found, Evidence), str(found)


_DRAWN = {"count": st.integers(0, 3000)} | {
    name: st.integers(0, 63) for name in ("to", "source", "first", "second")
}


def _points(contract: Contract) -> st.SearchStrategy[dict[str, int]]:
    """Shapes off the grid: any length, any alignment to a line."""
    return st.one_of(
        [
            st.fixed_dictionaries(
                {
                    name: _DRAWN.get(name, st.sampled_from(sorted(values)))
                    for name, values in plan.axes.items()
                }
            )
            for plan in contract.plans
            if plan.axes
        ]
    )


@pytest.mark.parametrize("name", [name for name in CONTRACTS if name != "copy_page"])
def test_shapes_off_the_grid(name: str, alpha: AlphaTrials) -> None:
    contract = CONTRACTS[name]
    program = alpha.program(contract.linkage)
    steppers = [
        Stepper(code, contract, program, alpha.table, alpha.write_hints) for code in _ours(name)
    ]

    @settings(max_examples=15, derandomize=True)
    @given(_points(contract))
    def check(point: dict[str, int]) -> None:
        for stepper in steppers:
            assert not stepper.problem(contract.case(program.arena, point))

    check()


_WIDE = st.integers(1, 64).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))


def test_any_division_of_128_bits(alpha: AlphaTrials) -> None:
    """Any quotient, divisor and remainder: all dividends that there are."""
    contract = CONTRACTS["udiv_qrnnd"]
    program = alpha.program(contract.linkage)
    to = program.arena.start(0)
    steppers = [
        Stepper(code, contract, program, alpha.table, alpha.write_hints)
        for code in _ours(contract.name)
    ]

    @settings(max_examples=300, derandomize=True)
    @given(_WIDE, _WIDE, _WIDE)
    def check(quotient: int, divisor: int, rest: int) -> None:
        divisor = divisor or 1
        dividend = quotient * divisor + rest % divisor
        arguments = (to, dividend >> 64, dividend & MASK64, divisor)
        for stepper in steppers:
            assert not stepper.problem(Case(arguments, (Piece(to, bytes(16)),)))

    check()


@pytest.mark.parametrize("name", ["__copy_user", "__clear_user"])
def test_our_user_copies_say_exactly_what_is_left(name: str, alpha: AlphaTrials) -> None:
    """The contract lets a routine stop early; ours do not."""
    contract = CONTRACTS[name]
    program = alpha.program(contract.linkage)
    (code,) = _ours(name)
    stepper = Stepper(code, contract, program, alpha.table, alpha.write_hints)
    for _, point in contract.few():
        case = contract.case(program.arena, point)
        wanted = contract.model(View(case.pieces, "little"), *case.arguments)
        assert not stepper.problem(case)
        assert stepper.interpreter.registers[program.linkage.result] == wanted, point


@pytest.mark.parametrize(
    ("name", "wanted"), [("divqu", 0), ("divl", 0), ("remq", 77), ("remlu", 77)]
)
def test_a_division_by_zero_comes_back(name: str, wanted: int, alpha: AlphaTrials) -> None:
    """As with the kernel's."""
    contract = replace(CONTRACTS[name], model=lambda view, a, b: wanted)
    program = alpha.program(contract.linkage)
    for routine in routines.variants(name):
        stepper = Stepper(code_at(routine, BASE), contract, program, alpha.table, alpha.write_hints)
        assert not stepper.problem(Case((77, 0), ()))


def test_a_trial_counts_the_cases_of_both_engines(alpha: AlphaTrials) -> None:
    contract = CONTRACTS["ffsll"]
    found = trial(_ours("ffsll")[0], contract, alpha)
    cases = sum(1 for _ in contract.points()) + sum(1 for _ in contract.few())
    assert isinstance(found, Evidence) and str(found) == f"TESTED({cases})"
