"""The PowerPC table against Capstone: which words are instructions, their names and operands."""

from __future__ import annotations

import pytest
from support.depth import DEEP

from fixtures import inputs
from tests.targets.ppc.ppc_capstone import compared
from tests.targets.ppc.ppc_objdump import text_of

_FEW = ("ppc-ld.so", "ppc64-ld.so", "ppc64el-ld.so")
FILES = tuple(n for n in inputs.NAMES if n.startswith("ppc")) if DEEP else _FEW


@pytest.mark.parametrize("name", FILES)
def test_instructions_are_capstones(name: str) -> None:
    text = text_of(inputs.require(name))
    found = compared(text)
    assert found.different == {}
    assert found.same > len(text.words) // 2
