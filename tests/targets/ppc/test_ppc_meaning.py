"""What the PowerPC table says instructions do, against qemu."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Iterable

import pytest
from support.depth import depth

from fixtures import inputs
from rewriter.core.isa.instruction import Does, Flow, Insn, Op
from rewriter.core.readings.machine import ByteOrder
from rewriter.verify.trials.engines.qemu import Qemu
from targets.ppc.isa import table
from targets.ppc.isa.control import COUNT_CACHE
from targets.ppc.isa.features import OLD, TM
from targets.ppc.isa.table import PpcTable
from targets.ppc.meanings import compare, control, memory, operate, shifts
from tests.targets.ppc.ppc_cases import ControlRun, Run, disagreements, insns, is_testable
from tests.targets.ppc.ppc_guest import PpcGuest

KINDS: tuple[tuple[int, ByteOrder, tuple[str, ...]], ...] = (
    (32, "big", ("qemu-ppc", "-cpu", "7450")),
    (64, "big", ("qemu-ppc64", "-cpu", "power10")),
    (64, "little", ("qemu-ppc64le", "-cpu", "power10")),
)
CASES = depth(120, 10_000)  # operand sets for every row
_VARIANTS = depth(6, 25)  # encodings that share them

# Functions of their operands that the table does not give.
UNKNOWN = {"addg6s", "cbcdtd", "cdtbcd", "cfuged", "cntlzdm", "cnttzdm", "pdepd", "pextd"}
# qemu 7.2 gives other bits of XER too, which the table leaves open.
OPEN = {"mfspr"}
_CONTROL = (Flow.BRANCH, Flow.JUMP, Flow.CALL, Flow.CALL_IF)
_COMPUTED = (
    *(Flow.INDIRECT, Flow.INDIRECT_IF, Flow.INDIRECT_CALL, Flow.INDIRECT_CALL_IF),
    *(Flow.RETURN, Flow.RETURN_IF),
)


def has(known: PpcTable, op: Op) -> bool:
    """Whether the emulated processor has the row."""
    if known.width == 32:
        return not op.needs
    several = any(operand.name.endswith("_many") for operand in op.format.operands)
    return op.needs not in (OLD, TM) and not (several and known.byteorder == "little")


def straight(known: PpcTable) -> list[Op]:
    """The rows that are tested by what they leave in registers and memory."""
    rows = (op for op in known.rows if is_testable(known, op) and has(known, op))
    return [op for op in rows if op.name not in (*UNKNOWN, *OPEN) and not _from_here(op)]


def _from_here(op: Op) -> bool:
    """Whether the row accesses memory at a distance from itself: no case has its own there."""
    return (
        op.format.size == 8
        and "ra0" not in op.format.positions
        and op.name not in ("paddi", "pnop")
    )


def branching(known: PpcTable) -> list[Op]:
    """The rows that go elsewhere; what has an absolute target cannot lead into a guest.

    A form that the manual calls invalid stops the emulator.
    """
    rows = (op for op in known.rows if op.flow in (*_CONTROL, *_COMPUTED) and has(known, op))
    rows = (op for op in rows if op.match != COUNT_CACHE)
    return [op for op in rows if "abs" not in op.format.name and op.flow is not Flow.HERE]


def straight_runs(known: PpcTable, ops: Iterable[Op], cases: int = CASES) -> list[Run]:
    """Runs that together hold at least so many operand sets for each row."""
    source, runs = random.Random(1), list[Run]()
    for op in ops:
        found = list(insns(known, op, _VARIANTS, source))
        assert found, f"{op} has no test"
        count = -(-cases // len(found))
        runs += [Run(known, insn, count, len(runs) + n) for n, insn in enumerate(found)]
    return runs


def control_runs(known: PpcTable, ops: Iterable[Op], cases: int = CASES) -> list[ControlRun]:
    """The same for branches."""
    source, runs = random.Random(2), list[ControlRun]()
    for op in ops:
        found = list(insns(known, op, _VARIANTS, source))
        count = -(-cases // len(found))
        for number, insn in enumerate(found):
            runs.append(ControlRun(known, insn, count, number, backward=number % 2 == 1))
    return runs


def compared(kind: tuple[int, ByteOrder, tuple[str, ...]], runs: list[Run]) -> list[str]:
    """Runs everything in one guest; what differs from the batched reading."""
    width, byteorder, command = kind
    inputs.require_tool(command[0])
    guest = PpcGuest(command, width, byteorder)
    batches = [run.place(guest) for run in runs]
    after = Qemu(guest).run(batches)
    return [
        difference
        for run, records in zip(runs, after, strict=True)
        for difference in disagreements(run, records)
    ]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[2][0]}")
@pytest.mark.parametrize("part", range(4))
def test_meaning_is_qemus(kind: tuple[int, ByteOrder, tuple[str, ...]], part: int) -> None:
    known = table(*kind[:2])
    runs = straight_runs(known, straight(known)[part::4])
    assert compared(kind, runs) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[2][0]}")
def test_control_is_qemus(kind: tuple[int, ByteOrder, tuple[str, ...]]) -> None:
    known = table(*kind[:2])
    assert compared(kind, [*control_runs(known, branching(known))]) == []


# How strong this is ------------------------------------------------------------------------


def _mutant(name: str, does: Does, form: str = "") -> Op:
    return dataclasses.replace(table(64, "big").find(name, form), does=does)


_FORMS = operate.Forms(records=True, overflows=True)
_MUTANTS: tuple[Op, ...] = (
    # a carry that is lost, a carry of the wrong sign, an overflow of a word, a sign, an operand
    _mutant("adde", operate.sum_of(operate.itself, 0, carries=True)),
    _mutant("subfc", operate.sum_of(operate.complement, 0, carries=True)),
    _mutant("mullwo.", operate.product(_FORMS)),
    _mutant("extsb", operate.unary(lambda m, s: m.zext(s, 8))),
    _mutant("andc", operate.binary(lambda m, s, b: ~s & b)),
    # a mask off by one bit, a mask that does not wrap around, a shift without its highest bit
    _mutant("rldicl", shifts.rotate(lambda sh, mb: (mb + 1 & 63, 63), operate.PLAIN)),
    _mutant("slw", operate.binary(lambda m, s, b: m.zext(m.shl(s, b & m.const(31)), 32))),
    _mutant("sradi", shifts.shift_signed_by(32, operate.PLAIN)),
    # a comparison without a sign, of too few bits; another bit of a field
    _mutant("cmp", compare.compare(operate.itself, signed=False), "bf,1,ra,rb"),
    _mutant("cmpl", compare.compare(operate.unsigned_word, signed=False), "bf,1,ra,rb"),
    _mutant("crandc", control.logic(lambda m, a, b: b & ~a)),
    # a size, a sign, the base that is not updated, bytes in their usual order
    _mutant("lha", memory.load(2)),
    _mutant("stw", memory.store(2)),
    _mutant("ldux", memory.load(8)),
    _mutant("lwbrx", memory.load(4)),
)


@pytest.mark.parametrize("mutant", _MUTANTS, ids=lambda op: op.name)
def test_a_wrong_meaning_is_caught(mutant: Op) -> None:
    known = table(64, "big")
    original = known.find(mutant.name, mutant.format.name)
    runs = straight_runs(known, [original])
    after = Qemu(guest := PpcGuest(KINDS[1][2], 64, "big"))
    batches = [run.place(guest) for run in runs]
    records = after.run(batches)
    for run in runs:
        run.insns = tuple(_replaced(insn, mutant) for insn in run.insns)
    found = list[str]()
    for run, left in zip(runs, records, strict=True):
        with contextlib.suppress(IndexError):  # an access outside its lane is caught as well
            found += disagreements(run, left)
    assert found


def _replaced(insn: Insn, mutant: Op) -> Insn:
    is_it = insn.op.name == mutant.name and insn.op.format.name == mutant.format.name
    return dataclasses.replace(insn, op=mutant) if is_it else insn
