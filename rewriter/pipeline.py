"""The road, as one readable function: load, identify, lift, propose, prove, place, emit, check."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from passes import ORDER
from passes.technique import Technique
from passes.tune import Accepted, Refused, TunedWindow, tune_window
from rewriter.core.cpu import Cpu
from rewriter.core.edit import Edit, Skip
from rewriter.core.isa import Insn
from rewriter.core.program import Function, Refusal, Window
from rewriter.core.target import Target
from rewriter.elf.emit import Patch, difference
from rewriter.elf.image import Image
from rewriter.identify.program import Program, analyse
from rewriter.verify.prove import Prover

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Options:
    """What a user chooses.

    `passes` are names, in any order; `funcs` and `skip_funcs` are regular expressions that match
    whole function names (all functions when `funcs` is empty); `only` and `skip` are edit ids;
    `max_edits` keeps the first so many edits in address order.
    """

    passes: tuple[str, ...]
    funcs: tuple[str, ...] = ()
    skip_funcs: tuple[str, ...] = ()
    only: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    max_edits: int | None = None

    def wants_function(self, name: str) -> bool:
        """Whether a function may be edited."""
        if any(re.fullmatch(pattern, name) for pattern in self.skip_funcs):
            return False
        return not self.funcs or any(re.fullmatch(pattern, name) for pattern in self.funcs)

    def wants_edit(self, edit: str, made: int) -> bool:
        """Whether an edit may be made when `made` are there already."""
        if self.max_edits is not None and made >= self.max_edits:
            return False
        return edit not in self.skip and (not self.only or edit in self.only)


@dataclass(frozen=True)
class Tuned:
    """What the road gives: the new bytes (without a manifest) and what was done and left alone.

    `patches` are the changed bytes by file offset; `proofs` counts (asked, solved, by grade).
    """

    data: bytes
    cpu: Cpu
    options: Options
    edits: tuple[Edit, ...]
    skips: tuple[Skip, ...]
    refusals: tuple[Refusal, ...]
    patches: tuple[Patch, ...]
    functions: int
    instructions: int
    proofs: dict[str, int] = field(default_factory=dict)


def tune(image: Image, target: Target, cpu: Cpu, options: Options, progress: Progress) -> Tuned:
    """Tunes an image to a CPU; every edit is proved."""
    progress("analyse", 0, 1)
    program = analyse(image, target)
    progress("analyse", 1, 1)
    work = _Work(program, cpu, options, _techniques(options, cpu))
    work.run(progress)
    data = work.emit()
    return Tuned(
        data=data,
        cpu=cpu,
        options=options,
        edits=tuple(work.edits),
        skips=tuple(work.skips),
        refusals=tuple(work.refusals),
        patches=difference(image.data, data),
        functions=len(program.functions),
        instructions=len(program.listing),
        proofs=work.proofs(),
    )


def _techniques(options: Options, cpu: Cpu) -> tuple[Technique, ...]:
    return tuple(t for t in ORDER if t.name in options.passes and (not t.needs or t.needs & cpu.features))


@dataclass
class _Work:
    """The edits of one file as they are found."""

    program: Program
    cpu: Cpu
    options: Options
    techniques: tuple[Technique, ...]
    prover: Prover = field(init=False)
    edits: list[Edit] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    words: dict[int, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        target = self.program.target
        self.prover = Prover(target.granule * 8, target.granule)
        self.locked = self.program.locked()

    def run(self, progress: Progress) -> None:
        """Goes through every function that has a clue for some pass."""
        functions = self._with_clues()
        for done, (number, clues) in enumerate(functions):
            if done % 50 == 0:
                progress("prove", done, len(functions))
            self._function(number, clues)
        progress("prove", len(functions), len(functions))

    def _with_clues(self) -> list[tuple[int, list[int]]]:
        """Functions that the user wants, each with the positions that some pass asks to see."""
        graph, target = self.program.graph, self.program.target
        listing = graph.listing
        names = {n for t in self.techniques for n in target.spelling.CLUES.get(t.name, ())}
        rows = [n for n, op in enumerate(listing.table.rows) if op.name in names]
        stores = [n for n in rows if listing.table.effects(listing.table.rows[n]).stores]
        acts = listing.defs.any(axis=1) | np.isin(listing.rows, stores)  # the rest are fillers
        hits = np.flatnonzero(np.isin(listing.rows, rows) & acts)
        blocks = np.searchsorted(graph.first, hits, side="right") - 1
        owners = graph.function_of[blocks]
        found: dict[int, list[int]] = {}
        for owner, hit in zip(owners.tolist(), hits.tolist(), strict=True):
            if owner >= 0:
                found.setdefault(owner, []).append(hit)
        return [
            (number, clues)
            for number, clues in sorted(found.items())
            if self.options.wants_function(graph.functions[number].name)
        ]

    def _function(self, number: int, clues: Sequence[int]) -> None:
        function = self.program.graph.functions[number]
        reason = self.program.not_understood(function)
        if reason:
            self.refusals.append(Refusal(function, reason))
            return
        for window in self.program.windows(function):
            first, last = self.program.listing.span(window.address, window.end)
            if any(first <= clue < last for clue in clues):
                self._window(function, window)

    def _window(self, function: Function, window: Window) -> None:
        def chosen(technique: str, address: int) -> bool:
            return self.options.wants_edit(_id(technique, function, address), len(self.edits))

        tuned = tune_window(
            window, self.techniques, self.program.target, self.cpu, self.prover, chosen, self.locked
        )
        addresses = window.addresses()
        self.edits += [self._edit(function, addresses, a) for a in tuned.accepted]
        self.skips += [_skip(function, addresses, r) for r in tuned.refused]
        self._place(tuned, addresses)

    def _place(self, tuned: TunedWindow, addresses: Sequence[int]) -> None:
        """In place: every instruction that stays keeps its address, a dropped one becomes a filler."""
        target = self.program.target
        for address, old, new in zip(addresses, tuned.window.insns, tuned.slots, strict=True):
            if new is None:
                self.words[address] = b"".join(map(target.encode, target.fillers(old.size)))
            elif new is not old:
                self.words[address] = target.encode(new)

    def _edit(self, function: Function, addresses: Sequence[int], accepted: Accepted) -> Edit:
        text = self.program.target.table.text
        changed = [
            n for n, (a, b) in enumerate(zip(accepted.before, accepted.after, strict=True)) if a is not b
        ]
        address = addresses[accepted.rewrite.site]

        def lines(slots: Iterable[Insn | None]) -> str:
            return "; ".join(text(insn) for insn in slots if insn is not None)

        return Edit(
            id=_id(accepted.technique, function, address),
            technique=accepted.technique,
            kind=accepted.rewrite.kind,
            routine=function.name,
            address=address,
            old=lines(accepted.before[n] for n in changed),
            new=lines(accepted.after[n] for n in changed),
            evidence=accepted.evidence,
            gain=accepted.gain,
        )

    def emit(self) -> bytes:
        """The file with the changed words in it."""
        data = bytearray(self.program.image.data)
        for address, word in sorted(self.words.items()):
            offset = self.program.image.offset_of(address)
            data[offset : offset + len(word)] = word
        return bytes(data)

    def proofs(self) -> dict[str, int]:
        """How many equalities were asked for, how many patterns decided, and how."""
        grades = Counter(grade.value for grade in self.prover.decided.values())
        return {"asked": self.prover.asked, "patterns": self.prover.solved, **dict(sorted(grades.items()))}


def _id(technique: str, function: Function, address: int) -> str:
    return f"{technique}:{function.name}+{address - function.start:x}"


def _skip(function: Function, addresses: Sequence[int], refused: Refused) -> Skip:
    return Skip(
        refused.technique,
        refused.site.kind,
        function.name,
        addresses[refused.site.slot],
        refused.reason,
    )
