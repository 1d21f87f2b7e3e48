"""The PowerPC table against GNU objdump and against itself: decode, encode, text, registers."""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.depth import DEEP

from fixtures import inputs
from rewriter.core.code.listing import UNKNOWN
from rewriter.core.isa.instruction import Flow, Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import from_columns
from rewriter.core.readings.machine import ByteOrder
from targets.ppc.isa import ROWS, table
from targets.ppc.isa.control import COUNT_CACHE
from targets.ppc.registers import CONSTANTS
from tests.targets.ppc.ppc_cases import OWN
from tests.targets.ppc.ppc_files import image, target_of
from tests.targets.ppc.ppc_objdump import (
    ALSO_DATA,
    Listing,
    Text,
    blob,
    differences,
    is_old_hint,
    listing,
    text_of,
)

_FEW = ("ppc-ld.so", "ppc64-ld.so", "ppc64el-ld.so", "ppc-libgcc_s", "ppc64el-libgcc_s")
FILES = tuple(n for n in inputs.NAMES if n.startswith("ppc")) if DEEP else _FEW
_TABLES: tuple[tuple[int, ByteOrder], ...] = ((32, "big"), (64, "big"), (64, "little"))
OBJDUMP = "powerpc64le-linux-gnu-objdump"


@pytest.fixture(scope="module", params=FILES)
def disassembled(request: pytest.FixtureRequest) -> tuple[str, Text, Listing]:
    """A file's name, its text, and what objdump says about it."""
    objdump = inputs.require_tool(OBJDUMP)
    path = inputs.require(request.param)
    text = text_of(path)
    return request.param, text, listing(objdump, text, "-d", path)


def test_text_is_objdumps(disassembled: tuple[str, Text, Listing]) -> None:
    _, text, lines = disassembled
    wrong, unknown = differences(text.table, lines)
    assert [line for line in wrong if not is_old_hint(line)] == []
    assert set(unknown) <= {".long", *ALSO_DATA}
    assert len(lines.placed) > 0


@pytest.mark.skipif(not DEEP, reason="a kernel is read in RETUNE_TESTS=deep")
def test_every_instruction_of_a_kernel_has_a_row(tmp_path: Path) -> None:
    """What has none in Debian's kernel is data to objdump, or runs in the other byte order."""
    objdump = inputs.require_tool(OBJDUMP)
    kernel = image("ppc64el-vmlinux")
    target = target_of(kernel)
    read = target.listing(kernel)
    unknown = np.unique(read.words[read.rows == UNKNOWN]).tolist()
    assert len(unknown) < 40
    native = [word for word in unknown if not _swapped(word, target.table.decode)]
    file = tmp_path / "words"
    file.write_bytes(np.array(native, "<u4").tobytes())
    command = (objdump, "-D", "-b", "binary", "-m", "powerpc:common64", "-EL", "-Mpower10,any")
    shown = subprocess.run((*command, file), capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^ *[0-9a-f]+:\t.*\t(\S+)", shown, re.MULTILINE)
    assert len(names) == len(native)
    assert set(names) <= {".long", *ALSO_DATA}
    assert np.count_nonzero(read.words == COUNT_CACHE) > 200


def _swapped(word: int, decode: Callable[[int], Insn | None]) -> bool:
    """Whether a word is an instruction in the other byte order, as at a kernel's entry."""
    return decode(int.from_bytes(word.to_bytes(4, "little"), "big")) is not None


def test_decoding_and_encoding_is_the_identity(disassembled: tuple[str, Text, Listing]) -> None:
    _, text, _ = disassembled
    known, decoded = text.table, 0
    for word in np.unique(text.words).tolist():
        insn = known.decode(word)
        if insn is not None:
            assert known.encode(insn) == word, f"{word:#x}: {insn}"
            decoded += 1
    assert decoded > 1000


def test_vectorised_decoding_is_the_same(disassembled: tuple[str, Text, Listing]) -> None:
    _, text, _ = disassembled
    known, distinct = text.table, np.unique(text.words)
    # Random words too: most of what can be written is no instruction.
    source = np.random.default_rng(1)
    noise = source.integers(0, 1 << 32, 10_000, dtype=np.uint64)
    prefixed = noise[:3000] | source.integers(0x06000000, 0x08000000, 3000, dtype=np.uint64) << 32
    words = np.concatenate([distinct[:: max(1, len(distinct) // 20_000)], noise, prefixed])
    rows = known.classify(words)
    uses, defs = known.uses_and_defs(words, rows)
    for word, row, used, defined in zip(
        words.tolist(), rows.tolist(), from_columns(uses), from_columns(defs), strict=True
    ):
        insn = known.decode(word)
        if insn is None:
            assert (row, used, defined) == (-1, 0, 0), f"{word:#x}"
        else:
            assert known.rows[row] is insn.op
            assert (used, defined) == (known.uses(insn), known.defs(insn)), f"{word:#x}: {insn}"


def random_insn(op: Op, source: random.Random) -> Insn:
    """Any instruction of this row; some have operands that are always the same."""
    values = []
    for operand in op.format.operands:
        value = operand.read(op.match) if operand.mask & op.mask else None
        while value is None:
            value = operand.value(source.randrange(1 << operand.width))
        values.append(value)
    return Insn(op, tuple(values))


def is_valid(insn: Insn) -> bool:
    """Whether the architecture has the form: a load must not lose its base, or its index."""
    if any(operand.name.endswith("_abs") for operand in insn.op.format.operands):
        return min(insn.operands) >= 0  # a file without headers has addresses of 32 bits
    named = [insn.operand(name) for name in ("ra0", "ran", "rb") if insn.has(name)]
    if insn.has("rt_many"):
        first = insn.operand("rt_many")
        last = first + insn.operand("nb") // 4 + 1 if insn.has("nb") else 32
        return not any((first + n) % 32 in named for n in range(last - first))
    target = next((insn.operand(name) for name in ("rt", "rtp") if insn.has(name)), None)
    loses_base = insn.has("ran") or insn.has("rtp") or insn.name == "lswx"
    return not (loses_base and target in named)


@pytest.mark.parametrize("key", _TABLES, ids=str)
def test_every_row_is_objdumps(key: tuple[int, ByteOrder], tmp_path: Path) -> None:
    objdump = inputs.require_tool(OBJDUMP)
    known, source = table(*key), random.Random(3)
    rows = [op for op in known.rows if op in OWN]
    drawn = (random_insn(op, source) for op in rows for _ in range(40))
    insns = [insn for insn in drawn if is_valid(insn)]
    text, lines = blob(objdump, known, insns, tmp_path)
    wrong, unknown = differences(known, lines)
    assert [line for line in wrong if not is_old_hint(line)] == []
    assert unknown == Counter()
    assert len(text.words) == len(insns) > 30 * len(rows)


@given(op=st.sampled_from(ROWS), source=st.randoms(use_true_random=False))
def test_random_operands_survive(op: Op, source: random.Random) -> None:
    known, insn = table(64, "big"), random_insn(op, source)
    decoded = known.decode(known.encode(insn))
    assert decoded is not None
    # A special form may be met by a general one: mfspr of a register that has a row of its own.
    assert decoded == insn or decoded.op.mask.bit_count() > op.mask.bit_count()


def test_effects_follow_the_operands() -> None:
    known = table(32, "big")
    cases = {
        "lmw r29,8(r1)": (0xBBA10008, {1}, {29, 30, 31}),
        "stmw r30,8(r1)": (0xBFC10008, {1, 30, 31}, set()),
        "lswi r30,r4,12": (0x7FC464AA, {4}, {30, 31, 0}),
        "mtcrf 129,r5": (0x7CA81120, {5}, {32, 39}),
        "stwu r1,-16(r1)": (0x9421FFF0, {1}, {1}),
        "rlwimi r3,r4,0,0,7": (0x5083000E, {3, 4}, {3}),
        "addze. r3,r4": (0x7C640195, {4, 40, 42}, {3, 32, 40}),
        "bc 8,4*cr1+eq,0": (0x41060000, {33, 44}, {44}),
        "bclrl 20,lt,0": (0x4E800021, {43}, {43}),
        "crxor 4*cr1+eq,4*cr1+eq,4*cr1+eq": (0x4CC63182, {33}, {33}),
        "addi r3,0,1": (0x38600001, set(), {3}),
    }
    for expected, (word, reads, writes) in cases.items():
        insn = known.decode(word)
        assert insn is not None
        assert known.text(insn) == expected
        assert (_numbers(known.uses(insn)), _numbers(known.defs(insn))) == (reads, writes), expected


@pytest.mark.parametrize(
    ("word", "size"),
    [(0xBBA10008, 12), (0xBFC10008, 8), (0x7FC464AA, 12), (0x7C6484AA, 16), (0x80610008, 4)],
    ids=("lmw r29", "stmw r30", "lswi of 12", "lswi of 16", "lwz"),
)
def test_as_much_is_accessed_as_the_operands_say(word: int, size: int) -> None:
    known = table(32, "big")
    insn = known.decode(word)
    assert insn is not None
    assert known.accessed(insn) == size


def test_all_that_is_spelled_with_a_dot_sets_a_condition() -> None:
    known = table(64, "big")
    rows = [row for row in known if row.name.endswith(".")]
    assert len(rows) > 100
    assert [row for row in rows if known.effects(row).fixed_writes.isdisjoint(range(32, 40))] == []


def test_flow_follows_what_is_asked() -> None:
    known = table(64, "big")
    cases = {
        0x48000008: Flow.JUMP,
        0x48000009: Flow.CALL,
        0x429F0005: Flow.HERE,  # bcl 20,31,.+4
        0x429F0009: Flow.CALL,
        0x41820008: Flow.BRANCH,
        0x41820009: Flow.CALL_IF,
        0x42000008: Flow.BRANCH,  # bdnz
        0x4E800020: Flow.RETURN,
        0x4D820020: Flow.RETURN_IF,
        0x4E800021: Flow.INDIRECT_CALL,
        0x4E800420: Flow.INDIRECT,
        0x4D820420: Flow.INDIRECT_IF,
        0x4D820421: Flow.INDIRECT_CALL_IF,
        0x44000002: Flow.TRAP,
        0x7FE00008: Flow.TRAP,
        0x4C000024: Flow.STOP,  # rfid
        0x60000000: Flow.NEXT,
    }
    for word, flow in cases.items():
        insn = known.decode(word)
        assert insn is not None
        assert insn.op.flow is flow, known.text(insn)


def _numbers(mask: int) -> set[int]:
    return {n for n in range(mask.bit_length()) if mask >> n & 1} - set(CONSTANTS)


def test_an_operand_out_of_range_is_refused() -> None:
    source = random.Random(6)
    for op in ROWS:
        insn = random_insn(op, source)
        for operand in op.format.operands:
            low, high = operand.limits
            beyond = [low - operand.scale, high + operand.scale]
            if operand.kind is Kind.TARGET:
                beyond.append(operand.scale // 2)
            for value in beyond:
                with pytest.raises(ValueError, match=operand.name):
                    table(64, "big").encode(insn.replace(**{operand.name: value}))
