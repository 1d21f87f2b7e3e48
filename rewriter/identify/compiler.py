"""Makes signatures from builds: from every function that is named after a contract."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from rewriter.core.errors import BadInput
from rewriter.core.isa.instruction import AWAY
from rewriter.core.isa.operands import Words
from rewriter.core.target.capability import either, needed
from rewriter.core.target.protocol import Sequential, Target
from rewriter.elf.archive.members import Part, parts
from rewriter.elf.archive.text import Text, read
from rewriter.elf.headers import printable
from rewriter.identify.bundled_signatures import BundledCompiler
from rewriter.identify.signatures import (
    NO_FILE,
    SHORTEST,
    File,
    Refused,
    Signature,
    Source,
    digest,
    start_of,
)
from rewriter.identify.symbols import contract_of
from targets import of_ident


@dataclass(frozen=True, slots=True)
class Compiled:
    """What one file gave; `functions` counts all that it has, known routines or not."""

    file: File
    signatures: tuple[Signature, ...]
    refused: tuple[Refused, ...]
    functions: int


_OWN = 2  # instructions that place and link leave alone: strcpy has no more before it jumps


class _Unusable(Exception):
    """Why a function gives no signature."""


def compile_file(
    data: bytes, name: str, target: Target, contracts: Collection[str], note: str = ""
) -> Compiled:
    """The signatures in a file: ELF of any type, `ar` archive, or Debian package; BadInput."""
    made = _compiler(target, contracts, name)
    compilers: dict[str, None] = {}
    for part in parts(data, name):
        compilers[made.add(part, name)] = None
    if not made.seen:
        raise BadInput(f"{name}: holds no code for {target.name}")
    compiler = "; ".join(text for text in compilers if text)
    file = File(_base(name), hashlib.sha256(data).hexdigest(), compiler, note)
    signatures = tuple(
        replace(s, sources=tuple(replace(source, file=file) for source in s.sources))
        for s in made.signatures
    )
    return Compiled(file, signatures, tuple(made.refused), made.functions)


def _compiler(target: Target, contracts: Collection[str], name: str) -> _Compiler | BundledCompiler:
    """What makes signatures of a target's code."""
    return either(
        target,
        "signatures",
        name,
        bundled=lambda code: BundledCompiler(code, contracts),
        sequential=lambda code: _Compiler(code, contracts),
    )


def _base(name: str) -> str:
    """A file's name without its folders, which differ between machines."""
    return printable(name.rpartition("/")[2])


class _Compiler:
    def __init__(self, target: Sequential, contracts: Collection[str]) -> None:
        self.target, self.contracts = target, contracts
        self.signatures: list[Signature] = []
        self.refused: list[Refused] = []
        self.functions = 0
        self.seen = False

    def add(self, part: Part, name: str) -> str:
        """Signatures of one ELF file; gives the compiler that it names."""
        found = read(part, name)
        if not self.target.fits(found.ident):
            return ""
        # One architecture may have machines of several widths and byte orders.
        self.target = needed(
            of_ident(found.ident, name).sequential, "signatures", self.target, name
        )
        self.seen = self.seen or bool(found.texts)
        size = self.target.table.size
        order = "<" if found.ident.byteorder == "little" else ">"
        for text in found.texts:
            content = text.data[: len(text.data) // size * size]
            words = np.frombuffer(content, dtype=f"{order}u{size}").astype(f"u{size}")
            for offset, symbol, contract in self._named(text):
                self._routine(part.inside, symbol, contract, _Routine(text, words, offset, size))
        return found.compiler

    def _named(self, text: Text) -> Iterator[tuple[int, str, str]]:
        """Each (offset, contract) once, under the first of its symbols."""
        self.functions += len({symbol.offset for symbol in text.symbols})
        done = set()
        for symbol in text.symbols:
            contract = contract_of(symbol.name, self.contracts)
            if contract is not None and (symbol.offset, contract) not in done:
                done.add((symbol.offset, contract))
                yield symbol.offset, symbol.name, contract

    def _routine(self, inside: str, symbol: str, contract: str, routine: _Routine) -> None:
        try:
            words = routine.words_of(self.target)
        except _Unusable as reason:
            self.refused.append(Refused(inside, printable(symbol), str(reason)))
            return
        self.signatures.append(
            Signature(
                contract,
                len(words),
                start_of(self.target.coarse(words)),
                digest(self.target.normal(words)),
                (Source(NO_FILE, inside, printable(symbol)),),
            )
        )


@dataclass(frozen=True, slots=True)
class _Routine:
    """A function in a text; `offset` and `size` (of a word) in bytes."""

    text: Text
    words: Words
    offset: int
    size: int

    def words_of(self, target: Sequential) -> Words:
        """The routine's own words, relocated fields made to lead out of it."""
        first = self.offset // self.size
        if self.offset % self.size:
            raise _Unusable("its address is not that of an instruction")
        last = self._last(target, first)
        words = self._code(target, self.words[first:last])
        if len(words) < SHORTEST:
            raise _Unusable(f"{len(words)} words are too few to tell it from others")
        linked = self._linked(target, words)
        own = np.flatnonzero(target.normal(linked) == linked) + first
        if sum(not self._is_nop(target, at) for at in own.tolist()) < _OWN:
            raise _Unusable("it does no more than go elsewhere")
        return linked

    def _code(self, target: Sequential, words: Words) -> Words:
        """The words without data behind them, which no branch leads over."""
        data = np.flatnonzero(target.table.classify(words.astype(np.uint64)) < 0)
        if not len(data):
            return words
        code = words[: data[0]]
        insns = [target.table.decode(int(word)) for word in code.tolist()]
        goals = (insn.target(at * self.size) for at, insn in enumerate(insns) if insn)
        over = any(g is not None and len(code) <= g // self.size < len(words) for g in goals)
        if over or not insns or insns[-1] is None or insns[-1].op.flow not in AWAY:
            raise _Unusable("data among its instructions")
        return code

    def _last(self, target: Sequential, first: int) -> int:
        """The position behind the routine: what it falls into is part of it, nop is not."""
        end = self._end(self.offset) // self.size
        while True:
            last = end
            while last > first and self._is_nop(target, last - 1):
                last -= 1
            insn = target.table.decode(int(self.words[last - 1])) if last > first else None
            falls = insn is None or insn.op.flow.falls
            if not falls or end >= len(self.words):
                return last
            at = bisect_left(self.text.bounds, end * self.size)
            if at == len(self.text.bounds):
                return last
            end = max(self._end(self.text.bounds[at]) // self.size, end + 1)

    def _end(self, offset: int) -> int:
        """Where the function at an offset ends: as its symbol says, or where the next one is."""
        size = max((s.size for s in self.text.symbols if s.offset == offset), default=0)
        if size:
            return min(offset + size, len(self.text.data))
        at = bisect_right(self.text.bounds, offset)
        return self.text.bounds[at] if at < len(self.text.bounds) else len(self.text.data)

    def _is_nop(self, target: Sequential, at: int) -> bool:
        insn = target.table.decode(int(self.words[at]))
        return insn is not None and target.is_nop(insn)

    def _linked(self, target: Sequential, words: Words) -> Words:
        """The normal form must not depend on what a linker will fill in."""
        begin, end = self.offset, self.offset + len(words) * self.size
        fields = [(at - begin, r_type) for at, r_type in self.text.fields if begin <= at < end]
        if not fields:
            return words
        filled = [words.copy(), words.copy()]
        for at, r_type in fields:
            mask = target.relocated_bits(r_type)
            if mask is None:
                raise _Unusable(f"relocation type {r_type} at {at:#x} is not understood")
            top = (mask + (mask & -mask)) >> 1
            for copy, bits in zip(filled, (top, mask ^ top), strict=True):
                copy[at // self.size] = int(copy[at // self.size]) & ~mask | bits
        one, two = (target.normal(copy) for copy in filled)
        if np.any(one != two):
            raise _Unusable("a relocation changes what its signature would be made of")
        return filled[0]
