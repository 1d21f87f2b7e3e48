"""Small IA-64 programs: assembled by GNU as, loaded, called."""

from __future__ import annotations

import subprocess
from pathlib import Path

from elftools.elf.elffile import ELFFile

from fixtures import inputs
from rewriter.core.readings.interpret import Memory
from targets.ia64.machine.alat import Policy
from targets.ia64.machine.calling import call
from targets.ia64.machine.processor import Processor

CODE, DATA, BACKING, STACK = 0x4000, 0x100000, 0x200000, 0x300000


def built(folder: Path, text: str, policy: Policy | None = None) -> Processor:
    """Assembles a program (`as -x`: stops are as written) and loads it at `CODE`."""
    gas = inputs.require_tool("ia64-linux-gnu-as")
    source, made = folder / "program.s", folder / "program.o"
    source.write_text(f".text\n.explicit\n{text}\n")
    run = subprocess.run(
        (gas, "-x", "-o", made, source), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    with made.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".text")
        assert section is not None
        code = section.data()
    memory = Memory()
    memory.map(CODE, code, write=False)
    for address in (DATA, BACKING, STACK):
        memory.map(address, 0x10000, execute=False)
    return Processor(memory, BACKING, policy)


def result(processor: Processor, *arguments: int, limit: int = 100_000) -> int:
    """What the program at `CODE` returns."""
    return call(processor, CODE, arguments, sp=STACK + 0x8000, limit=limit)[0]
