"""What rows of floating point and vectors read and write, against qemu, rows without a meaning too.

Each instruction runs twice; what it does not read is drawn anew for the second time.  What it
writes must come out the same, and all else as it was.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.readings.machine import ByteOrder
from targets.ppc.isa import decimal, floating, table, vectors
from targets.ppc.isa.table import PpcTable
from targets.ppc.meanings.unknown import pure
from targets.ppc.registers import (
    CR,
    FPSCR_CONTROLS,
    FPSCR_FLAGS,
    GPR,
    PART,
    VSCR_NJ,
    VSCR_SAT,
    VSR,
)
from tests.support.depth import depth
from tests.targets.ppc.vectors.ppc_vector_qemu import GENERAL, State, drawn, drawn_state, has, run

Case: TypeAlias = tuple[Insn, State, State]
"""An instruction, and two states that agree in what it reads."""

ROWS = (*floating.ROWS, *decimal.ROWS, *vectors.ROWS)

# qemu keeps what was there where the architecture says that it is undefined: in doubleword 1, ...
KEPT = {
    "mtvsrd",
    "mtvsrwa",
    "mtvsrwz",
    "lxsdx",
    "lxsspx",
    "lxsiwzx",
    "lxsiwax",
    "lxsibzx",
    "lxsihzx",
}
# ... in the elements that are not loaded, and in the results of what are no decimal numbers.
ELEMENTS = {"lvebx", "lvehx", "lvewx"}
_CR6_SHIFT, _INVALID = 4, 1


def _registers(state: State) -> dict[int, int]:
    """The value of each register by its number."""
    found = {VSR + n // 2 + PART * (n % 2): value for n, value in enumerate(state.vectors)}
    found |= {GPR + r: value for r, value in zip(GENERAL, state.general, strict=True)}
    return found | {CR + n: state.condition >> 28 - 4 * n & 15 for n in range(8)}


def _mixed(known: PpcTable, insn: Insn, one: State, other: State) -> State:
    """What the instruction reads of one state, all else of another."""
    uses = known.uses(insn)

    def pick(register: int, mine: int, its: int) -> int:
        return mine if uses >> register & 1 else its

    vectors = [
        pick(VSR + n // 2 + PART * (n % 2), *pair)
        for n, pair in enumerate(zip(one.vectors, other.vectors, strict=True))
    ]
    general = map(pick, (GPR + r for r in GENERAL), one.general, other.general)
    fields = [(one.condition, other.condition, 15 << 28 - 4 * n) for n in range(8)]
    condition = sum(pick(CR + n, a & mask, b & mask) for n, (a, b, mask) in enumerate(fields))
    return State(tuple(vectors), tuple(general), condition, one.memory)


def _compared(known: PpcTable, op: Op) -> bool:
    """Not compared is what reads flags, which cases gather, or changes how the next ones round."""
    effects = known.effects(op)
    gathered = {FPSCR_FLAGS, VSCR_SAT} & effects.fixed_reads
    tells = op.name.endswith(".") or (not effects.rounds and VSCR_SAT not in effects.fixed_writes)
    changes = {FPSCR_CONTROLS, VSCR_NJ} & effects.fixed_writes
    return not (gathered and tells) and not changes and not op.name.startswith(("mtfs", "mffs"))


def _undefined(name: str, register: int) -> bool:
    """Whether the architecture says nothing of what the instruction leaves in a register."""
    return name in ELEMENTS or (name in KEPT and register >= VSR + PART)


def _wrong(
    known: PpcTable, insn: Insn, before: tuple[State, State], after: tuple[State, State]
) -> Iterator[str]:
    defs, name = known.defs(insn), insn.name
    (one, other), (first, second) = map(_registers, before), map(_registers, after)
    invalid = name.startswith("bcd") and after[0].condition >> _CR6_SHIFT & _INVALID
    for register, value in first.items():
        spelt = known.register_names[register]
        if not defs >> register & 1:
            if (value, second[register]) != (one[register], other[register]):
                yield f"writes {spelt}"
        elif value != second[register] and not invalid and not _undefined(name, register):
            yield f"{spelt} depends on what is not read"
    effects = known.effects(insn.op)
    if after[0].memory != after[1].memory:
        yield "stores what is not read"
    if not (effects.stores or effects.events) and before[0].memory != after[0].memory:
        yield "stores"


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_rows_read_and_write_what_they_say(byteorder: ByteOrder, tmp_path: Path) -> None:
    source, known = random.Random(byteorder), table(64, byteorder)
    cases: list[Case] = []
    for op in ROWS:
        effects = known.effects(op)
        memory = effects.loads or effects.stores or bool(effects.events)
        for _ in range(depth(1, 10)):
            if has(op, byteorder) and _compared(known, op):
                insn = drawn(op, source)
                one, other = (drawn_state(source, memory) for _ in range(2))
                cases.append((insn, one, _mixed(known, insn, one, other)))
    assert len({insn.op.name for insn, _, _ in cases}) > (800 if byteorder == "little" else 600)
    assert not _all_wrong(known, cases, byteorder, tmp_path)


def _all_wrong(
    known: PpcTable, cases: list[Case], byteorder: ByteOrder, folder: Path
) -> dict[str, list[str]]:
    """What is wrong with each case, by its text."""
    words = [known.encode(insn) for insn, _, _ in cases]
    runs = [run(words, [case[n] for case in cases], byteorder, folder) for n in (1, 2)]
    wrong = {}
    for (insn, _, _), (one, first), (other, second) in zip(cases, *runs, strict=True):
        if found := list(_wrong(known, insn, (one, other), (first, second))):
            wrong[known.text(insn)] = found
    return wrong


@pytest.mark.parametrize(
    ("name", "shape", "complaint"),
    [("vperm", "v=vvn", "depends"), ("vor", "=nvv", "writes"), ("mfvsrld", "r=d", "depends")],
)
def test_a_row_that_says_less_is_noticed(
    name: str, shape: str, complaint: str, tmp_path: Path
) -> None:
    source, whole = random.Random(name), table(64, "little")
    less = replace(whole.find(name), does=pure(shape)(name))
    known = replace(whole, rows=(less,))
    cases = []
    for _ in range(5):
        insn = drawn(less, source)
        one, other = (drawn_state(source, False) for _ in range(2))
        cases.append((insn, one, _mixed(known, insn, one, other)))
    wrong = _all_wrong(known, cases, "little", tmp_path)
    assert any(complaint in line for lines in wrong.values() for line in lines)
