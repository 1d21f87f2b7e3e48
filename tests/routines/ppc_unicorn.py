"""Cases through a 32-bit routine under Unicorn: pages that are there, bytes that may be written.

A second emulator beside qemu: it sees a read of a page that holds no byte of the case, and a store
to any byte that the contract does not write.
"""

from __future__ import annotations

from unicorn import (
    UC_ARCH_PPC,
    UC_HOOK_MEM_WRITE,
    UC_MODE_32,
    UC_MODE_BIG_ENDIAN,
    UC_MODE_PPC32,
    Uc,
    UcError,
    ppc_const,
)

from rewriter.contracts.contract import Case, Contract, Result, View
from rewriter.verify.trials.engines.sweep import Code
from targets.ppc.linkage import GENERAL
from targets.ppc.trial_program import PpcSweep

PAGE = 0x1000
_STACK, _RETURN = 0x1000_0000, 0x1100_0000
_LIMIT = 20_000_000  # microseconds
_FLOATING, _VECTORS = 1 << 13, 1 << 25  # of MSR
MODELS = {"750": ppc_const.UC_CPU_PPC32_750_V3_1, "7450": ppc_const.UC_CPU_PPC32_7450_V2_1}
_GPR = [getattr(ppc_const, f"UC_PPC_REG_{n}") for n in range(32)]


class Guarded:
    """Runs one routine on cases of one contract; `problem` says what is wrong with one."""

    def __init__(self, code: Code, contract: Contract, program: PpcSweep) -> None:
        self.contract, self.program, self.entry = contract, program, code.entry
        self.engine = Uc(UC_ARCH_PPC, UC_MODE_PPC32 | UC_MODE_32 | UC_MODE_BIG_ENDIAN)
        self.engine.ctl_set_cpu_model(MODELS[program.cpu])
        for start, data in code.parts:
            self.engine.mem_map(start, -(-len(data) // PAGE) * PAGE)
            self.engine.mem_write(start, data)
        self.engine.mem_map(_STACK, PAGE)
        self.engine.mem_map(_RETURN, PAGE)
        features = _FLOATING | (_VECTORS if program.vectors else 0)
        self.engine.reg_write(ppc_const.UC_PPC_REG_MSR, features)
        self.engine.hook_add(UC_HOOK_MEM_WRITE, self._stored)
        self._stores: list[tuple[int, int]] = []

    def problem(self, case: Case) -> str:
        """What is wrong with a case; empty when nothing is."""
        view = View(case.pieces, self.program.byteorder)
        wanted = self.contract.expected(view, case)
        pages = sorted({page for p in case.pieces for page in self._pages(p.address, p.end)})
        for page in pages:
            self.engine.mem_map(page, PAGE)
        try:
            return self._run(case, view, wanted)
        finally:
            for page in pages:
                self.engine.mem_unmap(page, PAGE)

    def _pages(self, start: int, end: int) -> range:
        return range(start & -PAGE, end, PAGE)

    def _run(self, case: Case, view: View, wanted: int | None) -> str:
        for piece in case.pieces:
            self.engine.mem_write(piece.address, piece.data)
        registers = {n: 0x1010101 * n for n in range(32)} | {1: _STACK + PAGE // 2}
        registers |= dict(zip(self.program.linkage.arguments, case.arguments, strict=False))
        for number, value in registers.items():
            self.engine.reg_write(_GPR[number], value)
        self.engine.reg_write(ppc_const.UC_PPC_REG_LR, _RETURN)
        self._stores.clear()
        try:
            self.engine.emu_start(self.entry, _RETURN, _LIMIT)
        except UcError as error:
            if not case.promised:
                return ""
            where = self.engine.reg_read(ppc_const.UC_PPC_REG_PC) - self.entry
            return f"at offset {where:#x}: {error}"
        for address, size in self._stores:
            inside = any(low <= address and address + size <= high for low, high in view.written)
            if not inside and case.promised:
                return f"{size}-byte store to {address:#x}"
        changed = [n for n in GENERAL if self.engine.reg_read(_GPR[n]) != registers[n]]
        if changed:
            return f"preserved registers {changed} changed"
        return self._outcome(case, view, wanted)

    def _outcome(self, case: Case, view: View, wanted: int | None) -> str:
        got = self.engine.reg_read(_GPR[self.program.linkage.result])
        signed = got - (1 << 32) if got >> 31 else got
        if self.contract.result is Result.SIGN:
            got = (signed > 0) - (signed < 0)
        is_result = self.contract.result is not Result.NOTHING and wanted is not None
        if is_result and (got - wanted) % (1 << self.program.width):
            return f"the result is {got:#x}, not {wanted:#x}"
        for piece, after in zip(case.pieces, view.after(), strict=True):
            if bytes(self.engine.mem_read(piece.address, len(after))) != after:
                return f"memory at {piece.address:#x} is wrong"
        return ""

    def _stored(self, uc: Uc, kind: int, address: int, size: int, value: int, data: object) -> None:
        self._stores.append((address, size))
