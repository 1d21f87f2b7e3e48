"""ELF machine numbers (`e_machine`), by target: known before a target is loaded."""

from __future__ import annotations

EM_ALPHA, EM_ALPHA_OFFICIAL = 0x9026, 41
EM_IA_64 = 50

ALPHA = frozenset({EM_ALPHA, EM_ALPHA_OFFICIAL})
IA64 = frozenset({EM_IA_64})
