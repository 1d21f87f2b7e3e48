"""Straight code as slots: the same instructions as the arrays, the stops of templates."""

from __future__ import annotations

import pytest

from fixtures.inputs import require
from rewriter.core.code.groups import groups
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.rows import TABLE
from tests.targets.ia64.ia64_files import instructions, texts


def test_slots_are_the_instructions_of_the_text() -> None:
    address, data = max(texts(require("ia64-libjnidispatch")), key=lambda text: len(text[1]))
    data = data[: 500 * BUNDLE]
    slots = list(bundles.straight(data, address))
    starts, words = instructions(bundles.decode_text(data, address))
    assert [TABLE.encode(slot.insn) for slot in slots] == words
    assert [slot.address & -BUNDLE for slot in slots] == starts.tolist()
    ends = bundles.decode_text(data, address).stops.sum()
    found = list(groups(slots))
    assert sum(group[-1].stop for group in found) == ends
    assert [slot for group in found for slot in group] == slots


def test_a_reserved_template_is_no_code() -> None:
    with pytest.raises(ValueError, match="no instruction at 0x4010"):
        list(bundles.straight(bytes(BUNDLE) + b"\6" + bytes(BUNDLE - 1), 0x4000))
