"""Instructions of later PowerPCs that do what several did before, and what those computed.

Power ISA 3.1B, Book I: 3.3.9 (maddld, mods, modu), 3.3.14 (extswsli), 3.3.16 (brd, brw, brh),
3.3.19 (setbc), 3.3.5 (loads and stores with byte reversal), 7.6.1 (lxv, lxvd2x and their like),
1.6.3 and 3.3.2 (numbers of 34 bits behind a prefix).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.idioms import Chain
from targets.ppc.idioms import DISPLACED, address
from targets.ppc.isa import table
from targets.ppc.isa.features import wide
from targets.ppc.isa.formats import WORD
from targets.ppc.registers import CR, GENERAL, GPR, PART, VSR, ZERO

_FIELDS = register_mask(range(CR, CR + 8))
_VECTORS = range(VSR, VSR + 64)
_NEAR = range(-0x8000, 0x8000)
_QUADWORD = 16

_INSERTS = frozenset(("rlwimi", "rldimi"))
_ROTATES = _INSERTS | {"rlwinm", "rldicl", "rldicr", "rldic"}
_SHIFTS = _ROTATES | {"or", "and", "xor", "slw", "srw", "sld", "srd"}
_FLAGS = frozenset(("mfocrf", "mfcr", "rlwinm", "rldicl", "xori", "isel", "neg", "addi"))
_REVERSED = {
    **dict.fromkeys(("lhz", "lhzx"), "lhbrx"),
    **dict.fromkeys(("lwz", "lwzx"), "lwbrx"),
    **dict.fromkeys(("ld", "ldx"), "ldbrx"),
    **dict.fromkeys(("sth", "sthx"), "sthbrx"),
    **dict.fromkeys(("stw", "stwx"), "stwbrx"),
    **dict.fromkeys(("std", "stdx"), "stdbrx"),
}
_EXCHANGED = {"lxvd2x": ("lxvx", "lxv"), "stxvd2x": ("stxvx", "stxv")}
_UNDEFINED = "the divisor may be one for which quotient and rest are undefined"

Made = Callable[[int, Sequence[int], int], tuple[Insn, ...]]


class Combinations:
    """The capability `combining` for machines of so many bits and this order of bytes."""

    EXCHANGES = frozenset(("xxpermdi", "xxsldwi", "vsldoi"))

    def __init__(self, bits: int, byteorder: ByteOrder) -> None:
        self.bits, self._find = bits, table(bits, byteorder).find
        # lxvd2x has doubleword 0 first, lxvx what its machine has first (7.6.1.1).
        self._exchanges = bits == 64 and byteorder == "little"
        self.chains: Sequence[Chain] = tuple(self._chains())

    def _chains(self) -> Iterator[Chain]:
        if self.bits == 64:
            yield from self._arithmetic()
        yield from self._reversals()
        yield from self._flags()

    def _arithmetic(self) -> Iterator[Chain]:
        shifts, sums, rests = frozenset(("rldicr", "rldic")), frozenset(("add",)), {"subf"}
        yield Chain(
            "sign extension of a word and shift",
            *(self._numbered("extswsli"), shifts, frozenset(("extsw",)), frozenset(("extsw",))),
            *(GENERAL, 1, 64, None),
        )
        yield Chain(
            "product and sum",
            *(self._plain("maddld"), sums, frozenset(("mulld",)), frozenset(("mulld",))),
            *(GENERAL, 3, 64),
        )
        for divide, multiply, rest, bits in (
            ("divdu", "mulld", "modud", 64),
            ("divd", "mulld", "modsd", 64),
            ("divwu", "mullw", "moduw", 32),
            ("divw", "mullw", "modsw", 32),
        ):
            rows = frozenset((divide, multiply, "extsw"))
            yield Chain(
                f"rest of {divide}",
                *(self._plain(rest), frozenset(rests), rows, frozenset((divide,))),
                *(GENERAL, 2, bits),
                unless=_UNDEFINED,
            )

    def _reversals(self) -> Iterator[Chain]:
        ends = _INSERTS | {"rlwinm", "rldicl", "or"}
        for size, name in ((2, "brh"), (4, "brw"), (8, "brd")):
            if 8 * size <= self.bits:
                yield Chain(
                    f"{size} bytes in the other order",
                    *(self._plain(name), ends, _SHIFTS, _INSERTS),
                    *(GENERAL, 1, 8 * size),
                    reversal=size,
                )
        if self.bits == 64:
            # What is above the word is gone afterwards, which brw alone does not see to.
            yield Chain(
                "4 bytes in the other order",
                *(self._reversed_word, ends, _SHIFTS, _INSERTS),
                *(GENERAL, 1, 64),
            )

    def _flags(self) -> Iterator[Chain]:
        spent = frozenset(("mfocrf", "mfcr", "isel"))
        ends = _FLAGS - {"mfocrf", "mfcr", "addi"}
        for kind, name in (
            ("bit of a condition", "setbc"),
            ("no bit of a condition", "setbcr"),
            ("bit of a condition, negative", "setnbc"),
            ("no bit of a condition, negative", "setnbcr"),
        ):
            made = self._numbered(name)
            yield Chain(kind, made, ends, _FLAGS, spent, _FIELDS, 1, self.bits, range(4))
        made = self._plain("setb")
        yield Chain("order", made, ends, _FLAGS, spent, _FIELDS, 1, self.bits)

    def _plain(self, name: str) -> Made:
        """An instruction with a result and sources."""
        op = self._find(name)
        return lambda target, sources, _: (Insn(op, (target, *sources)),)

    def _numbered(self, name: str) -> Made:
        """One with a result, sources and a number."""
        op = self._find(name)
        return lambda target, sources, number: (Insn(op, (target, *sources, number)),)

    def _reversed_word(self, target: int, sources: Sequence[int], number: int) -> tuple[Insn, ...]:
        """brw, and the upper half cleared."""
        reversed_ = Insn(self._find("brw"), (target, *sources))
        return reversed_, Insn(self._find("rldicl"), (target, target, 0, 32))

    # Accesses -------------------------------------------------------------------------------

    def reversing(self, insn: Insn, data: int, place: int | None) -> Insn | None:
        """lwbrx and its like, which have an index."""
        name = _REVERSED.get(insn.name)
        if name is None:
            return None
        if place is not None:
            return Insn(self._find(name), (data, ZERO, place))
        if insn.has("rb"):
            return Insn(self._find(name), (data, insn.operand("ra0"), insn.operand("rb")))
        base, displacement = address(insn) or (ZERO, 0)
        fits = base != ZERO and displacement == 0
        return Insn(self._find(name), (data, ZERO, base)) if fits else None

    def sum(self, base: int, displacement: int, target: int) -> Insn | None:
        """addi."""
        if base == GPR or displacement not in _NEAR:
            return None
        return Insn(self._find("addi"), (target, base, displacement))

    def displaced(self, insn: Insn, base: int, displacement: int) -> Insn | None:
        """The same load or store at a displacement of 16 bits from another register.

        None where a store's base is what it stores.
        """
        if insn.name not in DISPLACED or base == GPR:
            return None
        if insn.has("rs") and insn.operand("rs") == insn.operand("ra0"):
            return None
        distance = "ds" if insn.has("ds") else "d"
        fits = displacement in _NEAR and (distance == "d" or displacement % WORD == 0)
        return insn.replace(**{"ra0": base, distance: displacement}) if fits else None

    def halves(self, register: int) -> tuple[int, ...]:
        """Doublewords 0 and 1."""
        first = register - PART if register - PART in _VECTORS else register
        return (first, first + PART) if self.bits == 64 and first in _VECTORS else ()

    def repeated(self, half: int, register: int) -> Insn | None:
        """xxspltib, of one byte."""
        byte = half & 0xFF
        fits = half == byte * 0x0101010101010101
        return Insn(self._find("xxspltib"), (register, byte)) if fits else None

    def exchanging(self, insn: Insn, data: int) -> Insn | None:
        """lxvx, stxvx."""
        if not self._exchanges or insn.name not in _EXCHANGED:
            return None
        return Insn(self._find(_EXCHANGED[insn.name][0]), (data, *insn.operands[1:]))

    def exchanging_at(self, insn: Insn, data: int, base: int, displacement: int) -> Insn | None:
        """lxv, stxv, of which the displacement is a multiple of sixteen."""
        fits = displacement in _NEAR and displacement % _QUADWORD == 0 and base != GPR
        if not self._exchanges or insn.name not in _EXCHANGED or not fits:
            return None
        op = self._find(_EXCHANGED[insn.name][1])
        values = {"dq": displacement, "ra0": base}
        return Insn(op, tuple(values.get(o.name, data) for o in op.format.operands))


_LOADS: Mapping[str, str] = MappingProxyType(
    {"lbz": "plbz", "lhz": "plhz", "lha": "plha", "lwz": "plwz", "lwa": "plwa", "ld": "pld"}
)


class Prefixes:
    """The capability `prefixing` for machines of 64 bits and this order of bytes.

    A prefix gives an instruction 34 bits for what has 16 without (1.6.3, 3.3.2).  The two words are
    one instruction, which must not be on both sides of a boundary of 64 bytes (1.6): it traps.
    """

    LINE = 64
    FIRST = "addis"
    NEEDS = wide("3.1")

    def __init__(self, byteorder: ByteOrder) -> None:
        self._find = table(64, byteorder).find

    def joined(self, first: Insn, second: Insn) -> Insn | None:
        """paddi, or a load of a general register with a prefix; the same register takes both."""
        if first.name != self.FIRST:
            return None
        target, base, upper = (first.operand(name) for name in ("rt", "ra0", "si"))
        if second.name == "addi" and second.operands[:2] == (target, target):
            return self._sum(target, base, (upper << 16) + second.operand("si"))
        if second.name == "ori" and second.operands[:2] == (target, target) and base == ZERO:
            return self._sum(target, base, (upper << 16) + second.operand("ui"))
        place = address(second) if second.name in _LOADS else None
        if place is None or not second.operand("rt") == place[0] == target:
            return None
        whole = (upper << 16) + place[1]
        return Insn(self._find(_LOADS[second.name], "rt,d34(ra0),0"), (target, whole, base))

    def _sum(self, target: int, base: int, number: int) -> Insn:
        return Insn(self._find("paddi", "rt,ra0,d34,0"), (target, base, number))
