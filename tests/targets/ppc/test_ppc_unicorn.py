"""What the PowerPC table says instructions do, against Unicorn: 32 bits, big-endian."""

from __future__ import annotations

import numpy as np
import pytest
import unicorn
from numpy.typing import NDArray
from support.depth import depth
from unicorn import ppc_const as names

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from targets.ppc.isa import table
from targets.ppc.registers import CTR, LR
from tests.targets.ppc.ppc_cases import Run, disagreements, packed_cr, packed_xer
from tests.targets.ppc.ppc_guest import MEMORY, REGISTERS
from tests.targets.ppc.test_ppc_meaning import branching, control_runs, straight, straight_runs

KNOWN = table(32, "big")
CODE, DATA, SPACE = 0x1000000, 0x2000000, 0x400000
APART = 128  # bytes from the code of a run to the next: what was translated stays so
CASES = depth(24, 10_000)  # operand sets for every row

_GENERAL = [names.UC_PPC_REG_0 + number for number in REGISTERS]
_SPECIAL = [
    *(names.UC_PPC_REG_CR, names.UC_PPC_REG_0),
    *(names.UC_PPC_REG_CTR, names.UC_PPC_REG_LR),
]


def emulator() -> unicorn.Uc:
    """A processor with memory for code and data."""
    mode = unicorn.UC_MODE_PPC32 | unicorn.UC_MODE_BIG_ENDIAN
    made = unicorn.Uc(unicorn.UC_ARCH_PPC, mode)
    made.ctl_set_cpu_model(names.UC_CPU_PPC32_7450_V2_1)
    made.mem_map(CODE, SPACE)
    made.mem_map(DATA, SPACE)
    return made


def after(processor: unicorn.Uc, run: Run, at: int) -> NDArray[np.uint8]:
    """The records that the instruction leaves."""
    to_xer, from_xer = (KNOWN.find(*name) for name in (("mtspr", "1,rs"), ("mfspr", "rt,1")))
    scratch = (Reg(0),)  # Unicorn gives the flags of XER to instructions alone
    before, behind = (run.bytes_of(Insn(op, scratch)) for op in (to_xer, from_xer))
    code = before + run.body(at + len(before)) + behind
    run.base = np.full(run.count, DATA, dtype=np.uint32)
    run.aim()
    processor.mem_write(at, code)
    columns = [run.before[Reg(number)] for number in REGISTERS]
    columns += [packed_cr(run.before), packed_xer(run.before), run.before[CTR], run.before[LR]]
    places = [*_GENERAL, *_SPECIAL]
    left = []
    for lane in range(run.count):
        processor.mem_write(DATA, run.memory[lane].tobytes())
        for place, column in zip(places, columns, strict=True):
            processor.reg_write(place, int(column[lane]))
        processor.emu_start(at, at + len(code))
        found = [processor.reg_read(place) for place in places]
        values = np.array(found, dtype=np.uint64).astype(">u4").view(np.uint8)
        memory = np.frombuffer(bytes(processor.mem_read(DATA, MEMORY)), dtype=np.uint8)
        left.append(np.concatenate([values, memory]))
    return np.stack(left)


@pytest.mark.parametrize("part", range(2))
def test_meaning_is_unicorns(part: int) -> None:
    processor = emulator()
    runs = [
        *straight_runs(KNOWN, straight(KNOWN)[part::2], CASES),
        *control_runs(KNOWN, branching(KNOWN)[part::2], CASES),
    ]
    found = []
    for number, run in enumerate(runs):
        found += disagreements(run, after(processor, run, CODE + APART * number))
    assert found == []
