"""Wrong meanings, one at a time: real routines no longer keep their contracts."""

from __future__ import annotations

import pytest

from rewriter.contracts import CONTRACTS
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault, LimitReached
from targets.ia64.machine.faults import MachineFault
from targets.ia64.machine.state import State
from targets.ia64.machine.trace import Executed
from targets.ia64.meanings import MEANINGS
from targets.ia64.meanings.binding import Meaning, computes, named
from targets.ia64.registers import NUMBERS, PR
from tests.targets.ia64.machine.ia64_programs import Routines, sample

LC = NUMBERS["ar.lc"]


def ctop_without_rotation(m: State, target25: int) -> None:
    if m.r[LC]:
        m.r[LC] -= 1
        m.target = target25


def loop_once_more(m: State, target25: int) -> None:
    if m.r[LC] != -1 % (1 << 64):
        m.r[LC] = (m.r[LC] - 1) % (1 << 64)
        m.target = target25


def predicates_without_stages(m: State, imm44: int) -> None:
    for number in range(16, 64):
        m.r[PR + number] = 0


# The row or rows that are wrong, how, and a routine of the libc that must suffer.
MUTANTS: list[tuple[str, Meaning, str]] = [
    ("add", computes(lambda a, b: a + b + 8), "memcpy"),
    ("sub", computes(lambda a, b: b - a), "memset"),
    ("shrp", computes(lambda high, low, count: (high << 64 | low) >> count + 8), "memcpy"),
    ("extr.u", computes(lambda value, pos, length: value >> pos), "memchr"),
    ("czx1.r", computes(lambda value: 0), "strlen"),
    ("mux1", computes(lambda value, code: value), "memset"),
    ("and", computes(lambda a, b: a | b), "memcpy"),
    ("xor", computes(lambda a, b: a), "memchr"),
    ("br.ctop", named(ctop_without_rotation), "memmove"),
    ("br.cloop", named(loop_once_more), "memset"),
    ("mov pr.rot={imm44}", named(predicates_without_stages), "memmove"),
    ("ld8.s", MEANINGS["ld8"], "strlen"),
    ("st8", MEANINGS["st4"], "memcpy"),
    ("stf8", MEANINGS["stfs"], "memcpy"),
    ("cmp.lt", MEANINGS["cmp.eq"], "memmove"),
    ("cmp.ne.and", MEANINGS["cmp.eq.and"], "strcmp"),
]


class Limited(Routines):
    """Routines that may not run for long."""

    def run(self, name: str, *arguments: int, limit: int = 20_000) -> tuple[int, list[Executed]]:
        return super().run(name, *arguments, limit=limit)


def suffers(routines: Routines, name: str) -> bool:
    """Whether a routine breaks its contract in one of some cases, or faults."""
    try:
        for case in sample(CONTRACTS[name], 80):
            routines.check(CONTRACTS[name], case)
    except (AssertionError, AccessFault, Misaligned, LimitReached, MachineFault):
        return True
    return False


@pytest.mark.parametrize(("row", "wrong", "routine"), MUTANTS, ids=lambda value: str(value)[:12])
def test_a_wrong_meaning_is_seen(
    row: str, wrong: Meaning, routine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not suffers(Limited("ia64-libc"), routine)
    monkeypatch.setitem(MEANINGS, row, wrong)
    assert suffers(Limited("ia64-libc"), routine)
