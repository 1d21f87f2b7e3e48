"""How PowerPC spells what passes want; saves of registers, and steps of the stack pointer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.protocol import Trigger
from targets.ppc.abi import FRAME_BASES
from targets.ppc.image.constants import copied, displacement_of
from targets.ppc.isa import table
from targets.ppc.registers import CR, FPR, GPR, LR, SP, TOC, ZERO

CELL_ACCESSES: frozenset[str] = frozenset()
"""Nothing: no access leaves out low bits of its address but those of vectors."""

_COMBINED = frozenset(
    (
        *("mulld", "divdu", "divd", "divwu", "divw", "rlwimi", "rldimi"),
        *("xxpermdi", "xxsldwi", "vsldoi", "isel"),
    )
)
DISPLACED = frozenset(
    (
        *("lbz", "lhz", "lha", "lwz", "lwa", "ld", "lfs", "lfd"),
        *("stb", "sth", "stw", "std", "stfs", "stfd"),
    )
)
"""Accesses with a base register and a displacement, which leave the base as it is."""
TRIGGERS: Mapping[str, tuple[Trigger, ...]] = MappingProxyType(
    {
        "bitscan": (
            Trigger(frozenset({"popcntd", "popcntw", "cntlzd", "cntlzw"})),
            # lis of half a mask of every other bit: the first step of adding up bits
            Trigger(frozenset({"addis"}), literals=frozenset({0x5555})),
        ),
        "combine": (
            Trigger(_COMBINED),
            Trigger(frozenset(("extsw",)), readers=frozenset(("rldic", "rldicr"))),
            Trigger(frozenset(("mfcr", "mfocrf")), readers=frozenset(("rlwinm", "rldicl"))),
            Trigger(frozenset(("addi", "or")), accesses=DISPLACED),
        ),
    }
)
"""Per pass, triggers of which a block with a site has at least one."""

FENCES = frozenset({"sync", "lwsync"})
"""Events that nothing passes in either direction (Power ISA 3.1B, Book II, section 1.7.1)."""

SCRATCH = register_mask((GPR, *range(GPR + 3, GPR + 13)))
"""General registers of which nobody but their user knows."""

STACK = SP
"""What is reached through it is in the cache."""

_MOVE = table(32, "big").find("or")
_WIDE = table(64, "big")
_STORES = frozenset(("stw", "std", "stfd", "stmw"))
_LOADS = frozenset(("lwz", "ld", "lfd", "lmw"))
_MANY = frozenset(("stmw", "lmw"))
_STEPS = frozenset(("stwu", "stdu"))
_FRAME = register_mask(
    (*range(GPR + 14, GPR + 32), *range(FPR + 14, FPR + 32), CR + 2, CR + 3, CR + 4, LR, SP)
)
"""What compilers keep in frames; LR and CR through a general register, mostly r0."""
_POINTERS = register_mask((SP, TOC))


def address(insn: Insn) -> tuple[int, int] | None:
    """Base register and displacement in bytes of a memory access; None where there is an index."""
    base = next((name for name in ("ra0", "ran") if insn.has(name)), None)
    distance = next((name for name in ("d", "ds", "dq") if insn.has(name)), None)
    if base is None or distance is None:
        return None
    return insn.operand(base), insn.operand(distance)


def move(source: int, target: int) -> Insn:
    """target = source."""
    return Insn(_MOVE, (target, source, source))


def linear(insn: Insn) -> tuple[int, int, int] | None:
    """(result, source, distance) when the result is a register plus a constant."""
    if insn.name in ("addi", "addis"):
        source, distance = insn.operand("ra0"), insn.operand("si")
        if source == ZERO:
            return None
        return insn.operand("rt"), source, distance << (16 if insn.name == "addis" else 0)
    if insn.name == "or" and copied(insn) is not None:
        return insn.operand("ra"), insn.operand("rs"), 0
    if insn.name == "ori" and insn.has("ui") and not insn.operand("ui"):
        return insn.operand("ra"), insn.operand("rs"), 0
    if insn.name in _STEPS and insn.operand("ran") == SP:
        return SP, SP, displacement_of(insn)
    return None


def whole(insn: Insn) -> tuple[int, int, bool] | None:
    """A mask of the registers, base and direction of what saves or restores all of them."""
    if insn.name not in _STORES | _LOADS or not insn.has("ra0"):
        return None
    first = insn.operands[0]
    last = GPR + 31 if insn.name in _MANY else first
    return register_mask(range(first, last + 1)), insn.operand("ra0"), insn.name in _STORES


def in_order(insn: Insn) -> bool:
    """Whether nothing may pass an instruction, though its operands would allow it.

    That is what unwind rows go by, what moves the stack pointer, however it is written, or makes
    r2, and what reads or writes special registers.
    """
    if insn.name in ("mtspr", "mfspr", "mftb"):
        return True
    said = whole(insn)
    if said is not None and (_FRAME | 1 << GPR) & said[0] and FRAME_BASES >> said[1] & 1:
        return True
    return insn.op.flow is Flow.NEXT and bool(_WIDE.defs(insn) & _POINTERS)
