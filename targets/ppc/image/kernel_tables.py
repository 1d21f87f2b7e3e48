"""Tables in which Linux for PowerPC keeps addresses of its code.

Sources: Linux 6.1 arch/powerpc/include/asm/extable.h, feature-fixups.h, bug.h, jump_label.h,
code-patching-asm.h, static_call.h, kernel/vmlinux.lds.S, kernel/kprobes.c, kernel/stacktrace.c,
lib/feature-fixups.c, lib/restart_table.c, kernel/traps.c, kernel/trace/ftrace.c,
ftrace_mprofile.S, kernel/optprobes_head.S, kernel/kvm_emul.S, Kconfig (BUILDTIME_TABLE_SORT).
"""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.code.system_tables import (
    From,
    Holds,
    Layout,
    Named,
    PairedExceptions,
    Pointer,
    SystemTables,
)
from rewriter.core.isa.registers import register_mask
from rewriter.core.readings.machine import ByteOrder
from targets.ppc.image.walked_tables import WalkedTables
from targets.ppc.registers import CONSTANTS, THREAD, VSCR_NJ, names

_WORD = 4  # bytes of an instruction
_APART = (".head.text",)
"""Vectors, which are copied to address 0, and what runs until the MMU is on (kernel/head_*.S)."""

_TURNS = frozenset({"rfi", "rfid", "hrfid", "rfscv"})
"""Instructions by which entry code turns translation on and off."""

_LONGEST = 6 * _WORD  # what is written over at most where an entry names its start alone

_HIGH, _WHOLE = 0xFFFF0000, 0xFFFFFFFF
_STATIC_CALL = (
    (0, 0),  # the branch by which the system chooses what is called
    (_HIGH, 0x3D800000),  # lis r12,target@ha
    (_HIGH, 0x818C0000),  # lwz r12,target@l(r12)
    (_WHOLE, 0x7D8903A6),  # mtctr r12
    (_WHOLE, 0x4E800420),  # bctr
    (_WHOLE, 0x38600000),  # li r3,0
    (_WHOLE, 0x4E800020),  # blr
)
_NOP = (_WHOLE, 0x60000000)
_ISYNC = (_WHOLE, 0x4C00012C)
_BRANCH, _CALL = ((0xFC000003, word) for word in (0x48000000, 0x48000001))
_TRAPS = (
    *((0xFC000000, primary << 26) for primary in (2, 3)),  # tdi, twi
    *((0xFC0007FE, 0x7C000000 | extended << 1) for extended in (4, 68)),  # tw, td
)
_RETURN_PROBE = (_NOP, (_WHOLE, 0x4E800020))  # nop; blr
"""Where functions return to whose return is probed: the system puts a trap there when it starts."""

_LOOKS_BACK = (("nop", 3), ("isync", 2), ("sync", 1))
"""A machine check of an access to a port is seen at one of these behind it, or at the trap between
(check_io_access): which it is says how far back the access is, and that is named in a message."""

_TEMPLATES = (
    ("optprobe_template_entry", "optprobe_template_end"),
    ("kvm_template_start", "kvm_template_end"),
    ("kvm_tmp", "kvm_tmp_end"),
)
"""Code that is copied for each probe, or for each instruction that a guest gives to its host, with
other words at labels in it, and the room for the copies."""

_SHAPES = (_STATIC_CALL, _RETURN_PROBE)

_EXCEPTIONS = "__ex_table"
FEATURES = ("__ftr_fixup", "__mmu_ftr_fixup", "__fw_ftr_fixup")
"""Code that is written over where the CPU, its MMU or the firmware has a feature or lacks it."""

BARRIERS = (
    "__stf_entry_barrier_fixup",
    "__stf_exit_barrier_fixup",
    "__uaccess_flush_fixup",
    "__entry_flush_fixup",
    "__scv_entry_flush_fixup",
    "__rfi_flush_fixup",
    "__spec_barrier_fixup",
)
"""Nops that become barriers on CPUs that need them."""


def tables(bits: int, order: ByteOrder) -> SystemTables:
    """The tables of a kernel whose addresses have some bits, 32 or 64."""
    exceptions = PairedExceptions(_EXCEPTIONS, Pointer(0, 4), Pointer(4, 4), order, sorted=True)
    return SystemTables(
        order,
        exceptions,
        tuple(_layouts(bits // 8)),
        always=(_EXCEPTIONS,),
        bounded="__jump_table",
        sites=True,
        chained=True,
        apart=_APART,
        turns=_TURNS,
        shapes=_SHAPES,
        walked=WalkedTables(bits, order),
        looks_back=_LOOKS_BACK,
        templates=_TEMPLATES,
        of_processor=THREAD if bits == 64 else None,  # the paca (asm/paca.h)
        enabled=register_mask(range(VSCR_NJ, len(names(bits)))) & ~register_mask(CONSTANTS),
    )


def _layouts(size: int) -> Iterator[Layout]:
    """Each table; `size` is that of an address in bytes."""
    first, last, other, end = (Pointer(n * size, size, From.ENTRY) for n in range(2, 6))
    code = Named(Holds.WRITTEN, first, last), Named(Holds.WRITTEN, other, end)
    yield from (Layout(name, 6 * size, code) for name in FEATURES)
    start = Pointer(0, size)
    yield Layout("__lwsync_fixup", size, (Named(Holds.KEPT, start, _WORD, stands=(_ISYNC,)),))
    barrier = Named(Holds.WRITTEN, start, _LONGEST, stands=(_NOP,))
    yield from (Layout(name, size, (barrier,)) for name in BARRIERS)
    trap = Named(Holds.KEPT, Pointer(0, 4), _WORD, stands=_TRAPS)
    yield Layout("__bug_table", 12, (trap,))
    switch = Named(Holds.SWITCHED, Pointer(0, 4), _WORD, Pointer(4, 4), stands=(_NOP, _BRANCH))
    yield Layout("__jump_table", 8 + size, (switch,))
    begin, stop, resume = (Pointer(n * size, size, From.ZERO) for n in range(3))
    # ftrace looks at the instruction before it, which saves the link register, too.
    traced = Named(Holds.TRACED, begin, _WORD, stands=(_NOP, _CALL))
    before = Named(Holds.KEPT, begin, ahead=_WORD)
    yield Layout("mcount_loc", size, (traced, before))
    masked = Named(Holds.WRITTEN, begin, stop)
    yield Layout("__soft_mask_table", 2 * size, (masked,))
    yield Layout("__restart_table", 3 * size, (masked, Named(Holds.ENTERED, resume)))
