"""Counts the old spellings of narrow accesses, by instruction names alone: no pass, no proof.

Straight code between leaders (branch targets, starts of unwind entries) is read once; each register
remembers which instruction wrote it.  An unaligned access (`extwh`, `inswh`) is no site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rewriter.core.addresses import NOWHERE
from rewriter.core.code.dataflow import registers_of
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.elf.image import Image
from rewriter.elf.unwind import entries
from targets.alpha import Alpha
from targets.alpha.isa.rows import TABLE

_BYTE, _WORD = 56, 48  # shifts that bring a byte or word down from the top


def survey(image: Image) -> Counter[str]:
    """How often each spelling stands in an image's text."""
    found: Counter[str] = Counter()
    for block in _blocks(image):
        writer: dict[int, str] = {}
        for insn in block:
            kind = _kind(insn, writer)
            if kind:
                found[kind] += 1
            made = _made(insn, writer)
            for register in registers_of(TABLE.defs(insn)):
                writer[register] = made
    unaligned = found.pop("unaligned load"), found.pop("unaligned store")
    found["word load"] -= unaligned[0]
    found["word store"] -= unaligned[1]
    return found


def _blocks(image: Image) -> Iterator[list[Insn]]:
    listing = Alpha().listing(image)
    leaders = {int(target) for target in listing.targets if target != NOWHERE}
    leaders |= {frame.start for frame in entries.frames(image)}
    block: list[Insn] = []
    for at, address in enumerate(listing.addresses.tolist()):
        insn = listing.insn(at)
        if address in leaders or insn is None:
            yield block
            block = []
        if insn is not None:
            block.append(insn)
            if insn.op.flow is not Flow.NEXT:
                yield block
                block = []
    yield block


def _made(insn: Insn, writer: dict[int, str]) -> str:
    """What a register holds after an instruction, as far as the spellings need it."""
    registers = insn.op.format.name == "operate"
    if insn.name == "bis" and registers:
        sources = sorted({writer.get(r, "") for r in insn.operands[:2]} - {""})
        return sources[0] if len(sources) == 1 and 31 in insn.operands[:2] else "+".join(sources)
    if insn.name == "sll" and not registers:
        return f"sll {insn.operand('rb')}"
    return insn.name


def _kind(insn: Insn, writer: dict[int, str]) -> str:
    """The spelling that an instruction ends, if it ends one."""
    if insn.name == "stq_u":
        return _stored(writer.get(insn.operand("ra"), "").split("+"))
    first = writer.get(insn.operands[0], "") if insn.op.format.name.startswith("operate") else ""
    if insn.op.format.name == "operate":
        if first == "ldq_u" and insn.name in ("extbl", "extwl"):
            return "byte load" if insn.name == "extbl" else "word load"
        return {"extwh": "unaligned load", "inswh": "unaligned store"}.get(insn.name, "")
    if insn.name == "sra" and insn.operand("rb") in (_BYTE, _WORD):
        size = "byte" if insn.operand("rb") == _BYTE else "word"
        names = {
            "extqh": f"signed {size} load",
            f"sll {insn.operand('rb')}": f"sign extension {size}",
        }
        return names.get(first, "")
    return ""


def _stored(parts: list[str]) -> str:
    if parts == ["mskbl"]:
        return "zero byte store"
    if parts == ["mskwl"]:
        return "zero word store"
    if "mskbl" in parts:
        return "byte store" if {"insbl", "insql"} & set(parts) else ""
    return "word store" if {"mskwl", "inswl"} <= set(parts) else ""
