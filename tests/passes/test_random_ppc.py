"""Random programs of idioms print the same after retuning, and a wrong edit in one is noticed."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from fixtures.inputs import require, require_tool
from tests.support.depth import depth
from tests.support.ppc_programs import LEVELS, SETTINGS, Setting, compared, printed, text

FUNCTIONS, PASSES = 8, "combine,bitscan"
POWER9 = Setting("ppc64el", "power8", "power9")
RESTS = """
#include <stdint.h>
#include <stdio.h>
typedef uint64_t word;
__attribute__((noipa)) static word f(word a, word b)
{ while (b) { word r = a % b; a = b; b = r; } return a; }
int main(void) { printf("%d\\n%d\\n", (int)f(84, 36), (int)f(0, 5)); }
"""


@pytest.mark.parametrize("number", range(depth(1, 12)))
def test_functions_print_the_same(number: int, tmp_path: Path) -> None:
    setting = SETTINGS[-1 - number % len(SETTINGS)]
    require(f"{setting.abi}-libc")
    require_tool(f"{setting.prefix}-linux-gnu-gcc")
    level = Random(number).choice(LEVELS)
    found = compared(setting, text("tests", number, FUNCTIONS), level, tmp_path, PASSES)
    assert len(found.before) == FUNCTIONS
    assert found.different == []
    assert found.edits["combine"] > 3 or setting.abi == "ppc"


def test_a_wrong_remainder_is_noticed(tmp_path: Path) -> None:
    """Euclid's algorithm with dividend and divisor in each other's place prints something else."""
    require("ppc64el-libc")
    require_tool("powerpc64le-linux-gnu-gcc")
    found = compared(POWER9, RESTS, "-O2", tmp_path, PASSES)
    assert (found.before, found.different) == (["12", "5"], [])
    wrong = bytearray((tmp_path / "program.new").read_bytes())
    at = next(n for n in range(0x400, len(wrong), 4) if _is_modud(bytes(wrong[n : n + 4])))
    word = int.from_bytes(wrong[at : at + 4], "little")
    first, second = word >> 16 & 31, word >> 11 & 31
    word = word & ~(0x3FF << 11) | second << 16 | first << 11
    wrong[at : at + 4] = word.to_bytes(4, "little")
    (tmp_path / "program.new").write_bytes(wrong)
    assert printed(POWER9, tmp_path / "program.new") != found.before


def _is_modud(code: bytes) -> bool:
    word = int.from_bytes(code, "little")
    return word >> 26 == 31 and word >> 1 & 0x3FF == 265 and not word & 1
