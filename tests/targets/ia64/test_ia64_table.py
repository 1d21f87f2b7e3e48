"""The IA-64 table against GNU objdump and as, and against itself: decode, encode, text."""

from __future__ import annotations

import dataclasses
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.isa.instruction import Insn, Op
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import TEMPLATES, Bundle
from targets.ia64.isa.fields import LONG, SLOT_BITS, Unit
from targets.ia64.isa.rows import TABLE
from tests.targets.ia64.ia64_assembled import assembled
from tests.targets.ia64.ia64_objdump import GNU_ONLY, SLOT, differences, raw_lines, texts
from tests.targets.ia64.ia64_sweep import (
    beyond,
    enumerated,
    filled,
    one_bits,
    random_insn,
    rows_of,
    selections,
)

UNITS = (Unit.M, Unit.I, Unit.F, Unit.B, Unit.X)
each_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
FORMATS = {(op.format.name, op.format.syntax, op.mask): op for op in TABLE}


@pytest.fixture(scope="module")
def objdump() -> str:
    return inputs.require_tool("ia64-linux-gnu-objdump")


@each_unit
def test_every_row_is_objdumps(unit: Unit, objdump: str, tmp_path: Path) -> None:
    source = random.Random(1)
    words = [word for op in rows_of(unit) for word in filled(op, unit, source, 5)]
    for op in FORMATS.values():
        if op in rows_of(unit):
            words += one_bits(op, unit)
    assert list(differences(objdump, unit.name, words, tmp_path)) == []


@each_unit
def test_what_is_an_instruction_is_objdumps(unit: Unit, objdump: str, tmp_path: Path) -> None:
    source = random.Random(2)
    words = []
    for major, ranges in selections(unit):
        words += enumerated(unit, major, ranges, source, share=0.01)
    assert list(differences(objdump, unit.name, words, tmp_path)) == []


def test_a_wrong_row_is_seen(objdump: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with one bit of one row wrong does not pass."""
    right = TABLE.find("shladd")
    wrong = dataclasses.replace(right, match=right.match ^ 1 << 32)
    rows = tuple(wrong if op is right else op for op in TABLE.rows)
    table = dataclasses.replace(TABLE, name="mutant", rows=rows)
    monkeypatch.setattr("tests.targets.ia64.ia64_objdump.TABLE", table)
    words = list(filled(right, Unit.M, random.Random(3), 3))
    found = list(differences(objdump, "M", words, tmp_path))
    assert len(found) == 3
    assert all("'data8', objdump" in line and "shladd" in line for line in found)


def test_gnu_reads_only_what_is_listed(objdump: str, tmp_path: Path) -> None:
    """What objdump prints and the manual reserves, one word of each kind."""
    mux, ia, compare = TABLE.find("mux1"), TABLE.find("br.ia"), TABLE.find("cmp.gt.and")
    loop, frame = TABLE.find("br.cloop"), TABLE.find("alloc")
    cases = (
        ("I", mux.match & SLOT | 1 << 20),
        ("B", ia.match & SLOT | 5),
        ("M", compare.match & SLOT | 9 << 13),
        ("B", loop.match & SLOT | 6),
        ("M", frame.match & SLOT | 6),
    )
    for unit, word in cases:
        assert TABLE.decode(word | Unit[unit] << SLOT_BITS) is None
        (text,) = texts(objdump, unit, [word], tmp_path)
        assert GNU_ONLY.fullmatch(text), text


@pytest.mark.parametrize("name", [
    "alloc", "flushrs", "loadrs", "br.cloop", "br.ctop", "br.cexit", "cover", "clrrrb",
    "clrrrb.pr", "epc", "bsw.0", "bsw.1", "vmsw.0", "vmsw.1", "rfi",
])  # fmt: skip
def test_what_takes_no_predicate_has_none(name: str) -> None:
    op = TABLE.find(name)
    assert TABLE.decode(op.match) is not None
    assert not any(TABLE.decode(op.match | predicate) for predicate in (1, 6, 32, 63))


@pytest.mark.parametrize("code", range(32))
def test_templates_are_objdumps(code: int, objdump: str, tmp_path: Path) -> None:
    nop, nop_b = 1 << 27, 2 << 37
    known = TEMPLATES.get(code)
    units = known.units if known else (Unit.M, Unit.M, Unit.I)
    slots = [0 if u is Unit.L else nop_b if u is Unit.B else nop for u in units]
    bits = code | sum(slot << (5 + SLOT_BITS * n) for n, slot in enumerate(slots))
    blob = tmp_path / "bundle"
    blob.write_bytes(bits.to_bytes(16, "little"))
    lines = raw_lines(objdump, blob)
    if known is None:
        assert "data8" in lines[0]
        assert bundles.decode(blob.read_bytes()) is None
        return
    assert lines[0].startswith(f"[{known.name}]")
    stops = {n for n, line in enumerate(lines) if line.endswith(";;")}
    if known.is_long:  # two lines
        stops = {2 if n else 0 for n in stops}
    assert stops == known.stops
    bundle = bundles.decode(blob.read_bytes())
    assert bundle is not None
    assert bundles.encode(bundle) == blob.read_bytes()


@each_unit
def test_gas_makes_the_same_words_of_our_text(unit: Unit, tmp_path: Path) -> None:
    gas = inputs.require_tool("ia64-linux-gnu-as")
    source = random.Random(4)
    insns = []
    for op in rows_of(unit):
        for word in filled(op, unit, source, 3):
            insn = TABLE.decode(word | unit << SLOT_BITS)
            if insn is not None:
                insns.append(insn.replace(**({"ignored": 0} if insn.has("ignored") else {})))
    assert len(insns) > len(rows_of(unit))
    words, refused = assembled(gas, unit, insns, tmp_path)
    for number, (insn, word) in enumerate(zip(insns, words, strict=True)):
        if number in refused:
            assert REFUSED.fullmatch(refused[number]), TABLE.text(insn)
        elif not (insn.name.startswith("fclass") and insn.operand("fclass9") & 3 == 0):
            # (as takes a class without a sign for one of both signs.)
            assert word == TABLE.encode(insn), TABLE.text(insn)
    assert len(refused) < len(insns) / 50


# What the encoding can say and the manual does not allow: a register of the other unit, a frame
# that is too large, a count of 4 in pshladd2 and pshradd2.
REFUSED = re.compile(
    r"AR \d+ can only be accessed by .-unit|.* should be a frame size .*"
    r"|qualifying predicate not followed by instruction"
)


@given(op=st.sampled_from(TABLE.rows), source=st.randoms(use_true_random=False))
def test_random_operands_survive(op: Op, source: random.Random) -> None:
    insn = random_insn(op, source)
    assert TABLE.decode(TABLE.encode(insn)) == insn


@pytest.mark.parametrize("key", FORMATS, ids=lambda key: f"{key[0]}-{key[2]:x}")
def test_an_operand_out_of_range_is_refused(key: tuple[str, str, int]) -> None:
    insn = random_insn(FORMATS[key], random.Random(6))
    for operand in insn.op.format.operands:
        for value in beyond(operand):
            with pytest.raises(ValueError, match=operand.name):
                TABLE.encode(insn.replace(**{operand.name: value}))


def test_vectorised_decoding_is_the_same() -> None:
    source = random.Random(7)
    words = [source.getrandbits(LONG) for _ in range(20_000)]
    words += [w | u << SLOT_BITS for u in UNITS for op in rows_of(u) for w in few(op, u, source)]
    slots = np.array([word & (1 << LONG) - 1 for word in words], dtype=np.uint64)
    rows = TABLE.classify(slots)
    uses, defs = TABLE.uses_and_defs(slots, rows)
    found = 0
    for word, row, used, defined in zip(words, rows.tolist(), uses, defs, strict=True):
        insn = TABLE.decode(word)
        if insn is None:
            assert (row, used.any(), defined.any()) == (-1, False, False), f"{word:#x}"
        else:
            found += 1
            assert TABLE.rows[row] is insn.op
            assert (joined(used), joined(defined)) == (TABLE.uses(insn), TABLE.defs(insn)), insn
    assert found > 5_000


def few(op: Op, unit: Unit, source: random.Random) -> list[int]:
    return [word & SLOT for word in filled(op, unit, source, 6)]


def joined(columns: np.ndarray) -> int:  # type: ignore[type-arg]
    """A register mask from its columns."""
    return sum(int(column) << 64 * n for n, column in enumerate(columns))


@pytest.mark.parametrize("key", FORMATS, ids=lambda key: f"{key[0]}-{key[2]:x}")
def test_vectorised_operands_are_the_same(key: tuple[str, str, int]) -> None:
    source = random.Random(8)
    insns = [random_insn(FORMATS[key], source) for _ in range(50)]
    words = [TABLE.encode(insn) for insn in insns]
    slots = np.array([word & (1 << LONG) - 1 for word in words], dtype=np.uint64)
    longs = np.array([word >> LONG for word in words], dtype=np.uint64)
    for index, operand in enumerate(FORMATS[key].format.operands):
        values = TABLE.extract(slots, operand, longs)
        expected = np.array([insn.operands[index] % (1 << 64) for insn in insns], dtype=np.uint64)
        assert (values.view(np.uint64) == expected).all(), operand.name


@given(
    code=st.sampled_from(sorted(TEMPLATES)),
    slots=st.tuples(*[st.integers(0, SLOT)] * 3),
)
def test_bundles_survive(code: int, slots: tuple[int, int, int]) -> None:
    bits = code | sum(slot << (5 + SLOT_BITS * n) for n, slot in enumerate(slots))
    raw = bits.to_bytes(16, "little")
    bundle = bundles.decode(raw)
    assert bundle is not None
    assert bundles.encode(bundle) == raw
    array = bundles.decode_text(raw * 2, 0x4000)
    assert array.addresses.tolist() == [0x4000, 0x4001, 0x4002, 0x4010, 0x4011, 0x4012]
    units = [word >> SLOT_BITS for word in array.words.tolist()]
    assert units == [*bundle.template.units] * 2
    assert [word & SLOT for word in array.words.tolist()] == [*slots] * 2
    if bundle.template.is_long:
        assert array.longs[2] == slots[1]


def test_a_template_is_found_by_its_units_and_stops() -> None:
    for template in TEMPLATES.values():
        assert bundles.for_slots(template.units, template.stops) is template
    assert bundles.for_slots((Unit.M, Unit.M, Unit.M), frozenset()) is None
    assert bundles.for_slots((Unit.M, Unit.F, Unit.I), frozenset({0})) is None


def test_a_bundle_takes_only_its_units() -> None:
    nop_m = TABLE.encode(Insn(TABLE.find("nop.m"), (0, 256)))
    template = TEMPLATES[0x00]
    with pytest.raises(ValueError, match="do not fit template MII"):
        bundles.encode(Bundle(template, (nop_m, nop_m, nop_m)))


def test_fields_cover_the_word_once() -> None:
    """Each bit of a slot is fixed, or in exactly one operand."""
    for op in TABLE:
        bits = op.mask & ((1 << LONG) - 1)
        for operand in op.format.operands:
            assert not operand.mask & bits, (op, operand.name)
            bits |= operand.mask
        assert bits & (1 << LONG) - 1 == (1 << LONG) - 1, op
