"""How the manifest takes code of each architecture apart, by ELF machine number.

Small modules that load no table of instructions: `words` for fixed-width code, `bundles` for
IA-64.
"""

from __future__ import annotations

from rewriter.core.target.code_form import CodeForm
from targets import machines
from targets.forms.bundles import Bundles
from targets.forms.words import Words

ALPHA = Words(
    branch_majors=frozenset(range(0x30, 0x40)), distance_bits=21, nops=(0x2FFE0000, 0x47FF041F)
)
"""Alpha: opcodes from 0x30 on are branches of format BR/BSR; UNOP (LDQ_U $31,0($30)) and NOP."""

IA64 = Bundles()

_FORMS: dict[frozenset[int], CodeForm] = {
    machines.ALPHA_NUMBERS: ALPHA,
    frozenset({machines.EM_IA_64}): IA64,
}


def form_of(machine: int) -> CodeForm | None:
    """The form of an `e_machine`'s code; None where there is none."""
    return next((form for numbers, form in _FORMS.items() if machine in numbers), None)
