"""Frame markers, and where the register stack lies in memory (SDM vol. 2, chapter 6)."""

from __future__ import annotations

from dataclasses import dataclass

WORD = 8
# Of 64 words of the backing store the last holds the NaT bits of the 63 registers before it.
GROUP, REGISTERS = 64, 63

_ROTATING_FLOATING, _ROTATING_PREDICATES = 96, 48
_STACKED = 96


@dataclass(slots=True, unsafe_hash=True)
class Frame:
    """The current frame marker: sizes, and how far each register file has rotated.

    `sof` registers in the frame, `sol` of them locals, `sor` of them rotate; a base of `rrb` says
    that the physical register behind logical register n is n + rrb, modulo the rotating ones.

    Nobody changes one; a class that sees to that takes twice as long to make one.
    """

    sof: int = 0
    sol: int = 0
    sor: int = 0
    rrb_gr: int = 0
    rrb_fr: int = 0
    rrb_pr: int = 0

    @classmethod
    def of(cls, value: int) -> Frame:
        """From the bits of CFM, or of PFS, where it is the previous frame's."""
        fields = ((0, 7), (7, 7), (14, 4), (18, 7), (25, 7), (32, 6))
        sof, sol, sor, *bases = (value >> low & (1 << width) - 1 for low, width in fields)
        return cls(sof, sol, 8 * sor, *bases)

    @property
    def value(self) -> int:
        """The bits of CFM."""
        bases = self.rrb_gr << 18 | self.rrb_fr << 25 | self.rrb_pr << 32
        return self.sof | self.sol << 7 | self.sor // 8 << 14 | bases

    @property
    def is_possible(self) -> bool:
        """Whether the sizes fit each other and the stacked registers."""
        return max(self.sol, self.sor) <= self.sof <= _STACKED

    def rotated(self) -> Frame:
        """After one more rotation: every base is one less."""
        return Frame(
            self.sof,
            self.sol,
            self.sor,
            (self.rrb_gr - 1) % self.sor if self.sor else 0,
            (self.rrb_fr - 1) % _ROTATING_FLOATING,
            (self.rrb_pr - 1) % _ROTATING_PREDICATES,
        )


def ordinal(address: int) -> int:
    """How many registers lie below a word of the backing store."""
    word = address // WORD
    return word - word // GROUP


def address_of(number: int) -> int:
    """Where the register with so many below it lies."""
    return WORD * (number + number // REGISTERS)


def collection(address: int) -> int:
    """Where the NaT bits of a register's group lie."""
    return address | (GROUP - 1) * WORD


def bit_of(address: int) -> int:
    """The bit of a collection, or of UNAT, that belongs to a word."""
    return address // WORD % GROUP
