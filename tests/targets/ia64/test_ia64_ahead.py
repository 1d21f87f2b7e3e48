"""Bundles that control leaves ahead, found for all text at once and one by one."""

from __future__ import annotations

from fixtures import inputs
from rewriter.core.isa.instruction import Flow
from rewriter.elf.image import load
from targets.ia64.image import text
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import QP


def goes_on(code: text.Text, bundle: int) -> bool:
    """The same from the instructions themselves."""
    for number in range(SLOTS):
        insn = code.insn(SLOTS * bundle + number)
        if insn is None or insn.op.flow is Flow.NEXT:
            continue
        ahead = insn.op.name in ("br.cond", "brl.cond") and (insn.target(0) or 0) > 0
        if not ahead or insn.operand(QP.name) == QP.base:
            return False
    return True


def test_control_goes_on_behind_branches_ahead_alone() -> None:
    code = text.read(load(inputs.require("ia64-libjnidispatch")))
    found = [goes_on(code, bundle) for bundle in range(code.bundles)]
    assert found == code.goes_on.tolist()
    assert 0 < sum(found) < len(found)
