"""Wrong changes in a tuned file, in places that tuning changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rewriter.analysis.program import Program
from rewriter.core.code.program import Function, JumpTable
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import Reg
from rewriter.elf.image import Image
from rewriter.elf.unwind import entries, lsda, rows
from rewriter.verify.owners import changed_offsets
from rewriter.verify.range_check import RangeTables
from rewriter.verify.terms.prover import Prover
from rewriter.verify.walk.function import Walk
from rewriter.verify.walk.insn_classes import Kinds
from rewriter.verify.walk.pairs import Compared, Pair, plainly
from rewriter.verify.walk.segments import Segment
from targets.alpha.registers import GP
from tests.support.mutants.random_runs import Code, Start, World, literals_of
from tests.verification.mutants.run_oracle import SEEDS, Oracle

OTHER_OP = {
    "ldbu": "ldwu", "ldwu": "ldbu", "stb": "stw", "stw": "stb",
    "sextb": "sextw", "sextw": "sextb", "cttz": "ctlz", "ctlz": "cttz", "ctpop": "cttz",
    "addq": "subq", "subq": "addq", "addl": "subl", "subl": "addl", "and": "bic", "bis": "xor",
    "cmpult": "cmpule", "cmplt": "cmple", "s4addq": "s8addq", "s8addq": "s4addq", "srl": "sra",
    "ldl": "ldq", "ldq": "ldl", "stl": "stq", "stq": "stl", "lda": "ldah",
    "beq": "bne", "bne": "beq", "blt": "bge", "bge": "blt", "blbs": "blbc", "blbc": "blbs",
}  # fmt: skip


class Recorder(Walk):
    """Walks without proving, and keeps what it walked."""

    def run(self) -> None:
        self.walked: list[tuple[Pair, Segment, Segment]] = []
        super().run()

    def _segments(self, pair: Pair) -> list[Pair]:
        following = super()._segments(pair)
        old = self.old_code.by_blocks(pair.old)
        self.walked.append((pair, old, self.new_code.by_transfers(pair.new, len(old.exits))))
        return following

    def _compared(self, pair: Pair, old: Segment, new: Segment) -> Compared:
        return plainly(old, new)


@dataclass
class Bench:
    """The original, the tuned file without its note, and parts of it."""

    program: Program
    right: bytes
    _walks: dict[Function, Recorder] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tuned: Image = replace(self.program.image, data=self.right)
        self.listing = self.program.target.listing(self.tuned)
        self.frames = {frame.start: frame for frame in entries.frames(self.tuned)}
        self.changed = changed_offsets(self.program.image.data, self.right)

    def changed_functions(self) -> list[Function]:
        """Functions with other bytes that can be followed."""
        old, image = self.program.image.data, self.program.image
        found = []
        for function in self.program.functions:
            at = image.offset_of(function.start)
            end = at + function.end - function.start
            if old[at:end] != self.right[at:end] and not self.program.not_understood(function):
                found.append(function)
        return found

    def parts(self, function: Function) -> list[tuple[int, int]]:
        """File ranges [start, end) of a function: its code, jump tables and unwind rows."""
        image, size = self.program.image, function.end - function.start
        places = [(image.offset_of(function.start), size)]
        for table in self.tables(function):
            places.append((image.offset_of(table.address), table.size * len(table.targets)))
        frame = self.program.frames.get(function.start)
        found = [(at, at + size) for at, size in places]
        if frame is None:
            return found
        fields = [field for record in lsda.records(image, frame) for field in record.fields]
        return [*found, frame.instructions, *((f.offset, f.offset + f.size) for f in fields)]

    def tables(self, function: Function) -> list[JumpTable]:
        """The function's jump tables whose length is known."""
        return [table for table in self.program.tables_of(function) if table.exact]

    def only(self, functions: Iterable[Function]) -> bytearray:
        """The original with these functions tuned."""
        data = bytearray(self.program.image.data)
        for function in functions:
            for start, end in self.parts(function):
                data[start:end] = self.right[start:end]
        return data

    def walk(self, function: Function) -> Recorder:
        """What corresponds in a function of both files."""
        if function not in self._walks:
            target = self.program.target
            prover = Prover.of(target)
            locked, kinds = self.program.locked_addresses, Kinds(target)
            ranges = RangeTables(self.program, self.tuned, self.frames, self.changed)
            walk = Recorder(self.program, self.tuned, self.listing, function, prover, locked, kinds)
            if ranges.has_changed(function):
                walk.ways = ranges.ways
            walk.led = ranges.pads(function)
            walk.run()
            assert not walk.findings, walk.findings
            self._walks[function] = walk
        return self._walks[function]

    def pairs_through(self, function: Function, address: int) -> list[Pair]:
        """Pairs from which the tuned code runs straight through an address."""
        return [pair for pair, _, new in self.walk(function).walked if address in new.addresses]


@dataclass(frozen=True)
class Mutant:
    """One wrong change of the tuned file: `new` in place of what is there at a file offset."""

    kind: str
    function: Function
    offset: int
    new: bytes
    what: str

    def apply(self, data: bytearray) -> None:
        """Makes the change."""
        data[self.offset : self.offset + len(self.new)] = self.new


@dataclass
class Maker:
    """Makes random changes of each kind in places that tuning changed."""

    bench: Bench
    draw: random.Random

    def __post_init__(self) -> None:
        self.target = self.bench.program.target
        self.table = self.target.table
        self.image = self.bench.program.image

    def make(self, kind: str, function: Function) -> Mutant | None:
        """A mutant of the kind, or nothing where the function has no place for one."""
        return getattr(self, f"_{kind}")(function)

    def _places(self, function: Function, wanted: Callable[[Insn], bool]) -> list[tuple[int, Insn]]:
        """Walked instructions that differ from what the original has there; edits first of all."""
        old = self.image.data
        found = []
        for address in sorted(self.bench.walk(function).visited):
            at = self.image.offset_of(address)
            insn = Code(self.bench.program, function, self.bench.right).insn(address)
            if insn is None or self.target.is_nop(insn) or not wanted(insn):
                continue
            if old[at : at + 4] != self.bench.right[at : at + 4]:
                found.append((address, insn))
        edited = [place for place in found if place[1].op.needs]
        return edited if edited and self.draw.random() < 0.7 else found

    def _text(
        self,
        kind: str,
        function: Function,
        wanted: Callable[[Insn], bool],
        change: Callable[[int, Insn], Insn | None],
    ) -> Mutant | None:
        places = self._places(function, wanted)
        if not places:
            return None
        address, insn = self.draw.choice(places)
        other = change(address, insn)
        if other is None or other == insn:
            return None
        text = f"{self.table.text(insn, address)} -> {self.table.text(other, address)}"
        at = self.image.offset_of(address)
        return Mutant(kind, function, at, self.target.encode(other), f"{address:#x}: {text}")

    def _operand(self, insn: Insn, kind: Kind, width: int | None = None) -> int | None:
        """The position of a random operand of a kind."""
        operands = enumerate(insn.op.format.operands)
        found = [n for n, o in operands if o.kind is kind and width in (None, o.width)]
        return self.draw.choice(found) if found else None

    def _with(self, insn: Insn, position: int | None, value: int) -> Insn | None:
        if position is None:
            return None
        operands = (*insn.operands[:position], value, *insn.operands[position + 1 :])
        try:
            self.table.encode(Insn(insn.op, operands))
        except ValueError:
            return None
        return Insn(insn.op, operands)

    def _register(self, function: Function) -> Mutant | None:
        def change(_: int, insn: Insn) -> Insn | None:
            at = self._operand(insn, Kind.REGISTER)
            base = 0 if at is None else insn.op.format.operands[at].base
            return self._with(insn, at, Reg(base + self.draw.randrange(32)))

        return self._text("register", function, lambda insn: insn.op.flow is Flow.NEXT, change)

    def _displacement(self, function: Function) -> Mutant | None:
        def change(_: int, insn: Insn) -> Insn | None:
            step = self.draw.choice((-8, -4, -2, -1, 1, 2, 4, 8, 16, 256))
            return insn.replace(disp=insn.operand("disp") + step)

        def fits(insn: Insn) -> bool:
            return insn.has("disp") and abs(insn.operand("disp")) < 0x7000

        return self._text("displacement", function, fits, change)

    def _dropped(self, function: Function) -> Mutant | None:
        nop = next(iter(self.target.nops(4)))
        return self._text(
            "dropped", function, lambda insn: insn.op.flow is Flow.NEXT, lambda *_: nop
        )

    def _swapped(self, function: Function) -> Mutant | None:
        def change(_: int, insn: Insn) -> Insn | None:
            kinds = [n for n, o in enumerate(insn.op.format.operands) if o.kind is Kind.REGISTER]
            one, other = self.draw.sample(kinds, 2)
            values = list(insn.operands)
            values[one], values[other] = values[other], values[one]
            return Insn(insn.op, tuple(values))

        def two(insn: Insn) -> bool:
            kinds = {(o.kind, o.base) for o in insn.op.format.operands}
            registers = [o for o in insn.op.format.operands if o.kind is Kind.REGISTER]
            return insn.op.flow is Flow.NEXT and len(registers) > 1 and len(kinds) <= 2

        return self._text("swapped", function, two, change)

    def _opcode(self, function: Function) -> Mutant | None:
        def change(_: int, insn: Insn) -> Insn | None:
            return Insn(self.table.find(OTHER_OP[insn.name], insn.op.format.name), insn.operands)

        return self._text("opcode", function, lambda insn: insn.name in OTHER_OP, change)

    def _literal(self, function: Function) -> Mutant | None:
        def change(_: int, insn: Insn) -> Insn | None:
            at = self._operand(insn, Kind.IMMEDIATE, 8)
            assert at is not None
            flipped = insn.operands[at] ^ 1 << self.draw.randrange(8)
            return self._with(insn, at, flipped)

        return self._text("literal", function, lambda i: "literal" in i.op.format.name, change)

    def _branch(self, function: Function) -> Mutant | None:
        def change(_: int, insn: Insn) -> Insn | None:
            step = 4 * self.draw.choice((-8, -4, -3, -2, -1, 1, 2, 3, 4, 8))
            return insn.replace(target=insn.operand("target") + step)

        flows = (Flow.BRANCH, Flow.JUMP)
        return self._text("branch", function, lambda insn: insn.op.flow in flows, change)

    def _gp(self, function: Function) -> Mutant | None:
        def change(_: int, insn: Insn) -> Insn | None:
            step = self.draw.choice((-0x8000, -16, -8, -4, 4, 8, 16, 1))
            step = step if insn.name == "lda" else self.draw.choice((-1, 1))
            return self._with(insn, 1, insn.operand("disp") + step)

        def half(insn: Insn) -> bool:
            return insn.name in ("lda", "ldah") and insn.operand("ra") == GP

        return self._text("gp", function, half, change)

    def _table(self, function: Function) -> Mutant | None:
        tables = self.bench.tables(function)
        if not tables:
            return None
        table = self.draw.choice(tables)
        entry = self.draw.randrange(len(table.targets))
        at = self.image.offset_of(table.address) + table.size * entry
        right = self.bench.right[at : at + table.size]
        if right == self.image.data[at : at + table.size]:
            return None
        value = int.from_bytes(right, "little", signed=True)
        value += 4 * self.draw.choice((-12, -4, -2, -1, 1, 2, 4, 12))
        new = value.to_bytes(table.size, "little", signed=True)
        return Mutant("table", function, at, new, f"entry {entry} of {table.address:#x}")

    def _unwind(self, function: Function) -> Mutant | None:
        """Another delta, or (one time in four) the row where the original has it."""
        frame = self.bench.program.frames.get(function.start)
        old = self.image.data
        if frame is None:
            return None
        moved = [
            advance
            for advance in rows.advances(replace(frame, image=self.bench.tuned))
            if advance.bits <= 8 and old[advance.offset] != self.bench.right[advance.offset]
        ]
        if not moved:
            return None
        advance = self.draw.choice(moved)
        byte = self.bench.right[advance.offset]
        if self.draw.random() < 0.25:
            new = old[advance.offset]
        else:
            low = (1 << advance.bits) - 1
            new = byte & ~low | (byte + self.draw.choice((-4, -3, -2, -1, 1, 2, 3, 4))) & low
        what = f"advance at offset {advance.offset:#x}: {byte:#x} -> {new:#x}"
        return Mutant("unwind", function, advance.offset, bytes((new,)), what)


def is_wrong(bench: Bench, oracle: Oracle, mutant: Mutant) -> str:
    """What the oracle has against a mutant."""
    changed = bytearray(bench.right)
    mutant.apply(changed)
    if bytes(changed) == bench.right:
        return ""
    function, right = mutant.function, bench.right
    if mutant.kind == "unwind":
        return oracle.unwinds_wrong(function, right, bytes(changed))
    if mutant.kind == "table":
        return _table_wrong(bench, oracle, mutant, bytes(changed))
    address = bench.program.image.address_of(mutant.offset)
    pairs = bench.pairs_through(function, address)
    return oracle.wrong(function, right, bytes(changed), pairs)


def _table_wrong(bench: Bench, oracle: Oracle, mutant: Mutant, changed: bytes) -> str:
    """A changed entry: the code that it leads to, run against the code that it should lead to."""
    for table in bench.tables(mutant.function):
        entry, rest = divmod(mutant.offset - bench.program.image.offset_of(table.address), 4)
        if rest or not 0 <= entry < len(table.targets):
            continue
        places = []
        for data in (bench.right, changed):
            raw = data[mutant.offset : mutant.offset + table.size]
            places.append(table.base + int.from_bytes(raw, "little", signed=True))
        jump = Code(bench.program, mutant.function, bench.right)
        if places[1] not in mutant.function or jump.insn(places[1]) is None:
            return "leads out of the function"
        literals = literals_of(bench.program, mutant.function)
        constants = dict(bench.program.target.table.constants)
        for seed in range(SEEDS):
            start = Start(seed, literals)
            good, bad = (jump.run(place, World(start, constants)) for place in places)
            if "limit" in (good.kind, bad.kind) or good.kind == "trap":
                continue
            # Both are the tuned file: liveness is asked where the original ends.
            if (good.kind, good.target) != (bad.kind, bad.target):
                return f"seed {seed}: ends with {bad.kind}, not {good.kind}"
            for at in good.world.memory.keys() | bad.world.memory.keys():
                if good.world.byte(at) != bad.world.byte(at):
                    return f"seed {seed}: memory"
    return ""


def batches(mutants: Sequence[Mutant]) -> Iterator[list[Mutant]]:
    """Groups with no function twice."""
    waiting = list(mutants)
    while waiting:
        chosen: dict[Function, Mutant] = {}
        for mutant in waiting:
            chosen.setdefault(mutant.function, mutant)
        taken = {id(mutant) for mutant in chosen.values()}
        waiting = [mutant for mutant in waiting if id(mutant) not in taken]
        yield list(chosen.values())
