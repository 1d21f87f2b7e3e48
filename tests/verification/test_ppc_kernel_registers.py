"""Registers of PowerPC kernels that the system changes, or turns on and off, beside the code.

In 64-bit kernels r13 is another on another processor, to which the system may let code go on till
a store says that it must not.  Registers of floating point and vectors are off till the system
turns them on.  Each change is shown twice: in another order alone, and with another difference, so
that the instructions are no longer the same ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.tables.test_ppc_extable import said

COUNTED = """
    add 12, {sum}
    lwz 9, 8(4)
    addi 9, 9, 1
    {first}
    stw 9, 8(4)
    {second}
    ldx 3, {base}, 5
    add 3, 3, 12
    blr
"""
"""A count that keeps the code on its processor, and the place of that's data."""

SWITCHED = """
    add 12, {sum}
    li 9, 0
    {first}
    mtmsrd 9, 1
    {second}
    lbz 3, 2354({base})
    add 3, 3, 12
    blr
"""
"""Interrupts are off behind it."""

ALL = ("4, 5", "5, 4")


@pytest.mark.parametrize("body", [COUNTED, SWITCHED])
@pytest.mark.parametrize("move", ["mr 10, 13", "addi 10, 13, 1024"])
@pytest.mark.parametrize("total", ALL)
@pytest.mark.parametrize("turned", [False, True])
def test_the_processor_is_asked_where_it_was(
    tmp_path: Path, body: str, move: str, total: str, turned: bool
) -> None:
    places = [("nop", move), (move, "nop")]
    old, new = (
        body.format(sum=each, first=first, second=second, base=10)
        for each, (first, second) in zip(
            (ALL[0], total), places[:: -1 if turned else 1], strict=True
        )
    )
    assert said(old, new, "", tmp_path, bits=64)


@pytest.mark.parametrize("register", [13, 10])
def test_another_register_stays(tmp_path: Path, register: int) -> None:
    """One that is no other on another processor may be copied before, and r13 where it was."""
    body = "    nop\n    stw 9, 8(4)\n    {}\n    {}\n    ldx 3, 11, 5\n    add 3, 3, 12\n    blr\n"
    lines = (f"mr 11, {register}", "add 12, 4, 5")
    old, new = body.format(*lines), body.format(*reversed(lines))
    assert not said(old, new, "", tmp_path, bits=64)


def test_a_copy_for_the_place_of_a_processor(tmp_path: Path) -> None:
    body = "    li 10, 0\n    lwz 9, 8(4)\n    {}\n    stw 9, 4(4)\n    {}\n    blr\n"
    old, new = body.format("nop", "lbz 3, 2354(13)"), body.format("mr 10, 13", "lbz 3, 2354(10)")
    assert said(old, new, "", tmp_path, bits=64)


ENABLED = """
    add 12, {sum}
    mfmsr 5
    {mask}
    {first}
    mtmsrd 6
    isync
    {second}
    {store}
    mtmsrd 5
    isync
    mr 3, 12
    blr
"""

FLOATING = {"mask": "ori 6, 5, 0x2000", "store": "stfd 0, 0(3)"}
VECTOR = {"mask": "oris 6, 5, 0x200", "store": "stvx 0, 0, 3"}


@pytest.mark.parametrize(
    ("kind", "moved"), [(FLOATING, "mffs 0"), (FLOATING, "fmr 0, 1"), (VECTOR, "vxor 0, 1, 2")]
)
@pytest.mark.parametrize("total", ALL)
def test_what_is_turned_on_is_not_used_before(
    tmp_path: Path, kind: dict[str, str], moved: str, total: str
) -> None:
    old = ENABLED.format(sum=ALL[0], first="nop", second=moved, **kind)
    new = ENABLED.format(sum=total, first=moved, second="nop", **kind)
    assert said(old, new, "", tmp_path, bits=64)


def test_what_is_turned_on_is_used_there(tmp_path: Path) -> None:
    """Two of floating point change places among events."""
    both = "fmr 0, 1", "fmr 2, 3"
    old, new = (
        ENABLED.format(sum=ALL[0], first="nop", second="\n    ".join(each), **FLOATING)
        for each in (both, both[::-1])
    )
    assert not said(old, new, "", tmp_path, bits=64)
