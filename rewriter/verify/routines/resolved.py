"""What resolvers of IFUNC symbols pick on a CPU, found by running them.

A loader calls a resolver once and takes what it returns for the routine.  It decides by words that
the loader keeps of the machine, in its own data: which of its loads are of these, runs with zeros
in that data show, where the target says in which order they stand.  A resolver that reads anything
else, or calls for it, is not understood, and nothing is said of its symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rewriter.contracts import CONTRACTS
from rewriter.core.readings.interpret import (
    AccessFault,
    BadInstruction,
    Interpreter,
    LimitReached,
    Memory,
    Step,
    Unspecified,
)
from rewriter.core.target.capability import trials_of
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Resolving, Sequential
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image
from rewriter.elf.linking import STT_GNU_IFUNC
from rewriter.identify.symbols import contract_of
from rewriter.identify.trusted import trusts_names
from rewriter.verify.trials.image import code_of

_RETURN = 0x10  # where nothing is
_LIMIT = 2_000  # instructions
_LARGEST = 1 << 28  # bytes of memory that a file may want
_DATA, _STACK = 0x1000, 0x1000  # bytes of the loader's data, and of stack
_STOPS = (AccessFault, BadInstruction, LimitReached, Unspecified)


@dataclass(frozen=True, slots=True)
class Variant:
    """A routine that the resolver of a symbol picks on some CPUs, which are named."""

    contract: str
    address: int
    cpus: frozenset[str]


def variants(image: Image, target: Sequential) -> tuple[Variant, ...]:
    """The variants of routines with a contract, by address; none where symbols may mean else."""
    resolving = target.resolving
    loads = [s for s in image.segments if s.p_type == PT_LOAD]
    if resolving is None or not trusts_names(image) or sum(s.p_memsz for s in loads) > _LARGEST:
        return ()
    resolvers = _resolvers(image)
    if not resolvers:
        return ()
    runs = _Runs(image, target, resolving)
    return tuple(sorted(runs.variants(resolvers), key=lambda one: (one.address, one.contract)))


def picked(image: Image, target: Sequential, contract: str, cpu: Cpu) -> int | None:
    """The variant that is picked on a CPU; None where that is not known."""
    found = (one for one in variants(image, target) if one.contract == contract)
    return next((one.address for one in found if cpu.name in one.cpus), None)


def behind(image: Image, target: Sequential, name: str) -> tuple[Variant, ...]:
    """What the resolver of a symbol picks; nothing where it has none, or is not understood."""
    names = {s.name.partition("@")[0] for s in image.symbols if s.st_type == STT_GNU_IFUNC}
    contract = contract_of(name, CONTRACTS) if name in names else None
    return tuple(v for v in variants(image, target) if v.contract == contract) if contract else ()


def _resolvers(image: Image) -> dict[str, int]:
    """By contract, the symbol's value of each resolver."""
    found: dict[str, int] = {}
    for symbol in image.symbols:
        contract = contract_of(symbol.name, CONTRACTS)
        if symbol.st_type == STT_GNU_IFUNC and symbol.st_shndx and contract is not None:
            found.setdefault(contract, symbol.st_value)
    return found


class _Runs:
    """Runs the resolvers of one image."""

    def __init__(self, image: Image, target: Sequential, resolving: Resolving) -> None:
        self._image, self._target, self._resolving = image, target, resolving
        self._base, self._outside = target.arena.image, target.arena.outside
        others = [r for r in image.relocations if r.symbol and r.added is None]
        self._theirs = {r.r_offset for r in others if r.symbol == resolving.symbol}
        code = code_of(
            image, image.name, 0, self._base, target.relocated, outside=target.arena.outside
        )
        self._memory = Memory()
        for start, data in code.parts:
            self._memory.map(start, data, write=False)
        for relocation in others:  # other symbols are nowhere
            if relocation.r_offset not in self._theirs:
                self._clear(relocation.r_offset)
        trials = trials_of(target)
        self._linkage = trials.program("standard").linkage
        self._stack = self._outside + 2 * _DATA
        self._memory.map(self._stack, 2 * _STACK, execute=False)
        self._memory.map(self._outside, _DATA, write=False, execute=False)
        self._interpreter = Interpreter(target.table, self._memory, opaque=trials.arithmetic.answer)

    def _clear(self, place: int) -> None:
        size = self._image.bits // 8
        region = self._memory.region(self._base + place, size)
        if region is not None:
            at = self._base + place - region.start
            region.data[at : at + size] = bytes(size)

    def variants(self, resolvers: Mapping[str, int]) -> Iterator[Variant]:
        """What each picks on the target's CPUs."""
        word = self._image.bits // 8
        self._map({})
        places, understood = set[int](), dict[str, int]()
        for contract, value in resolvers.items():
            steps = self._run(value)
            if steps is not None:
                understood[contract] = value
                places |= {at for at, size in self._read(steps) if size == word}
        every, baseline = self._target.cpus.values(), self._target.baseline
        cpus = [cpu for cpu in every if baseline <= cpu.features]
        if len(places) != len(self._resolving.words(cpus[0])):
            return
        found: dict[tuple[str, int], set[str]] = {}
        for cpu in cpus:
            words = dict(zip(sorted(places), self._resolving.words(cpu), strict=True))
            for contract, value in understood.items():
                address = self._picked(cpu, value, words)
                if address is not None:
                    found.setdefault((contract, address), set()).add(cpu.name)
        for (contract, address), names in found.items():
            if self._image.is_mapped(address):
                yield Variant(contract, address, frozenset(names))

    def _picked(self, cpu: Cpu, value: int, words: Mapping[int, int]) -> int | None:
        """What a resolver picks; where it reads half a word, it asks for the cache's block."""
        halves, size = set[int](), self._image.bits // 16
        block = trials_of(self._target).world(cpu).word or 0
        while True:
            self._map(words)
            for place in halves:
                self._put(place, block, size)
            steps = self._run(value)
            if steps is None:
                return None
            asked = {at for at, read in self._read(steps) if read == size}
            if asked <= halves:
                return self._result()
            halves |= asked

    def _read(self, steps: Iterable[Step]) -> Iterator[tuple[int, int]]:
        """Offset and size of each load of the loader's data."""
        for step in steps:
            if step.access is not None and 0 <= step.access - self._outside < _DATA:
                yield step.access - self._outside, step.size

    def _map(self, words: Mapping[int, int]) -> None:
        """The loader's data, with these words at these places."""
        region = self._memory.region(self._outside, _DATA)
        assert region is not None
        region.data[:] = bytes(_DATA)
        for place, value in words.items():
            self._put(place, value, self._image.bits // 8)

    def _put(self, place: int, value: int, size: int) -> None:
        region = self._memory.region(self._outside, _DATA)
        assert region is not None
        region.data[place : place + size] = value.to_bytes(size, self._image.byteorder)

    def _run(self, value: int) -> list[Step] | None:
        """What the resolver of a symbol with this value does; None where that is not known."""
        entry, shared = self._descriptor(self._base + value)
        linkage, registers = self._linkage, self._interpreter.registers
        registers.update(dict.fromkeys((*linkage.arguments, linkage.shared), 0))
        registers[linkage.shared] = shared
        registers[linkage.stack] = self._stack + _STACK
        registers[linkage.link], registers[linkage.entry] = _RETURN, entry
        try:
            return self._interpreter.run(entry, _RETURN, _LIMIT)
        except _STOPS:
            return None

    def _result(self) -> int:
        """The address of the code that was picked, in the image."""
        code, _ = self._descriptor(self._interpreter.registers[self._linkage.result])
        return code - self._base

    def _descriptor(self, place: int) -> tuple[int, int]:
        """The code and the pointer to its data that an address of a function stands for."""
        if place - self._base not in self._image.descriptors.addresses:
            return place, 0
        size, order = self._image.bits // 8, self._image.byteorder
        data = self._memory.read(place, 2 * size)
        return int.from_bytes(data[:size], order), int.from_bytes(data[size:], order)
