"""Golden cases, one a file: `fixtures/passes/NAME/*.case` says what a pass makes of a block.

cpu=ev67 passes=bytes exits=v0,a0     the CPU, the passes in order, what is read afterwards; for
                                      PowerPC also target=ppc, ppc64 or ppc64el
# Why this case is one.
ldq_u t0,0(a0)                        the block
extbl t0,a0,v0
# output
ldbu v0,0(a0)                         each slot afterwards; an empty one is `unop`
unop
# refused: KIND: REASON               each site left alone, in order, how its reason begins
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pytest

import targets
from passes import lacking
from passes.bitscan import BitScan
from passes.bytes import Bytes
from passes.combine import Combine
from passes.lib.changes import Rewritten
from passes.lib.technique import Technique
from passes.lib.tune import Tuner
from rewriter.analysis.reservations import LOCK, RELEASE
from rewriter.core.code.superblock import straight
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.protocol import Sequential
from rewriter.verify.terms.prover import Prover
from targets.alpha.assembler import REGISTERS, assemble
from targets.assembly import Assembled
from targets.ppc.asm.assembler import assemble as assemble_power
from targets.ppc.target import Ppc

TECHNIQUES: dict[str, type[Technique]] = {"bytes": Bytes, "bitscan": BitScan, "combine": Combine}
FOLDER = Path(__file__).parents[2] / "fixtures" / "passes"
CASES = sorted(path for name in TECHNIQUES for path in FOLDER.glob(f"{name}/*.case"))
ALPHA = targets.named("alpha")
BASE = 0x10000
POWERS = {
    "ppc": (32, "big", "sysv"),
    "ppc64": (64, "big", "elfv1"),
    "ppc64el": (64, "little", "elfv2"),
}


@dataclass(frozen=True)
class Language:
    """What a case is written in: a target, its assembler, its registers' names."""

    target: Sequential
    assemble: Callable[[str], Assembled]
    registers: Mapping[str, int]
    empty: str

    def decoded(self, lines: list[str]) -> tuple[Insn, ...]:
        """The instructions of assembler text."""
        code, order = self.assemble("\n".join(lines)).code, self.target.table.byteorder
        words = (int.from_bytes(code[n : n + 4], order) for n in range(0, len(code), 4))
        return tuple(i for word in words if (i := self.target.table.decode(word)) is not None)

    def text(self, insn: Insn | None) -> str:
        """A slot as a case writes it."""
        empty = insn is None or self.target.is_nop(insn)
        return self.empty if empty else self.target.table.text(insn)


_BRANCH = re.compile(r"(b\w+ \w+),(-?\d+)")


def assembled(text: str) -> Assembled:
    """Alpha's instructions, of which branches say how far they go: the assembler asks where to."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if found := _BRANCH.fullmatch(line):
            lines[at] = f"{found[1]},{BASE + 4 * at + 4 + int(found[2])}"
    return assemble("\n".join(lines), base=BASE)


@cache
def language(name: str) -> Language:
    """The one of a target."""
    if name == "alpha":
        return Language(ALPHA, assembled, REGISTERS, "unop")
    bits, byteorder, abi = POWERS[name]
    target = Ppc(bits, byteorder, abi)  # type: ignore[arg-type]
    power = partial(assemble_power, width=bits, byteorder=target.byteorder, base=BASE)
    names = {name: number for number, name in enumerate(target.table.register_names)}
    return Language(target, power, names, "nop")


@cache
def prover(width: int) -> Prover:
    """One for all cases of so many bits."""
    return Prover(width, width // 8)


@dataclass(frozen=True)
class Case:
    """A case as written."""

    flags: dict[str, str]
    before: list[str]
    after: list[str]
    refused: list[str]

    @property
    def exits(self) -> int:
        """The mask of what is read afterwards."""
        names = self.language.registers
        return register_mask(names[name] for name in self.flags["exits"].split(","))

    @property
    def language(self) -> Language:
        """What it is written in."""
        return language(self.flags.get("target", "alpha"))


def read(path: Path) -> Case:
    """A case from its file."""
    head, *lines = path.read_text().splitlines()
    divide = lines.index("# output")
    mark = "# refused: "
    return Case(
        dict(flag.split("=", 1) for flag in head.split()),
        [line for line in lines[:divide] if not line.startswith("#")],
        [line for line in lines[divide:] if not line.startswith("#")],
        [line.removeprefix(mark) for line in lines[divide:] if line.startswith(mark)],
    )


def decoded(lines: list[str]) -> tuple[Insn, ...]:
    """The instructions of assembler text."""
    return language("alpha").decoded(lines)


def locked(insns: tuple[Insn, ...], target: Sequential = ALPHA) -> frozenset[int]:
    """Addresses from a load-locked to its store-conditional."""
    events = [target.table.effects(insn.op).events for insn in insns]
    locks = [n for n, names in enumerate(events) if LOCK in names]
    releases = [n for n, names in enumerate(events) if RELEASE in names]
    pairs = zip(locks, releases, strict=True)
    return frozenset(BASE + 4 * n for a, b in pairs for n in range(a, b + 1))


def tuner_of(case: Case) -> Tuner:
    """The case's block before its passes."""
    target, insns = case.language.target, case.language.decoded(case.before)
    cpu = target.cpus[case.flags["cpu"]]
    every = [TECHNIQUES[name]() for name in case.flags["passes"].split(",")]
    techniques = [t for t in every if not lacking(t, target, cpu)]
    superblock = straight(BASE, insns, ((len(insns) - 1, case.exits),))
    proves = prover(target.table.width)
    return Tuner(superblock, techniques, target, cpu, proves, locked(insns, target))


def tuned(case: Case) -> Rewritten:
    """The case's block after its passes."""
    return tuner_of(case).tune(lambda *_: True)


def text(insn: Insn | None) -> str:
    """A slot as a case of Alpha writes it."""
    return language("alpha").text(insn)


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path: Path) -> None:
    case = read(path)
    result = tuned(case)
    assert [case.language.text(slot) for slot in result.slots] == case.after
    refused = [f"{r.site.kind}: {r.reason}" for r in result.refused]
    assert len(refused) == len(case.refused), refused
    for reason, expected in zip(refused, case.refused, strict=True):
        assert reason.startswith(expected)


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_block_is_tuned_again(path: Path) -> None:
    """What was made before, with other wishes, leaves no trace."""
    tuner = tuner_of(read(path))
    first = tuner.tune(lambda *_: True)
    for number, gone in enumerate(first.accepted):
        at = tuner.trace.addresses[gone.rewrite.site]
        part = tuner.tune(lambda _, address, __, at=at: address != at)
        assert part.accepted[:number] == first.accepted[:number]
        assert gone not in part.accepted
    again = tuner.tune(lambda *_: True)
    assert (again.slots, again.accepted, again.refused) == (
        first.slots, first.accepted, first.refused,
    )  # fmt: skip


def test_there_are_cases_of_every_pass() -> None:
    assert {path.parent.name for path in CASES} == set(TECHNIQUES)


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_input_is_canonical(path: Path) -> None:
    """The text of a case is what the table prints, so that nothing hides in a spelling."""
    case = read(path)
    written = map(case.language.text, case.language.decoded(case.before))
    assert list(written) == case.before
