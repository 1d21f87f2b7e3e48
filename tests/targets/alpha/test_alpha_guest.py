"""The harness that runs routines over records inside qemu."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from fixtures import inputs
from rewriter.verify.trials.engines.qemu import Batch, GuestDied, Qemu, static_executable
from targets.alpha.registers import FP
from tests.support.alpha_guest import AlphaGuest, Layout

LAYOUT = Layout((1, 2, FP + 1), 16)


@pytest.fixture(autouse=True)
def _emulator() -> None:
    inputs.require_tool("qemu-alpha")


def _records(count: int) -> np.ndarray:
    source = np.random.default_rng(1)
    return source.integers(0, 256, (count, LAYOUT.stride), dtype=np.uint8)


def test_batches_longer_than_the_buffer_are_split() -> None:
    guest = AlphaGuest(LAYOUT, capacity=100)
    add = guest.add("addq t0,t1,t1")
    swap = guest.add("itoft t0,$f1")
    records = _records(1234)
    added, swapped = Qemu(guest).run([Batch(add, records), Batch(swap, records[:7])])
    before, after = records.view(np.uint64), added.view(np.uint64)
    assert (after[:, 1] == before[:, 0] + before[:, 1]).all()
    assert (np.delete(after, 1, axis=1) == np.delete(before, 1, axis=1)).all()
    assert (swapped.view(np.uint64)[:, 2] == before[:7, 0]).all()


def test_a_body_may_loop_and_call() -> None:
    guest = AlphaGuest(LAYOUT)
    # The body sums t0 from its low byte down to one, through a subroutine of its own.
    routine = guest.add(
        """
                and     t0,255,t0
                clr     t1
        again:  bsr     ra,step
                bgt     t0,again
                br      out
        step:   addq    t1,t0,t1
                subq    t0,1,t0
                ret
        out:
        """
    )
    records = _records(300)
    (after,) = Qemu(guest).run([Batch(routine, records)])
    low = records.view(np.uint64)[:, 0] & np.uint64(255)
    assert (after.view(np.uint64)[:, 1] == low * (low + np.uint64(1)) // np.uint64(2)).all()


def test_memory_stands_where_the_guest_says() -> None:
    guest = AlphaGuest(LAYOUT, capacity=10)
    routine = guest.add("stq t0,8(t1)")
    records = _records(25)
    quads = records.view(np.uint64)
    quads[:, 1] = [guest.memory_address(case) for case in range(25)]
    (after,) = Qemu(guest).run([Batch(routine, records)])
    assert (after.view(np.uint64)[:, 4] == quads[:, 0]).all()


def test_an_instruction_that_the_cpu_lacks_is_reported() -> None:
    guest = AlphaGuest(LAYOUT, cpu="ev5")
    routine = guest.add("cttz t0,t1")
    with pytest.raises(GuestDied, match="ended with status -4"):
        Qemu(guest).run([Batch(routine, _records(3))])


def test_records_of_another_size_are_refused() -> None:
    guest = AlphaGuest(LAYOUT)
    with pytest.raises(ValueError, match="records of 40 bytes"):
        Qemu(guest).run([Batch(guest.base, np.zeros((1, 8), dtype=np.uint8))])


def test_a_body_may_not_outgrow_the_guest() -> None:
    guest = AlphaGuest(LAYOUT, room=0x10000)
    with pytest.raises(ValueError, match="no room"):
        guest.add(bytes(0x10000))


@pytest.mark.parametrize(("bits", "byteorder"), [(64, "little"), (32, "big"), (64, "big")])
def test_the_executable_is_one_that_others_read(bits: int, byteorder: str) -> None:
    guest = SimpleNamespace(
        elf_machine=21,
        elf_flags=0,
        word_bits=bits,
        byteorder=byteorder,
        base=0x10000000 + (120 if bits == 64 else 84),
        memory_size=0x20000,
        code=lambda: b"code" * 5,
    )
    elf = ELFFile(io.BytesIO(static_executable(guest)))
    (segment,) = elf.iter_segments()
    assert (elf.elfclass, elf.little_endian) == (bits, byteorder == "little")
    assert elf.header["e_entry"] == guest.base
    assert segment["p_vaddr"] == 0x10000000 and segment["p_offset"] == 0
    assert segment.data()[guest.base - 0x10000000 :] == guest.code()
    assert segment["p_memsz"] == guest.base - 0x10000000 + guest.memory_size
