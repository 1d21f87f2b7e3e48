"""GNU as makes slots of our small pieces of text."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile

from fixtures import inputs
from rewriter.core.code.groups import Slot
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.formats import SlotOp
from targets.ia64.isa.rows import TABLE

START = 0x1000


def assembled(text: str, folder: Path) -> list[Slot]:
    """The slots of a text, in which a label `base` is at the start."""
    return checked(text, folder)[0]


def checked(text: str, folder: Path) -> tuple[list[Slot], str]:
    """The same, and what as has to say about its dependencies."""
    gas = inputs.require_tool("ia64-linux-gnu-as")
    source, made = folder / "made.s", folder / "made.o"
    source.write_text(f".text; .explicit; base:\n{text}\n")
    command = (gas, "-x", "-o", made, source)
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    with made.open("rb") as stream:
        code = ELFFile(stream).get_section_by_name(".text").data()
    return list(bundles.straight(code, START)), run.stderr


def instructions(lines: list[str], folder: Path) -> list[Insn]:
    """The instructions of a text, each alone in its group, without what fills their bundles."""
    slots = assembled("".join(f"{line} ;;\n" for line in lines), folder)
    found = [slot.insn for slot in slots if not slot.insn.name.startswith("nop")]
    assert len(found) == len(lines)
    return found


def spelled_out(slots: Sequence[Slot]) -> str:
    """Code as text again, its targets from the label `base` at its start."""
    start = slots[0].address
    lines = []
    for _, group in itertools.groupby(slots, lambda slot: slot.address // BUNDLE):
        held = list(group)
        template = "".join(_unit(slot.insn) for slot in held).replace("x", "lx")
        stops = (" ;;" if slot.stop else "" for slot in held)
        texts = (_text(slot.insn, held[0].address - start) for slot in held)
        inside = "\n".join(map("".join, zip(texts, stops, strict=True)))
        lines.append(f"{{ .{template}\n{inside}\n}}")
    return "\n".join(lines)


def _unit(insn: Insn) -> str:
    op = insn.op
    assert isinstance(op, SlotOp)
    return ("mi"[insn.operand("slot")] if op.unit == "A" else op.unit).lower()


def _text(insn: Insn, address: int) -> str:
    text = TABLE.text(insn, address).replace("(p0", "(p")
    if any(operand.kind is Kind.TARGET for operand in insn.op.format.operands):
        return re.sub(r"(?<=[ ,=])0x[0-9a-f]+(?=,|$)", r"base+\g<0>", text)
    return text


def bundle(spelled: str) -> str:
    """`mii: a | b | c` as a bundle; a bar doubled (`||`) is a stop."""
    template, _, slots = spelled.partition(":")
    text = slots.replace("||", ";;").replace("|", ";")
    return f"{{ .{template}; {text} }}"


def code(spelled: list[str], folder: Path) -> list[Slot]:
    """Bundles as slots; the last ends with a stop."""
    return assembled("\n".join(map(bundle, spelled)) + " ;;", folder)
