"""The Alpha table against GNU objdump and against itself: decode, encode, text, registers."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import from_columns
from targets.alpha.isa.rows import TABLE
from tests.support.depth import depth
from tests.targets.alpha.objdump import Addresses, Listing, Words, differences, listing
from tests.targets.alpha.operands import limits, random_insn

FILES = ("alpha-libc", "alpha-vmlinux")[: depth(1, 2)]

# Words in executable sections that are no instruction of ours: reserved to PALcode (opcodes 19,
# 1B, 1D, 1E, 1F), and data in text.  By objdump's name, as counted in the files of `inputs`.
NOT_DECODED = {"alpha-libc": {}, "alpha-vmlinux": {"pal19": 1, "pal1d": 1}}

# Rows that the Handbook has and the GNU tools lack: the literal form of SEXTB and SEXTW.
UNKNOWN_TO_GNU = {("sextb", "unary literal"), ("sextw", "unary literal")}

# Their three registers must be the same one (Handbook, 4.7.8); the GNU tools print it once.
ONE_REGISTER = ("mt_fpcr", "mf_fpcr")


def executable_words(path: Path) -> tuple[Words, Addresses]:
    """The words of every executable section, in the order of the file, and their addresses."""
    words, addresses = [], []
    with path.open("rb") as stream:
        for section in ELFFile(stream).iter_sections():
            if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS":
                words.append(np.frombuffer(section.data(), dtype="<u4"))
                steps = np.arange(len(words[-1]), dtype=np.uint64) * np.uint64(4)
                addresses.append(np.uint64(section["sh_addr"]) + steps)
    return np.concatenate(words), np.concatenate(addresses)


@pytest.fixture(scope="module", params=FILES)
def disassembled(request: pytest.FixtureRequest) -> tuple[str, Words, Listing]:
    """A file's name, its words, and what objdump says about them."""
    objdump = inputs.require_tool("alpha-linux-gnu-objdump")
    path = inputs.require(request.param)
    words, addresses = executable_words(path)
    return request.param, words, listing(objdump, words, addresses, "-d", path)


def test_text_is_objdumps(disassembled: tuple[str, Words, Listing]) -> None:
    name, _, lines = disassembled
    wrong, unknown = differences(lines)
    assert wrong == []
    assert unknown == NOT_DECODED[name]


def test_decoding_and_encoding_is_the_identity(
    disassembled: tuple[str, Words, Listing],
) -> None:
    name, words, _ = disassembled
    distinct, counts = np.unique(words, return_counts=True)
    unknown = 0
    for word, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        insn = TABLE.decode(word)
        if insn is None:
            unknown += count
        else:
            assert TABLE.encode(insn) == word, f"{word:#x}: {insn}"
    assert unknown == sum(NOT_DECODED[name].values())


def test_vectorised_decoding_is_the_same(
    disassembled: tuple[str, Words, Listing],
) -> None:
    distinct = np.unique(disassembled[1])
    # Random words too: most of what can be written is no instruction.
    noise = np.random.default_rng(1).integers(0, 1 << 32, 20_000, dtype=np.uint32)
    words = np.concatenate([distinct[:: max(1, len(distinct) // 30_000)], noise])
    rows = TABLE.classify(words)
    uses, defs = TABLE.uses_and_defs(words, rows)
    for word, row, used, defined in zip(
        words.tolist(), rows.tolist(), from_columns(uses), from_columns(defs), strict=True
    ):
        insn = TABLE.decode(word)
        if insn is None:
            assert (row, used, defined) == (-1, 0, 0), f"{word:#x}"
        else:
            assert TABLE.rows[row] is insn.op
            assert (used, defined) == (TABLE.uses(insn), TABLE.defs(insn)), f"{word:#x}: {insn}"


@pytest.mark.parametrize("form", sorted({op.format for op in TABLE}, key=lambda f: f.name))
def test_vectorised_operands_are_the_same(form: object) -> None:
    op = next(op for op in TABLE if op.format is form)
    source = random.Random(2)
    insns = [random_insn(op, source) for _ in range(200)]
    words = np.array([TABLE.encode(insn) for insn in insns], dtype=np.uint32)
    for index, operand in enumerate(op.format.operands):
        assert TABLE.extract(words, operand).tolist() == [insn.operands[index] for insn in insns]


def test_every_row_is_objdumps(tmp_path: Path) -> None:
    objdump = inputs.require_tool("alpha-linux-gnu-objdump")
    source = random.Random(3)
    insns = []
    for op in TABLE:
        if (op.name, op.format.name) not in UNKNOWN_TO_GNU:
            insns += [_plain(random_insn(op, source)) for _ in range(100)]
    assert differences(_blob_listing(objdump, insns, tmp_path)) == ([], Counter())


def _blob_listing(objdump: str, insns: list[Insn], folder: Path) -> Listing:
    blob, base = folder / "blob", 1 << 28  # so high that no branch goes below address 0
    words = np.array([TABLE.encode(insn) for insn in insns], dtype=np.uint32)
    blob.write_bytes(words.astype("<u4").tobytes())
    addresses = np.arange(len(words), dtype=np.uint64) * np.uint64(4) + np.uint64(base)
    options = ("-D", "-b", "binary", "-m", "alpha:ev6", f"--adjust-vma={base:#x}")
    return listing(objdump, words, addresses, *options, blob)


def _plain(insn: Insn) -> Insn:
    if insn.name not in ONE_REGISTER:
        return insn
    register = insn.operand("fa")
    return insn.replace(fb=register, fc=register)


def test_gnu_lacks_only_what_is_listed(tmp_path: Path) -> None:
    objdump = inputs.require_tool("alpha-linux-gnu-objdump")
    for name, form in UNKNOWN_TO_GNU:
        insn = random_insn(TABLE.find(name, form), random.Random(4))
        ((_, text),) = _blob_listing(objdump, [insn], tmp_path).plain
        assert text.startswith(".long"), f"objdump now knows {name}: {text}"


@given(op=st.sampled_from(TABLE.rows), source=st.randoms(use_true_random=False))
def test_random_operands_survive(op: Op, source: random.Random) -> None:
    insn = random_insn(op, source)
    assert TABLE.decode(TABLE.encode(insn)) == insn


def test_random_operands_survive_in_every_row() -> None:
    source = random.Random(5)
    for op in TABLE:
        for _ in range(20):
            insn = random_insn(op, source)
            decoded = TABLE.decode(TABLE.encode(insn))
            # A general form may meet the encoding of a special one: CALL_PAL of CALLSYS.
            assert decoded == insn or (op.name == "call_pal" and decoded is not None)


@pytest.mark.parametrize("form", sorted({op.format for op in TABLE}, key=lambda f: f.name))
def test_an_operand_out_of_range_is_refused(form: object) -> None:
    op = next(op for op in TABLE if op.format is form)
    insn = random_insn(op, random.Random(6))
    for operand in op.format.operands:
        low, high = limits(operand)
        beyond = [low - operand.scale, high + operand.scale]
        if operand.kind is Kind.TARGET:
            beyond.append(operand.scale // 2)
        for value in beyond:
            with pytest.raises(ValueError, match=operand.name):
                TABLE.encode(insn.replace(**{operand.name: value}))
