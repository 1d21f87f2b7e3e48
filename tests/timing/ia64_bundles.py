"""GNU as makes slots of our small pieces of text."""

from __future__ import annotations

import subprocess
from pathlib import Path

from elftools.elf.elffile import ELFFile

from fixtures import inputs
from rewriter.core.groups import Slot
from rewriter.core.isa import Insn
from targets.ia64 import bundles

START = 0x1000


def assembled(text: str, folder: Path) -> list[Slot]:
    """The slots of a text, in which a label `base` is at the start."""
    gas = inputs.require_tool("ia64-linux-gnu-as")
    source, made = folder / "made.s", folder / "made.o"
    source.write_text(f".text; .explicit; base:\n{text}\n")
    command = (gas, "-x", "-o", made, source)
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    with made.open("rb") as stream:
        code = ELFFile(stream).get_section_by_name(".text").data()
    return list(bundles.straight(code, START))


def instructions(lines: list[str], folder: Path) -> list[Insn]:
    """The instructions of a text, each alone in its group, without what fills their bundles."""
    slots = assembled("".join(f"{line} ;;\n" for line in lines), folder)
    found = [slot.insn for slot in slots if not slot.insn.name.startswith("nop")]
    assert len(found) == len(lines)
    return found


def bundle(spelled: str) -> str:
    """`mii: a | b | c` as a bundle; a bar doubled (`||`) is a stop."""
    template, _, slots = spelled.partition(":")
    text = slots.replace("||", ";;").replace("|", ";")
    return f"{{ .{template}; {text} }}"


def code(spelled: list[str], folder: Path) -> list[Slot]:
    """Bundles as slots; the last ends with a stop."""
    return assembled("\n".join(map(bundle, spelled)) + " ;;", folder)
