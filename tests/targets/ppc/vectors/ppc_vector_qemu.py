"""A program for qemu that runs single instructions on given vector registers, and what they did.

Each case is 64 vector-scalar registers, four general ones and some memory, before and after.
"""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fixtures import inputs
from rewriter.core.isa.instruction import Insn, Op
from rewriter.core.isa.operands import Kind
from rewriter.core.readings.machine import ByteOrder

GENERAL = (5, 6, 7, 8)  # the general registers of a case; the first points into memory
MEMORY = 96  # bytes of it
POINTER = 40  # where in it the first points to
_REGISTERS = 64 * 16
_BLOCK = _REGISTERS + 8 * len(GENERAL) + 16 + MEMORY  # the condition register, and alignment
_MEMORY_AT = _BLOCK - MEMORY

_PREFIX = {"little": "powerpc64le-linux-gnu", "big": "powerpc64-linux-gnu"}
_QEMU = {"little": ("qemu-ppc64le", "power10"), "big": ("qemu-ppc64", "power9")}


@dataclass(frozen=True)
class State:
    """Registers, doublewords first to last, and memory."""

    vectors: tuple[int, ...]
    general: tuple[int, ...]
    condition: int
    memory: bytes

    def packed(self, order: str) -> bytes:
        """As the program reads it; the memory is behind the registers."""
        words = (*self.vectors, *self.general, self.condition, 0)
        return struct.pack(f"{order}{len(words)}Q", *words) + self.memory


def _unpacked(block: bytes, order: str) -> State:
    words = struct.unpack_from(f"{order}{_MEMORY_AT // 8}Q", block)
    return State(words[:128], words[128:-2], words[-2], block[_MEMORY_AT:])


def _source(words: Sequence[int], states: Iterable[bytes]) -> Iterable[str]:
    """Assembler text: r3 is the block of a case, which is changed in place."""
    yield ".abiversion 2\n.globl _start\n_start:"  # the second ABI has no descriptors
    yield "lis 3, blocks@highest; ori 3, 3, blocks@higher; sldi 3, 3, 32"
    yield "oris 3, 3, blocks@h; ori 3, 3, blocks@l"
    for word in words:
        for register in range(64):
            yield f"li 4, {16 * register}; lxvd2x {register}, 3, 4"
        for number, register in enumerate((*GENERAL, 4)):
            yield f"ld {register}, {_REGISTERS + 8 * number}(3)"
        yield "mtcrf 255, 4"
        high, low = word >> 32, word & 0xFFFFFFFF
        yield f".balignl 64, 0x60000000; .long {high:#x}, {low:#x}" if high else f".long {low:#x}"
        for register in range(64):
            yield f"li 4, {16 * register}; stxvd2x {register}, 3, 4"
        yield "mfcr 4"
        for number, register in enumerate((*GENERAL, 4)):
            yield f"std {register}, {_REGISTERS + 8 * number}(3)"
        yield f"addi 3, 3, {_BLOCK}"
    yield "li 0, 4; li 3, 1; lis 4, blocks@highest; ori 4, 4, blocks@higher; sldi 4, 4, 32"
    yield "oris 4, 4, blocks@h; ori 4, 4, blocks@l"
    size = _BLOCK * len(words)
    yield f"lis 5, {size >> 16}; ori 5, 5, {size & 0xFFFF}; sc; li 0, 1; li 3, 0; sc"
    yield ".data\n.balign 16\nblocks:"
    for block in states:
        yield ".byte " + ",".join(map(str, block))


LATER = ("3.1", "64-3.1")
LACKING = ("lxvkq", "xxgenpcv")  # of qemu 7.2


def has(op: Op, byteorder: ByteOrder) -> bool:
    """Whether the chosen CPU of qemu runs a row as a case: not if it counts from its own place."""
    lacks = (byteorder == "big" and op.needs in LATER) or op.name.startswith(LACKING)
    return not lacks and not op.format.name.endswith("(0),1")


def run(
    words: Sequence[int], states: Sequence[State], byteorder: ByteOrder, folder: Path
) -> list[tuple[State, State]]:
    """Each state as it is placed in the program, and what the word made of it."""
    order = "<" if byteorder == "little" else ">"
    prefix, (qemu, cpu) = _PREFIX[byteorder], _QEMU[byteorder]
    source, objects, program = (folder / f"cases{suffix}" for suffix in (".s", ".o", ""))
    base = 0x20000000
    placed = [placed_state(state, base + n * _BLOCK) for n, state in enumerate(states)]
    source.write_text("\n".join(_source(words, (s.packed(order) for s in placed))) + "\n")
    assembler, linker = (inputs.require_tool(f"{prefix}-{tool}") for tool in ("as", "ld"))
    subprocess.run([assembler, "-mpower10", "-o", objects, source], check=True)
    subprocess.run([linker, "-Tdata", hex(base), "-o", program, objects], check=True)
    command = [inputs.require_tool(qemu), "-cpu", cpu, program]
    output = subprocess.run(command, capture_output=True, check=True).stdout
    assert len(output) == _BLOCK * len(words)
    after = [_unpacked(output[at : at + _BLOCK], order) for at in range(0, len(output), _BLOCK)]
    return list(zip(placed, after, strict=True))


def drawn(op: Op, source: random.Random) -> Insn:
    """A word of a row that stays inside the memory of a case; an accumulator's are no sources."""
    while True:
        insn = _drawn(op, source)
        if not (insn.has("acc") and _overlaps(insn)):
            return insn


def _overlaps(insn: Insn) -> bool:
    first = insn.operand("acc")
    sources = [insn.operand(name) for name in ("xa", "xap", "xb") if insn.has(name)]
    return any(0 <= number - first < 4 for number in sources)


def _drawn(op: Op, source: random.Random) -> Insn:
    values = []
    for operand in op.format.operands:
        if operand.kind is Kind.REGISTER and operand.name.startswith("r"):
            values.append(GENERAL[0] if operand.name[:2] == "ra" else source.choice(GENERAL[1:]))
        elif operand.name in ("d", "ds", "dq", "d34"):
            values.append(source.randrange(-2, 2) * 16)
        else:
            value = None
            while value is None:  # not a reserved one
                value = operand.value(source.getrandbits(operand.width))
            values.append(value)
    return Insn(op, tuple(values))


def drawn_state(source: random.Random, accesses: bool) -> State:
    """Random registers; bytes are often equal, even or zero, and indices are small."""
    kinds = (
        lambda: source.getrandbits(64),
        lambda: int.from_bytes(bytes(source.choices((0, 1, 7, 128), k=8)), "big"),
        lambda: 0x4141414141414141,
        lambda: 0,
    )
    general = [source.randrange(-40, 9) % (1 << 64) if accesses else kinds[0]() for _ in range(3)]
    return State(
        tuple(source.choice(kinds)() for _ in range(128)),
        (0, *general),
        source.getrandbits(32),
        source.randbytes(MEMORY),
    )


def placed_state(state: State, block: int) -> State:
    """The state with its first general register pointing into its memory."""
    pointer = block + _MEMORY_AT + POINTER
    return State(state.vectors, (pointer, *state.general[1:]), state.condition, state.memory)
