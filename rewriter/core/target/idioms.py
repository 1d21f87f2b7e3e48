"""How a target says what passes and the verifier want: accesses, moves, and optional skills.

`Idioms` is what every target of sequential code has; the rest are capabilities of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rewriter.core.isa.instruction import Insn

if TYPE_CHECKING:
    from rewriter.core.target.cpu import Cpu
    from rewriter.core.target.protocol import Trigger


class Idioms(Protocol):
    """What all passes may ask."""

    @property
    def CELL_ACCESSES(self) -> frozenset[str]:
        """Rows that access the whole cell around an address, whatever its low bits."""
        ...

    @property
    def TRIGGERS(self) -> Mapping[str, tuple[Trigger, ...]]:
        """By pass, what a block with a site of it has one of; none where all blocks may have."""
        ...

    @property
    def FENCES(self) -> frozenset[str]:
        """Events that nothing passes in either direction."""
        ...

    @property
    def SCRATCH(self) -> int:
        """Registers of which nobody but their user knows, as a mask."""
        ...

    @property
    def STACK(self) -> int:
        """The register through which code reaches what is in the cache."""
        ...

    def address(self, insn: Insn) -> tuple[int, int] | None:
        """Base register and displacement in bytes of a memory access; None where it has others."""
        ...

    def move(self, source: int, target: int) -> Insn:
        """target = source."""
        ...


class NarrowMemory(Protocol):
    """The capability `narrow_memory`: code for chips without narrow accesses spells them out."""

    @property
    def CROSSING(self) -> frozenset[str]:
        """Rows that handle the part of an unaligned word beyond its cell."""
        ...

    def word_position(self, insn: Insn) -> tuple[int, int] | None:
        """What handles a word in its cell: the register with a position, and where the word is."""
        ...

    def needs_top_word(self, insn: Insn) -> bool:
        """Whether it handles a word only where `keeps_top_word` reads its result."""
        ...

    def keeps_top_word(self, insn: Insn) -> bool:
        """Whether it keeps the upper word of what it reads, and nothing else."""
        ...

    def narrow_load(self, size: int, target: int, base: int, displacement: int) -> Insn | None:
        """A zero-extending load of `size` bytes; None where there is none that reaches."""
        ...

    def narrow_store(
        self, size: int, source: int | None, base: int, displacement: int
    ) -> Insn | None:
        """A store of the low bytes of a register, or of zero for None; None where none reaches."""
        ...

    def sign_extend(self, size: int, source: int, target: int) -> Insn | None:
        """target = the low `size` bytes of source, sign-extended."""
        ...


class Step(NamedTuple):
    """One step of a search for a bit of x, from what the step before gave, with a literal or none.

    `trailing zeros`, `leading zeros` and `ones` count in the low `literal` bits, where the counts
    of zeros are that for zero; `not`, `and`, `or`, `xor`, `add`, `shift right`; `subtract from`
    the literal; `clear` the bits of x; `at zero`, where x is zero, the literal.
    """

    name: str
    literal: int | None = None


class BitCounting(Protocol):
    """The capability `bit_counting`: counts of bits, and what their results need.

    An instruction that some CPUs lack says so by its row.
    """

    @property
    def COUNTED(self) -> int:
        """The mask of the registers that steps may name."""
        ...

    def step(self, step: Step, x: int, held: int, target: int) -> Insn | None:
        """A step from `held` to `target`; x is in `x` still.  None where no instruction does it."""
        ...

    def sum(self, first: int, second: int, target: int) -> Insn:
        """target = first + second."""
        ...


@dataclass(frozen=True, slots=True)
class Chain:
    """What chains of instructions compute, and the fewer instructions that give the same.

    Such a chain ends in a row of `ends`, is made of `rows`, and has some of `spent`, all of which
    must go for it to pay.  `made` gives the new instructions for the result's register, those of
    the sources, and a number; each but the last writes what the next one reads, in the result's
    register.  Sources are `sources` registers of those in `reads`; `numbers` are what the number
    may be, None for the literals of the chain.  It is enough that the lowest `bits` agree, where
    no others are read later.

    Where the result is what a chain gives under a condition only, `unless` says of what it is; and
    `reversal` is for how many bytes it only turns their order.
    """

    kind: str
    made: Callable[[int, Sequence[int], int], tuple[Insn, ...]]
    ends: frozenset[str]
    rows: frozenset[str]
    spent: frozenset[str]
    reads: int
    sources: int
    bits: int
    numbers: Sequence[int] | None = (0,)
    unless: str = ""
    reversal: int = 0


class Combining(Protocol):
    """The capability `combining`: instructions that do what several did on older chips."""

    @property
    def chains(self) -> Sequence[Chain]:
        """What is computed from registers."""
        ...

    def reversing(self, insn: Insn, data: int, place: int | None) -> Insn | None:
        """The load or store of a register that goes where `insn` does, its bytes reversed.

        `place` is a register with the address, None for what `insn` has; None where there is none.
        """
        ...

    def sum(self, base: int, displacement: int, target: int) -> Insn | None:
        """target = base + displacement."""
        ...

    def displaced(self, insn: Insn, base: int, displacement: int) -> Insn | None:
        """The same access at a displacement from another register; None where it has none."""
        ...

    @property
    def EXCHANGES(self) -> frozenset[str]:
        """Rows that may exchange the halves of a vector."""
        ...

    def halves(self, register: int) -> tuple[int, ...]:
        """The registers of the two halves of the vector that one of them belongs to, or none."""
        ...

    def repeated(self, half: int, register: int) -> Insn | None:
        """A vector both of whose halves are a number; None where no instruction makes it."""
        ...

    def exchanging(self, insn: Insn, data: int) -> Insn | None:
        """The load or store of a vector where `insn` has one, in memory the other half first."""
        ...

    def exchanging_at(self, insn: Insn, data: int, base: int, displacement: int) -> Insn | None:
        """The same at a displacement from a register; None where it cannot be reached so."""
        ...


class Prefixing(Protocol):
    """The capability `prefixing`: instructions of two words, with numbers that took two."""

    @property
    def LINE(self) -> int:
        """Bytes of the aligned lines of which no such instruction is in two."""
        ...

    @property
    def FIRST(self) -> str:
        """The row that adds the upper part of a number."""
        ...

    def joined(self, first: Insn, second: Insn) -> Insn | None:
        """What does what two instructions do together, and leaves no other register than they.

        None where nothing does, or another register would keep what the first one made.
        """
        ...


class Choosing(Protocol):
    """The capability `choosing`: instructions that choose one of two values by a test."""

    @property
    def NAMES(self) -> frozenset[str]:
        """Their rows."""
        ...

    @property
    def BARRIERS(self) -> frozenset[str]:
        """Rows behind which loads wait for the branches before: no branch of such a function may
        go, as one may be there for that."""
        ...

    def chosen(self, branch: Insn, move: Insn) -> Insn | None:
        """What does what a move does that a branch leads over; None where nothing does."""
        ...

    def as_branch(self, insn: Insn) -> tuple[Insn, Insn] | None:
        """The branch to the next place, and the move behind it that it leads over.

        None of what is no such instruction, or chooses something new.
        """
        ...


class Testing(Protocol):
    """The capability `testing`: branches by the lowest bit of a register."""

    @property
    def BRANCHES(self) -> frozenset[str]:
        """Rows that branch by whether a register is zero."""
        ...

    @property
    def MASKS(self) -> frozenset[str]:
        """Rows that keep the bits of one register that another has."""
        ...

    def by_lowest(self, branch: Insn, register: int) -> Insn:
        """The branch to the same place where the lowest bit of a register alone may be set."""
        ...

    def shifted_down(self, source: int, count: int, target: int) -> Insn:
        """target = source, shifted right by a constant."""
        ...


class Joining(Protocol):
    """The capability `joining`: a wide load whose one half is at hand reads the other alone."""

    def joined(
        self, load: Insn, distance: int, known: int | None, source: int | None, spare: int | None
    ) -> tuple[Insn, ...] | None:
        """What gives the result of a load, one half of which is at hand.

        That half starts `distance` bytes from the load, and is `known` or in `source`; `spare` may
        be written.  None where there is no short way.
        """
        ...


class Hints(Protocol):
    """The capability `hints`: instructions that ask for a line and do nothing else."""

    @property
    def HINT_ALIGNMENT(self) -> int:
        """Bytes to which the address must be aligned, for the hints that need any."""
        ...

    @property
    def SPARES(self) -> int:
        """Registers of which a hint needs one for itself, as a mask; none where it needs none."""
        ...

    def hint(
        self, write: bool, aligned: bool, base: int, displacement: int, spare: int
    ) -> tuple[Insn, ...] | None:
        """Instructions of which the last asks for a line; None if that is too far.

        Those in front of it write `spare` alone.
        """
        ...

    def is_hint(self, insn: Insn) -> bool:
        """Whether it is one that asks for a line, as `hint` gives."""
        ...

    def stepped(self, insn: Insn) -> tuple[int, int] | None:
        """The base register that an access adds its displacement to, and that; None if it stays."""
        ...


class Completing(Protocol):
    """The capability `completing`: arithmetic that traps late, and that software completes.

    A handler finds such an instruction by going back from where the trap came, computes its result
    and goes on right behind it: what stands between, its shadow, is executed again.
    """

    def is_completed(self, insn: Insn) -> bool:
        """Whether software may have to complete it."""
        ...

    def is_barrier(self, insn: Insn) -> bool:
        """Whether all traps of what stands before it have come when it is executed."""
        ...


class ConditionalMoves(Protocol):
    """The capability `conditional_moves`: moves by a test that a branch can make as well."""

    @property
    def NOTHING(self) -> int:
        """A word that is no instruction on any CPU."""
        ...

    def is_conditional(self, insn: Insn) -> bool:
        """Whether it is a conditional move."""
        ...

    def branch(self, insn: Insn, distance: int, opposite: bool = False) -> Insn:
        """The branch with a conditional move's test, or the opposite one."""
        ...

    def moving(self, insn: Insn) -> Insn:
        """The plain move of what a conditional move may move."""
        ...

    def jump(self, distance: int) -> Insn:
        """A jump that leaves nothing in a register."""
        ...

    def is_jump(self, insn: Insn) -> bool:
        """Whether it is one that `jump` gives."""
        ...

    def conditional(self, test: Insn, move: Insn, opposite: bool) -> Insn | None:
        """The conditional move that a branch and a plain move are: what it does if it is taken.

        With `opposite`, if it is not.  None where they are something else.
        """
        ...

    def is_one(self, insn: Insn) -> bool:
        """Whether a conditional move puts one in its register, by whether a value is zero."""
        ...

    def saying(self, insn: Insn, compare: Insn) -> Insn | None:
        """The comparison, to the same register, that is one where a conditional move moves.

        It asks what `compare` says.  None where there is no such comparison.
        """
        ...

    def negated(self, insn: Insn) -> int | None:
        """The register of which an instruction takes the negative, if it does that."""
        ...

    def difference(self, insn: Insn, register: int) -> Insn:
        """What a conditional move tests, less a register, in the place of the conditional move."""
        ...


class Inverting(Protocol):
    """The capability `inverting`: conditional branches that have one with the opposite test."""

    def opposite(self, insn: Insn) -> Insn | None:
        """The branch as far that is taken where this one is not; None where there is none."""
        ...

    def jump(self, distance: int) -> Insn:
        """A jump that leaves nothing in a register."""
        ...


class WholeLines(Protocol):
    """The capability `whole_lines`: memory that will be stored is not read from memory before."""

    @property
    def LINE(self) -> int:
        """Bytes that are given up at once."""
        ...

    @property
    def NOTHING(self) -> int:
        """A word that is no instruction on any CPU."""
        ...

    def give_up(self, base: int) -> Insn:
        """What makes the line at an address ours, with any contents."""
        ...

    def given_up(self, insn: Insn) -> int | None:
        """The register with the address of the line that an instruction gives up."""
        ...

    def stepping(self, insn: Insn) -> tuple[int, int, int] | None:
        """(register, distance, bits) of what adds a number to a register, in so many bits."""
        ...

    def displaced(self, insn: Insn, base: int, distance: int) -> Insn | None:
        """An access farther from its base; None where that is too far or it has another."""
        ...

    def plus(self, source: int, distance: int, target: int) -> Insn | None:
        """target = source + distance; None where that is too far."""
        ...

    def low_bits(self, source: int, mask: int, target: int) -> Insn:
        """target = source & mask, of at most eight bits."""
        ...

    def difference(self, first: int, second: int, target: int, bits: int) -> Insn:
        """target = first - second, in so many bits."""
        ...

    def at_most(self, source: int, limit: int, target: int, signed: bool) -> Insn | None:
        """target = whether source is at most a number; None where that does not fit."""
        ...

    def branch(self, test: str, register: int, distance: int) -> Insn:
        """A branch by how a register compares with zero: eq, ne, lt, le, gt or ge."""
        ...

    def opposite(self, insn: Insn, distance: int) -> Insn | None:
        """The branch with the opposite test; None where there is none."""
        ...

    def jump(self, distance: int) -> Insn:
        """A jump that leaves nothing in a register."""
        ...

    def is_jump(self, insn: Insn) -> bool:
        """Whether it is one that `jump` gives."""
        ...


class Compared(NamedTuple):
    """A comparison of a register's lowest `bits` with a number: `flags` hold how it came out.

    With `signed` both are read with a sign.
    """

    flags: int
    register: int
    bits: int
    signed: bool
    number: int


class Comparing(Protocol):
    """The capability `comparing`: branches by how a register compared with a number."""

    def compared(self, insn: Insn) -> Compared | None:
        """What an instruction compares; of one with a result that it compares: that result."""
        ...

    def asked(self, insn: Insn) -> tuple[int, frozenset[int]] | None:
        """The flags by which alone a branch goes, and the orders at which it is taken.

        An order is -1 where the register was less, 0 where it was equal, 1 where it was greater.
        """
        ...


class Flushing(Protocol):
    """The capability `flushing`: blocks of caches are written back and forgotten one by one.

    New code reaches memory by a write of its block, a barrier, and the instruction cache forgetting
    the block, unless that cache sees what is stored.
    """

    @property
    def FLUSHES(self) -> frozenset[str]:
        """Rows that flush a block of a cache."""
        ...

    @property
    def BACK(self) -> frozenset[str]:
        """Rows that write a block of data to memory and do nothing else."""
        ...

    @property
    def FORGETS(self) -> frozenset[str]:
        """Rows by which the instruction cache forgets a block."""
        ...

    @property
    def COUNTER(self) -> int:
        """The register that branches count down."""
        ...

    def flushed(self, insn: Insn) -> int | None:
        """The register with the address of the block that an instruction flushes, if it is one."""
        ...

    def is_barrier(self, insn: Insn) -> bool:
        """Whether all that was flushed before an instruction is done behind it."""
        ...

    def counts_down(self, insn: Insn) -> bool | None:
        """Whether a branch that takes one off the counter is taken until nothing is left.

        False where it is taken when nothing is left, None of all others.
        """
        ...

    def plus(self, source: int, distance: int, target: int) -> Insn | None:
        """target = source + distance; None where that is too far."""
        ...

    def walked(self, register: int, count: int, bits: int) -> tuple[Insn, ...]:
        """register = register + (count << bits); in `count` is what was there, if it has room."""
        ...

    def leaving(self, distance: int) -> Insn:
        """The branch that takes one off the counter, and goes if nothing is left."""
        ...

    def again(self, distance: int) -> Insn:
        """The branch that takes one off the counter, and goes if something is left."""
        ...

    def block(self, cpu: Cpu, name: str) -> int | None:
        """How many bytes a row of this name flushes on a CPU; None where that is not known."""
        ...

    def sees_stores(self, cpu: Cpu) -> bool:
        """Whether instructions are fetched as they were last stored."""
        ...

    def taken(self, cpu: Cpu, insn: Insn) -> int | None:
        """For how many cycles an instruction takes the only pipe that does it; None of others."""
        ...

    def banked(self, cpu: Cpu, busy: int) -> Cpu | None:
        """A CPU whose stores take a bank of a cache for so many cycles; None where none has any."""
        ...
