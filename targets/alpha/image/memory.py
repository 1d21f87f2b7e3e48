"""What shows on Alpha that an address is one of memory, where no device is.

Sources: Linux 6.1 arch/alpha/include/asm/io.h (devices are reached through functions of the
machine's vector, by LDBU, LDWU, LDL and LDQ and the stores like them; in sparse space by LDL),
include/asm/thread_info.h (the thread is in `t7`); Alpha Architecture Handbook v4, 4.2.3 (LDQ_U
and STQ_U, which leave the low bits of an address out) and 4.2.4 (load-locked, store-conditional:
of memory).
"""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import register_mask
from targets.alpha.image.pointers import is_nop
from targets.alpha.registers import GP, SP, T7, V0, ZERO

ALWAYS = register_mask((SP, GP, T7))
"""The stack, the kernel's shared data, the thread."""

RESULT = register_mask((V0,))

AROUND = 8192
"""Bytes beside memory where no device is: a page, which Linux leaves free behind each mapping."""

ALLOCATORS = frozenset({
    *("__kmalloc", "__kmalloc_node", "__kmalloc_node_track_caller", "kmalloc_large", "krealloc"),
    *("kmalloc_trace", "kmalloc_node_trace", "kmem_cache_alloc_trace", "kmalloc_order_trace"),
    *("kmem_cache_alloc", "kmem_cache_alloc_node", "kmem_cache_alloc_lru"),
    *("__get_free_pages", "get_zeroed_page", "alloc_pages_exact", "kvmalloc_node"),
    *("vmalloc", "vzalloc", "__vmalloc", "vmalloc_node", "vzalloc_node"),
    *("kmemdup", "kstrdup", "kstrndup", "memdup_user", "memdup_user_nul", "kvmemdup"),
    "memblock_alloc_try_nid",
})  # fmt: skip
"""Functions of Linux that return memory, an error's number, or nothing."""

_LOCKED = frozenset({"ldl_l", "ldq_l", "stl_c", "stq_c"})
_CELLS = frozenset({"ldq_u", "stq_u"})
_SCALED = frozenset({"s4addq", "s8addq"})
_NARROW = frozenset({
    *("addl", "subl", "mull", "s4addl", "s8addl", "s4subl", "s8subl"),
    *("ldl", "ldwu", "ldbu", "sextb", "sextw", "extbl", "extwl", "extll"),
    *("cmpeq", "cmplt", "cmple", "cmpult", "cmpule", "cmpbge", "ctpop", "ctlz", "cttz"),
})  # fmt: skip
_LONGWORD = 0x0F


def proves(insn: Insn) -> int | None:
    """The base of an access that no device allows, if it is one."""
    locked = insn.name in _LOCKED
    return insn.operand("rb") if locked or (insn.name in _CELLS and not is_nop(insn)) else None


def shared_word(insn: Insn) -> int | None:
    """How far from gp the word is that an instruction loads, if it does."""
    return insn.operand("disp") if insn.name == "ldq" and insn.operand("rb") == GP else None


def sums(insn: Insn) -> Sequence[tuple[int, int | None]]:
    """An address that the result would be in the object of, with the index that is added to it."""
    name, form = insn.name, insn.op.format.name
    if name in ("lda", "ldah"):
        return ((insn.operand("rb"), None),)
    if form == "operate literal":
        return ((insn.operand("ra"), None),) if name in ("addq", "subq") else ()
    if form != "operate":
        return ()
    a, b = insn.operand("ra"), insn.operand("rb")
    if name == "bis":
        return ((b, None),) if a == ZERO else ((a, None),) if b in (a, ZERO) else ()
    if name == "addq":
        return (a, b), (b, a)
    if name == "subq":
        return ((a, b),)
    return ((b, a),) if name in _SCALED else ()


def narrow(insn: Insn) -> bool:
    """Whether the result is a number of at most 32 bits, whatever is read."""
    if insn.name in ("lda", "ldah"):
        return insn.operand("rb") == ZERO
    literal = insn.operand("rb") if insn.op.format.name == "operate literal" else None
    if insn.name == "zapnot":
        return literal is not None and literal <= _LONGWORD
    return insn.name in _NARROW or (insn.name == "and" and literal is not None)
