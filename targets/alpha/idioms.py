"""How Alpha spells what passes want: narrow accesses, sign extension, moves, bit counts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.idioms import Step
from rewriter.core.target.protocol import Trigger
from targets.alpha.isa.rows import TABLE
from targets.alpha.registers import FZERO, SP, ZERO

_LOADS = {1: TABLE.find("ldbu"), 2: TABLE.find("ldwu")}
_STORES = {1: TABLE.find("stb"), 2: TABLE.find("stw")}
_SIGN = {1: TABLE.find("sextb", "unary"), 2: TABLE.find("sextw", "unary")}
_COUNTS = {
    Step("trailing zeros", 64): TABLE.find("cttz"),
    Step("leading zeros", 64): TABLE.find("ctlz"),
    Step("ones", 64): TABLE.find("ctpop"),
}
_OPERATES = {"and": "and", "or": "bis", "xor": "xor", "add": "addq", "shift right": "srl"}
_MOVE = TABLE.find("bis", "operate")
_LITERAL = "operate literal"

CROSSING = frozenset({"extwh", "inswh", "mskwh"})
"""What handles the part of an unaligned word beyond its quadword: its presence says "unaligned"."""

_WORDS = frozenset({"extwl", "inswl", "mskwl"})
_TOP_WORD = 48  # bits below a word that `extqh` has put at the top

CELL_ACCESSES = frozenset({"ldq_u", "stq_u"})

_TESTS = frozenset({"cmpeq", "cmpult", "cmpule", "cmoveq", "cmovne", "cmovlbs", "cmovlbc"})
"""What chooses a value by whether another, or some bits of it, are zero."""

BRANCHES, MASKS = frozenset({"beq", "bne"}), frozenset({"and"})
_BY_LOWEST = {"beq": TABLE.find("blbc"), "bne": TABLE.find("blbs")}

TRIGGERS = {
    "bytes": (
        Trigger(frozenset({"ldq_u", "stq_u", "sra"})),
        Trigger(frozenset({"zapnot"}), literals=frozenset({0x01, 0x03})),  # the low byte, or word
        Trigger(frozenset({"and"}), literals=frozenset({0xFF})),
    ),
    "bitscan": (Trigger(_TESTS, least=3),),
    "combine": (
        Trigger(MASKS),
        Trigger(frozenset({"cmoveq", "cmovne", "cmovlbs", "cmovlbc"}), literals=frozenset({1})),
    ),
    "replay": (Trigger(frozenset({"stl"})),),
    "prefetch": (),
}
"""Per pass, triggers of which a block with a site has at least one; none where all may have."""

NEEDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "bytes": frozenset({"BWX"}),
        "bitscan": frozenset({"CIX"}),
        # A shift takes the chips before the 21164 two cycles; these are later.
        "combine": frozenset({"BWX"}),
        # The chips on which a load without a result never traps are those that have WH64.
        "prefetch": frozenset({"WH64"}),
        # They are also those that split a conditional move in two.
        "cmov": frozenset({"WH64"}),
        "writehint": frozenset({"WH64"}),
    }
)
"""Per pass, features of which a CPU must have one; none where it may have any."""

FENCES = frozenset({"mb"})
"""Events that nothing passes in either direction (21264 Hardware Reference Manual, 2.12.1.1)."""

SCRATCH = register_mask((*range(9), *range(16, 26)))
"""Integer registers of which nobody but their user knows: no frame, link or global pointer."""

COUNTED = register_mask(range(ZERO))
"""What steps of a search for a bit may name: the integer registers."""

STACK = SP
"""What is reached through it is in the cache."""


def address(insn: Insn) -> tuple[int, int]:
    """Base register and displacement in bytes of a memory access."""
    return insn.operand("rb"), insn.operand("disp")


def word_position(insn: Insn) -> tuple[int, int] | None:
    """What handles a word in its quadword: the register with a position, and where the word is.

    A signed word comes by `extqh` from the position behind it; see `keeps_top_word`.
    """
    if insn.op.format.name == _LITERAL:
        return None
    if insn.name in _WORDS:
        return insn.operand("rb"), 0
    return (insn.operand("rb"), -2) if insn.name == "extqh" else None


def needs_top_word(insn: Insn) -> bool:
    """Whether it handles a word only where `keeps_top_word` reads its result."""
    return insn.name == "extqh"


def keeps_top_word(insn: Insn) -> bool:
    """Whether an instruction keeps the upper word of what it reads, and nothing else."""
    shifts = insn.name in ("sra", "srl") and insn.op.format.name == _LITERAL
    return shifts and insn.operand("rb") == _TOP_WORD


def narrow_load(size: int, target: int, base: int, displacement: int) -> Insn | None:
    """A zero-extending load; None where there is no such size or the displacement is too far."""
    if size not in _LOADS or not -0x8000 <= displacement < 0x8000:
        return None
    return Insn(_LOADS[size], (target, displacement, base))


def narrow_store(size: int, source: int | None, base: int, displacement: int) -> Insn | None:
    """A store of the low bytes of a register, or of zero for None."""
    if size not in _STORES or not -0x8000 <= displacement < 0x8000:
        return None
    return Insn(_STORES[size], (ZERO if source is None else source, displacement, base))


def sign_extend(size: int, source: int, target: int) -> Insn | None:
    """target = the low `size` bytes of source, sign-extended."""
    return Insn(_SIGN[size], (source, target)) if size in _SIGN else None


def shifted_down(source: int, count: int, target: int) -> Insn:
    """target = source, shifted right by a constant."""
    return immediate("srl", source, count, target)


def by_lowest(branch: Insn, register: int) -> Insn:
    """The branch to the same place where the lowest bit of a register alone may be set."""
    return Insn(_BY_LOWEST[branch.name], (register, branch.operand("target")))


def move(source: int, target: int) -> Insn:
    """target = source."""
    return Insn(_MOVE, (ZERO, source, target))


def step(step: Step, x: int, held: int, target: int) -> Insn | None:
    """A step of a search for a bit, from `held` to `target`; CMOVEQ changes what it is given."""
    name, literal = step
    if step in _COUNTS:
        return Insn(_COUNTS[step], (held, target))
    if name == "not":
        return Insn(TABLE.find("ornot", "operate"), (ZERO, held, target))
    if name == "clear":
        return Insn(TABLE.find("bic", "operate"), (held, x, target)) if x != held else None
    if name == "add" and literal is not None and literal < 0:
        return immediate("subq", held, -literal, target) if literal > -256 else None
    if literal is None or not 0 <= literal < 256:
        return None
    if name == "at zero":
        return immediate("cmoveq", x, literal, target) if x != held == target else None
    return immediate(_OPERATES[name], held, literal, target) if name in _OPERATES else None


def sum(first: int, second: int, target: int) -> Insn:
    """target = first + second."""
    return Insn(TABLE.find("addq", "operate"), (first, second, target))


def immediate(name: str, source: int, value: int, target: int) -> Insn:
    """target = source op value, for an operate instruction with an 8-bit literal."""
    return Insn(TABLE.find(name, _LITERAL), (source, value, target))


def joined(
    load: Insn, distance: int, known: int | None, source: int | None, spare: int | None
) -> tuple[Insn, ...] | None:
    """What gives the result of a quadword's load, one longword of which is at hand.

    That is the lower one where the load starts at it, the upper one where it starts 4 bytes
    before.  It is `known` or the low longword of `source`, and `spare` may be written; None where
    there is no short way.
    """
    result, displacement, base = load.operands
    other = displacement + 4 + distance
    if load.name != "ldq" or distance not in (0, -4) or other >= 0x8000:
        return None
    rest = Insn(TABLE.find("ldl"), (result, other, base))
    high = immediate("sll", result, 32, result)
    if distance == 0 and known is not None and 0 <= known < 0x8000:
        return (
            (rest, high, Insn(TABLE.find("lda"), (result, known, result)))
            if known
            else (rest, high)
        )
    if source is None or spare is None:
        return None
    both = Insn(TABLE.find("bis", "operate"), (result, spare, result))
    if distance == 0:
        return immediate("zapnot", source, _LONGWORD, spare), rest, high, both
    low = immediate("zapnot", result, _LONGWORD, result)
    return immediate("sll", source, 32, spare), rest, low, both


_LONGWORD = 0x0F  # the bytes of a longword, as a mask


def hint(
    write: bool, aligned: bool, base: int, displacement: int, spare: int
) -> tuple[Insn, ...] | None:
    """A load without a result, which asks for a line; None if the displacement is too far.

    To read it: LDL, or LDBU where the address is not known to be a longword's (a misaligned LDL
    would be left to PALcode).  To write it: LDS, which has no such form for bytes.
    """
    if not -0x8000 <= displacement < 0x8000:
        return None
    if write and aligned:
        return (Insn(TABLE.find("lds"), (FZERO, displacement, base)),)
    return (Insn(TABLE.find("ldl" if aligned else "ldbu"), (ZERO, displacement, base)),)


HINT_ALIGNMENT = 4
"""Bytes: a longword's, for the hints that need any."""

SPARES = 0
"""No register: a hint has a displacement."""


def is_hint(insn: Insn) -> bool:
    """Whether it is one that `hint` gives."""
    return (insn.name, *insn.operands[:1]) in _HINTS


def stepped(insn: Insn) -> tuple[int, int] | None:
    """No access moves its base."""
    return None


_HINTS = frozenset({("ldl", ZERO), ("ldbu", ZERO), ("lds", FZERO)})


def linear(insn: Insn) -> tuple[int, int, int] | None:
    """(result, source, distance) when the result is a register plus a constant."""
    if insn.name == "lda":
        result, source, distance = insn.operand("ra"), insn.operand("rb"), insn.operand("disp")
    elif insn.name == "bis" and insn.op.format.name == "operate" and insn.operand("ra") == ZERO:
        result, source, distance = insn.operand("rc"), insn.operand("rb"), 0
    elif insn.name in _STEPS and insn.op.format.name == _LITERAL:
        sign = _STEPS[insn.name]
        result, source, distance = insn.operand("rc"), insn.operand("ra"), sign * insn.operand("rb")
    else:
        return None
    return None if ZERO in (result, source) else (result, source, distance)


_STEPS = {"addq": +1, "subq": -1}
