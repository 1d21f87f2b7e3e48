"""Straight regions from IA-64 assembler text, by GNU as."""

from __future__ import annotations

import subprocess
from pathlib import Path

from elftools.elf.elffile import ELFFile

from rewriter.core.code.groups import Slot
from targets.ia64.isa import bundles

# Labels outside of every region.
_LABELS = "out = base + 0x10000; other = base + 0x20000"


def assembled(gas: str, text: str, folder: Path) -> tuple[Slot, ...]:
    """The slots of a text at address 0; lines are instructions, `;;` ends a group.

    A stop that the text lacks on purpose is a warning of as, which is not looked at.
    """
    source, made = folder / "region.s", folder / "region.o"
    source.write_text("\n".join([".text; .explicit; base:", text, _LABELS, ""]))
    command = (gas, "-x", "-o", str(made), str(source))
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    with made.open("rb") as stream:
        data = ELFFile(stream).get_section_by_name(".text").data()
    return tuple(bundles.straight(data, 0))
