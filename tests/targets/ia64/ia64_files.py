"""Real IA-64 text: the executable sections of a file, compared slot by slot with objdump."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from numpy.typing import NDArray

from rewriter.core.isa.operands import Kind
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import Bundle, Slots
from targets.ia64.isa.fields import BUNDLE, LONG, SLOT_BITS, Unit
from targets.ia64.isa.rows import TABLE
from tests.targets.ia64.ia64_objdump import clean, spelling

NAMES = ("ia64-vmlinux", "ia64-libc", "ia64-libsigar", "ia64-libjnidispatch")
_PLACED = np.array([any(o.kind is Kind.TARGET for o in op.format.operands) for op in TABLE.rows])


def texts(path: Path) -> list[tuple[int, bytes]]:
    """Address and content of every executable section."""
    with path.open("rb") as stream:
        return [
            (section["sh_addr"], section.data())
            for section in ELFFile(stream).iter_sections()
            if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS"
        ]


def instructions(slots: Slots) -> tuple[NDArray[np.uint64], list[int]]:
    """Bundle address and whole word of each instruction: an L slot is part of the next."""
    units = slots.words >> np.uint64(SLOT_BITS)
    at = np.flatnonzero(units != Unit.L)
    words = slots.words[at].tolist()
    for n in np.flatnonzero(units[at] == Unit.X).tolist():
        words[n] |= int(slots.longs[at[n]]) << LONG
    return slots.addresses[at] & ~np.uint64(BUNDLE - 1), words


def lines(objdump: str, path: Path, *options: str) -> Iterator[str]:
    """objdump's text of each instruction, as it comes."""
    command = (objdump, "-d", "-z", "--no-show-raw-insn", *options, str(path))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        known: dict[str, str] = {}
        for line in run.stdout:
            _, colon, text = line.partition(":\t")
            if colon:
                if text not in known:
                    known[text] = clean(text)
                yield known[text]


def differences(objdump: str, path: Path, address: int, data: bytes) -> Iterator[str]:
    """Instructions of a section, or of a part of it, whose text is not objdump's."""
    slots = bundles.decode_text(data, address)
    addresses, words = instructions(slots)
    rows = TABLE.classify(np.array([w & (1 << LONG) - 1 for w in words], dtype=np.uint64))
    placed = _PLACED[rows] | (rows < 0)
    plain: dict[int, str] = {}
    options = (f"--start-address={address:#x}", f"--stop-address={address + len(data):#x}")
    theirs = lines(objdump, path, *options)
    for here, word, moves, text in zip(
        addresses.tolist(), words, placed.tolist(), theirs, strict=True
    ):
        if moves:
            ours = _spelled(word, here)
            same = _short(ours) == _short(text)  # an address near a symbol has no prefix
        else:
            ours = plain.get(word) or plain.setdefault(word, _spelled(word, 0))
            same = ours == text
        if not same:
            yield f"{here:x} {word:#x}: {ours!r}, objdump {text!r}"


def encoded(data: bytes) -> bytes:
    """The text decoded bundle by bundle, instruction by instruction, and encoded again."""
    made: dict[bytes, bytes] = {}
    pieces = []
    for at in range(0, len(data), BUNDLE):
        raw = data[at : at + BUNDLE]
        if raw not in made:
            made[raw] = _encoded(raw)
        pieces.append(made[raw])
    return b"".join(pieces)


def _encoded(raw: bytes) -> bytes:
    bundle = bundles.decode(raw)
    assert bundle is not None, raw.hex()
    insns = [TABLE.decode(word) for word in bundle.words]
    words = tuple(TABLE.encode(insn) for insn in insns if insn is not None)
    return bundles.encode(Bundle(bundle.template, words))


def _spelled(word: int, address: int) -> str:
    insn = TABLE.decode(word)
    return "data8" if insn is None else spelling(insn, address)


def _short(text: str) -> str:
    return text.replace("0x", "")
