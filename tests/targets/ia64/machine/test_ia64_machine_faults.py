"""Faults of the kernel's user copies, answered through its exception table; and stops taken out of
real code."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import Case, View
from rewriter.contracts.user import TARGET_FAULTS
from rewriter.core.readings.interpret import AccessFault
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import Bundle
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.machine.calling import RETURN
from targets.ia64.machine.faults import GroupViolation
from targets.ia64.machine.processor import Processor
from targets.ia64.registers import GR
from tests.targets.ia64.machine.ia64_programs import ARENA, R8, Routines, sample

EFAULT = 14


@pytest.fixture(scope="module")
def fixups(ia64_kernel: Routines) -> dict[int, int]:
    """The exception table: slot that may fault -> where to go on, as the kernel encodes it."""
    start, end = (ia64_kernel.program.symbols[f"__{s}___ex_table"] for s in ("start", "stop"))
    table = struct.iter_unpack("<ii", ia64_kernel.memory.read(start, end - start))
    return {
        start + 8 * n + insn: start + 8 * n + 4 + fixup for n, (insn, fixup) in enumerate(table)
    }


def run_with_fixups(ia64_kernel: Routines, fixups: dict[int, int], case: Case, name: str) -> int:
    """The result of a call in which faults are handled as the kernel does: a prefetch is told to
    give up, others go on at their fixup and are noted in `ia64_kernel.processor.state.events`."""
    state = ia64_kernel.processor.state
    ia64_kernel.run_prepared(case.arguments)
    start = ia64_kernel.program.symbols[name]
    for _ in range(100):
        try:
            ia64_kernel.processor.run(start, RETURN)
            return state.r[R8]
        except AccessFault:
            if state.pc not in fixups:
                state.deferring, start = True, state.pc
                continue
            fixup = fixups[state.pc]
            state.events.append(("fault", state.pc))
            state.put(R8, -EFAULT)
            if fixup & 4:
                state.put(GR + 9, 0)
            start = (fixup & -BUNDLE) + (fixup & 3)
    raise AssertionError("faults without end")


def cases(name: str, count: int) -> Iterator[Case]:
    contract = CONTRACTS[name]
    points = [point for _, point in contract.few()]
    # The kernel takes the lower address for the user's, and that is where the target is.
    faulting = [point for point in points if point.get("fault") == TARGET_FAULTS]
    for point in faulting[:: len(faulting) // count]:
        yield contract.case(ARENA, point)


def test_a_user_copy_that_faults_says_how_much_was_done(
    ia64_kernel: Routines, fixups: dict[int, int]
) -> None:
    """What was done is a prefix, and all behind it is as it was."""
    contract = CONTRACTS["__copy_user"]
    faults = 0
    for case in cases("__copy_user", 150):
        for piece in case.pieces:
            ia64_kernel.memory.write(piece.address, piece.data)
        ia64_kernel.processor.state.events.clear()
        left = run_with_fixups(ia64_kernel, fixups, case, "__copy_user")
        faults += len(ia64_kernel.processor.state.events)
        least = contract.model(View(case.pieces, "little"), *case.arguments)
        to, source, count = case.arguments
        assert least is not None
        assert least <= left <= count
        assert left < count or least == count
        expected = View(case.pieces, "little")
        contract.model(expected, to, source, count - left)
        after = tuple(
            ia64_kernel.memory.read(piece.address, len(piece.data)) for piece in case.pieces
        )
        assert after == expected.after(), case.arguments
    assert faults > 100


def test_a_user_copy_without_faults(ia64_kernel: Routines, fixups: dict[int, int]) -> None:
    contract = CONTRACTS["__copy_user"]
    for case in sample(contract, 80):
        if not any(end - start for start, end in _missing(case)):
            ia64_kernel.check(contract, case)


def _missing(case: Case) -> Iterator[tuple[int, int]]:
    """The bytes of each buffer that lie outside its piece."""
    *addresses, count = case.arguments
    for address, piece in zip(addresses, case.pieces, strict=True):
        yield min(piece.end, address + count), address + count


# Stops that are taken out of a routine, one at a time.
ROUTINES = {"strlen": 18, "memcpy": 40, "memcmp": 36, "strcmp": 5, "memset": 40}  # bundles


def without_stops(code: bytes) -> Iterator[tuple[int, bytes]]:
    """Each bundle with one of its stops taken out, where there is such a template."""
    for at in range(0, len(code), BUNDLE):
        bundle = bundles.decode(code[at : at + BUNDLE])
        assert bundle
        for stop in bundle.template.stops:
            template = bundles.for_slots(bundle.template.units, bundle.template.stops - {stop})
            if template:
                yield at, bundles.encode(Bundle(template, bundle.words))


@pytest.mark.parametrize("name", ROUTINES)
def test_a_lost_stop_never_changes_a_result_unseen(name: str) -> None:
    """Without a stop a group is refused, or nothing in it needed the stop: no third outcome."""
    libc = Routines("ia64-libc")
    contract = CONTRACTS[name]
    entry = libc.program.symbols[name]
    code = libc.memory.read(entry, ROUTINES[name] * BUNDLE)
    region = libc.memory.region(entry, len(code))
    assert region is not None
    refused = harmless = 0
    for at, changed in without_stops(code):
        place = entry + at - region.start
        original = bytes(region.data[place : place + BUNDLE])
        region.data[place : place + BUNDLE] = changed
        libc.processor = Processor(libc.memory, libc.processor.state.stack.bsp)
        try:
            for case in sample(contract, 12):
                libc.check(contract, case)
            harmless += 1
        except GroupViolation:
            refused += 1
        region.data[place : place + BUNDLE] = original
    assert refused > harmless / 4
