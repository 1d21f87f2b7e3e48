"""An IA-64 file from which mutants are made: the original, or what became of it by scheduling."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from rewriter.analysis.functions import find_functions
from rewriter.core.code.groups import Slot
from rewriter.core.code.program import Function
from rewriter.core.errors import BadInput, RetuneError
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image
from rewriter.elf.manifest import detach
from rewriter.verify.regions.check import Verdict, verify
from rewriter.verify.regions.proof import Regions
from rewriter.verify.routines.bundled_known import KnownBundled
from targets.ia64 import Ia64
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE
from tests.support.mutants.changes import Change


@dataclass(frozen=True)
class Shared:
    """What is known of the original once and for all."""

    known: KnownBundled
    prover: Regions

    @classmethod
    def of(cls, image: Image) -> Shared:
        """With what every comparison asks for, found before processes part."""
        target = Ia64()
        code = target.code(image, find_functions(image, target.described(image)))
        known = KnownBundled(image, target, code)
        _ = known.liveness, known.beyond
        return cls(known, Regions(target.proving))

    def verify(self, data: bytes, only: Collection[Function] | None = None) -> Verdict:
        """What the verifier says of a file."""
        new = replace(self.known.image, data=data)
        return verify(self.known, new, _quietly, only, self.prover)


@dataclass(frozen=True)
class Ia64Base:
    """A file that was accepted whole.

    A mutant differs from it in the bundles of one function, or of none.  The verifier looks at each
    function by itself, so when only that one is compared the verdict is that of the whole file:
    what is compared of the whole file always is, all other functions are byte for byte those that
    were accepted, and no routine was replaced (those are compared byte for byte).
    """

    name: str
    shared: Shared
    data: bytes

    @classmethod
    def original(cls, shared: Shared) -> Ia64Base:
        """The original itself."""
        return cls("original", shared, shared.known.image.data)

    @classmethod
    def tuned(cls, shared: Shared, grown: Image) -> Ia64Base:
        """What became of it; what the verifier does not accept is no base."""
        data = with_old_identity(shared.known.image, detach(grown.data)[0])
        verdict = shared.verify(data)
        if not verdict.ok:
            raise ValueError(f"the tuned file itself is refused: {verdict.findings[:3]}")
        return cls("tuned", shared, data)

    @property
    def image(self) -> Image:
        """The original."""
        return self.shared.known.image

    @cached_property
    def functions(self) -> list[Function]:
        """The functions that are whole bundles."""
        found = self.shared.known.code.functions
        return [
            f for f in found if f.start % BUNDLE == 0 and f.end % BUNDLE == 0 and f.end > f.start
        ]

    @cached_property
    def edited(self) -> list[Function]:
        """The functions with other bytes than the original."""
        old, found = self.image.data, []
        for function in self.functions:
            start = self.image.offset_of(function.start)
            there = slice(start, start + function.end - function.start)
            if old[there] != self.data[there]:
                found.append(function)
        return found

    def bundle(self, address: int) -> bytes:
        """The bytes of a bundle; nothing where none is."""
        try:
            at = self.image.offset_of(address)
        except BadInput:
            return b""
        return self.data[at : at + BUNDLE]

    def slots(self, address: int) -> list[Slot]:
        """The slots of a bundle; none where it holds no instructions."""
        raw = self.bundle(address)
        try:
            return list(bundles.straight(raw, address)) if len(raw) == BUNDLE else []
        except ValueError:
            return []

    def function_at(self, address: int) -> Function | None:
        """The function that a bundle is of."""
        return self._owners.get(address)

    @cached_property
    def _owners(self) -> dict[int, Function]:
        return {at: f for f in self.functions for at in range(f.start, f.end, BUNDLE)}

    def changed(self, change: Change) -> bytes:
        """The file with a change."""
        at = self.image.offset_of(change.address)
        return self.data[:at] + change.code + self.data[at + len(change.code) :]

    def finding(self, change: Change) -> str:
        """Why the verifier refuses the file with a change; nothing where it accepts it."""
        function = self.function_at(change.address)
        try:
            verdict = self.shared.verify(self.changed(change), {function} if function else set())
        except RetuneError as error:
            return str(error) or type(error).__name__
        return verdict.findings[0] if verdict.findings else ""


def _quietly(stage: str, done: int, total: int) -> None:
    pass
