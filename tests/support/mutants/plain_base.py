"""A file of plain code from which mutants are made: the original, or what tuning made of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rewriter.analysis.program import Program, listed
from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Function
from rewriter.core.errors import BadInput, RetuneError
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.cpu import Cpu
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image
from rewriter.elf.manifest import detach
from rewriter.verify.check import Verdict, verify
from rewriter.verify.routines.replaceable import Known
from rewriter.verify.terms.prover import Prover
from tests.support.mutants.changes import Change

WORD = 4
NEAR = 3
"""Instructions on either side of what was edited that count as near it."""


@dataclass(frozen=True)
class Shared:
    """What is known of the original once and for all, and the CPU that its mutants are for."""

    program: Program
    prover: Prover
    known: Known
    cpu: Cpu | None = None

    @classmethod
    def of(cls, program: Program) -> Shared:
        """Nothing proved yet."""
        return cls(program, Prover.of(program.target), Known(program))

    def verify(
        self,
        data: bytes,
        only: Collection[Function] | None = None,
        followed: frozenset[int] = frozenset(),
        like: Listing | None = None,
    ) -> Verdict:
        """What the verifier says of a file."""
        new = replace(self.program.image, data=data)
        return verify(
            self.program,
            new,
            _quietly,
            only,
            followed,
            self.prover,
            self.known,
            like=like,
            made_for=self.cpu,
        )


@dataclass(frozen=True)
class PlainBase:
    """A file that was accepted whole, and what is to be known of its text.

    A mutant differs from it within one function or outside all.  The verifier goes through each
    function by itself and reads no other one's bytes, so when only that function is compared the
    verdict is that of the whole file: what is compared for the whole file always is, and all other
    functions are byte for byte those that were accepted.  `grown` is the file with its own headers.
    """

    name: str
    shared: Shared
    data: bytes
    listing: Listing
    followed: frozenset[int]
    grown: Image

    @classmethod
    def original(cls, shared: Shared) -> PlainBase:
        """The original itself."""
        program = shared.program
        image = program.image
        return cls("original", shared, image.data, program.listing, frozenset(), image)

    @classmethod
    def tuned(cls, shared: Shared, grown: Image) -> PlainBase:
        """What became of it; what the verifier does not accept is no base."""
        bare, record = detach(grown.data)
        data = with_old_identity(shared.program.image, bare)
        shared = replace(shared, cpu=shared.program.target.cpus[record.cpu])
        verdict = shared.verify(data)
        if not verdict.ok:
            raise ValueError(f"the tuned file itself is refused: {verdict.findings[:3]}")
        program = shared.program
        listing = listed(replace(program.image, data=data), program.target, program.listing)
        return cls("tuned", shared, data, listing, verdict.followed, grown)

    @property
    def program(self) -> Program:
        """The original, analysed."""
        return self.shared.program

    def function_at(self, address: int) -> Function | None:
        """The function that an address is in."""
        return self.program.function_at(address)

    def insn(self, address: int) -> Insn | None:
        """The instruction at an address, None where none is."""
        if self.listing.has(address):
            return self.listing.insn(self.listing.index(address))
        try:  # new code that has room behind the text
            word = int.from_bytes(self.grown.read(address, WORD), self.grown.byteorder)
        except BadInput:
            return None
        return self.program.target.table.decode(word)

    @cached_property
    def edited(self) -> list[int]:
        """Positions at or near which the code is not the original's."""
        old = self.program.listing
        differs = np.flatnonzero(old.words != self.listing.words[: len(old)])
        near = (differs[:, None] + np.arange(-NEAR, NEAR + 1)).ravel()
        return np.unique(near.clip(0, len(old) - 1)).tolist()  # type: ignore[no-any-return]

    def changed(self, change: Change) -> bytes:
        """The file with a change."""
        at = self.program.image.offset_of(change.address)
        return self.data[:at] + change.code + self.data[at + len(change.code) :]

    def finding(self, change: Change) -> str:
        """Why the verifier refuses the file with a change; nothing where it accepts it."""
        places = [change.address, change.address + len(change.code) - WORD]
        places += self._excepted(change.address) if change.kind == "table" else []
        only = {one for one in map(self.program.function_at, places) if one is not None}
        try:
            verdict = self.shared.verify(self.changed(change), only, self.followed, self.listing)
        except RetuneError as error:
            return str(error) or type(error).__name__
        return verdict.findings[0] if verdict.findings else ""

    def _excepted(self, address: int) -> list[int]:
        """The access, and where it resumes, of the exception entry with a byte at an address."""
        size = self.program.target.tables.exceptions.size
        found = (
            one for one in self.program.fixups.values() if one.entry <= address < one.entry + size
        )
        return [place for one in found for place in (one.access, one.resume)]


def _quietly(stage: str, done: int, total: int) -> None:
    pass
