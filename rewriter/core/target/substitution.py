"""What a target of bundled code offers, so that known routines can be replaced in a file.

Such a file often has no room but the places of the routines that are replaced.  Together these are
a pool: a new routine stands in any of them, and where the old one was entered control goes to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rewriter.contracts.contract import Arena, Case, Contract
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Words
from rewriter.core.target.protocol import Tuned

if TYPE_CHECKING:
    from rewriter.core.target.bundling import Code


@dataclass(frozen=True, slots=True)
class Room:
    """The place of a function whose work another routine does: [start, end).

    What fills up to the next function is of it.  `described` says whether an unwind entry covers
    it: where none does, unwinders take code for a leaf routine that keeps all registers.
    """

    function: Function
    end: int
    described: bool

    @property
    def start(self) -> int:
        """Where the function was entered."""
        return self.function.start

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start

    def holds(self, every: Iterable[PlacedRoutine]) -> list[PlacedRoutine]:
        """Those of some routines that stand in it, by address; several may stand for one."""
        inside = {one.address: one for one in every if self.start <= one.address < self.end}
        return [one for _, one in sorted(inside.items())]


@dataclass(frozen=True, slots=True)
class PlacedRoutine:
    """A tuned routine at an address."""

    address: int
    routine: Tuned

    @property
    def entry(self) -> int:
        """Where it is entered."""
        return self.address + self.routine.entry

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + len(self.routine.code)


class Step(Protocol):
    """A slot that control passed.

    `address` is the bundle's with the slot's number added; `on` the qualifying predicate; `access`
    the address of an access of `size` bytes; `target` where a taken branch goes.
    """

    @property
    def address(self) -> int: ...
    @property
    def insn(self) -> Insn: ...
    @property
    def stop(self) -> bool: ...
    @property
    def on(self) -> bool: ...
    @property
    def access(self) -> int | None: ...
    @property
    def size(self) -> int: ...
    @property
    def target(self) -> int | None: ...


class Width(Protocol):
    """How long a word is, in bytes."""

    @property
    def size(self) -> int: ...


class Spelled(Protocol):
    """What signatures ask of a target: its words, and what of them place and link leave alone."""

    @property
    def table(self) -> Width: ...
    def coarse(self, words: Words) -> Words: ...
    def normal(self, words: Words) -> Words: ...


class Harness(Protocol):
    """Runs routines of one file."""

    went: set[tuple[int, bool]]
    """The slots that all calls came to, each with its qualifying predicate; may be changed."""

    @property
    def result(self) -> int:
        """What the last call gave: the whole register."""
        ...

    def problem(self, entry: int, contract: Contract, case: Case) -> str:
        """What is wrong with one call of the routine at `entry`; empty when nothing is."""
        ...

    def steps(self, entry: int, case: Case) -> Sequence[Step]:
        """What a call that goes well does, as a timing model takes it."""
        ...


class Substituting(Protocol):
    """One target's answers; `code` is what it made of an image (`Bundling.code`)."""

    alignment: int
    signatures: Path
    spelling: Spelled
    arena: Arena

    def routines(self, name: str) -> Sequence[Tuned]:
        """The tuned routines that keep a contract, the best first.

        They may differ in what it leaves open.
        """
        ...

    def may_be_kernels(self, routine: Tuned) -> bool:
        """Whether a kernel may run a routine: it changes no register that kernels leave to
        programs."""
        ...

    def branch(self, at: int, to: int) -> bytes:
        """Code at `at` that does nothing but go to `to`; CannotMove where it cannot."""
        ...

    def idle(self, size: int) -> bytes:
        """Code that does nothing, for what nothing comes to."""
        ...

    def room(self, code: Code, function: Function) -> Room:
        """The place of a function; CannotMove says why nothing else may stand there."""
        ...

    def described(
        self, code: Code, room: Room, placed: Sequence[PlacedRoutine]
    ) -> dict[int, bytes]:
        """What of the unwind information must be how, when these routines stand in a room.

        By address, everything that may differ from the original; CannotMove where it cannot say
        so in the bytes that it has.
        """
        ...

    def harness(self, code: Code, parts: Sequence[tuple[int, bytes]]) -> Harness:
        """Runs routines of a file that is loaded as these parts, by address."""
        ...
