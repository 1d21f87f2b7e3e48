"""GNU as on our text: what words it makes of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from elftools.elf.elffile import ELFFile

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE, Unit
from targets.ia64.isa.rows import TABLE

_BUNDLES = {
    Unit.M: "{{ .mmi; {}; nop.m 0; nop.i 0 }}",
    Unit.I: "{{ .mii; nop.m 0; {}; nop.i 0 }}",
    Unit.F: "{{ .mfi; nop.m 0; {}; nop.i 0 }}",
    Unit.B: "{{ .bbb; nop.b 0; nop.b 0; {} }}",
    Unit.X: "{{ .mlx; nop.m 0; {} }}",
}
_SLOT = {Unit.M: 0, Unit.I: 1, Unit.F: 1, Unit.B: 2, Unit.X: 1}
_ADDRESS = re.compile(r"(?<=[ ,=])0x[0-9a-f]+(?=,|$)")
_ERROR = re.compile(r":(\d+): Error: (.*)")


def source_text(insn: Insn, address: int) -> str:
    """Our text for as: predicates without a zero before them, targets from the label `base`."""
    text = TABLE.text(insn, address).replace("(p0", "(p")
    if any(operand.kind is Kind.TARGET for operand in insn.op.format.operands):
        text = _ADDRESS.sub(r"base+\g<0>", text)
    return text


def assembled(
    gas: str, unit: Unit, insns: list[Insn], folder: Path
) -> tuple[list[int], dict[int, str]]:
    """The word of each instruction in a slot of the unit; or by number, why as refuses it."""
    lines = [
        _BUNDLES[unit].format(source_text(insn, BUNDLE * number))
        for number, insn in enumerate(insns)
    ]
    refused = _assemble(gas, lines, folder)
    nop = _BUNDLES[unit].format({Unit.B: "nop.b 0", Unit.X: "nop.x 0"}.get(unit, "nop 0"))
    kept = [nop if number in refused else line for number, line in enumerate(lines)]
    assert not _assemble(gas, kept, folder)
    with (folder / "made.o").open("rb") as stream:
        text = ELFFile(stream).get_section_by_name(".text").data()
    words = []
    for at in range(0, BUNDLE * len(insns), BUNDLE):
        bundle = bundles.decode(text[at : at + BUNDLE])
        assert bundle is not None
        words.append(bundle.words[_SLOT[unit]])
    return words, refused


def _assemble(gas: str, lines: list[str], folder: Path) -> dict[int, str]:
    text, made = folder / "made.s", folder / "made.o"
    text.write_text("\n".join([".text; .explicit; base:", *lines, ""]))
    command = (gas, "-x", "-mhint.b=ok", "-o", made, text)
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = {int(m[1]) - 2: m[2] for m in _ERROR.finditer(run.stderr)}
    assert run.returncode == 0 or errors, run.stderr
    return errors


_COMPLAINT = re.compile(r":(\d+): (Warning|Error): (.*)")
_VIOLATES = re.compile(r"violates? (RAW|WAW|WAR) dependency")


def complaints(
    gas: str, groups: list[list[Insn]], folder: Path
) -> tuple[dict[int, set[str]], set[int]]:
    """By number of the group, the dependencies that as says it violates; and what as refuses."""
    text = [" ; ".join(source_text(insn, 0) for insn in group) + " ;;" for group in groups]
    source = folder / "groups.s"
    source.write_text("\n".join([".text; .explicit; base:", *text, ""]))
    command = (gas, "-x", "-mhint.b=ok", "-o", folder / "groups.o", source)
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    warned: dict[int, set[str]] = {}
    refused = set()
    for line, kind, problem in _COMPLAINT.findall(run.stderr):
        if kind == "Error":
            refused.add(int(line) - 2)
        elif match := _VIOLATES.search(problem):
            warned.setdefault(int(line) - 2, set()).add(match[1])
    return warned, refused
