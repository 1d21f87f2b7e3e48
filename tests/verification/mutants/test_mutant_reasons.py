"""What explains a mutant: changes that are wrong by their kind are never explained, others are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs, powerpc
from fixtures.ia64 import ROWS, linked
from rewriter.analysis.program import analyse
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.elf.image import load
from targets.alpha.image.pointers import UNOP
from targets.alpha.isa.rows import TABLE
from targets.ia64.image.layout import nop
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import Bundle
from targets.ia64.isa.rows import TABLE as ROWS_OF_IA64
from tests.support.depth import depth
from tests.support.mutants import ia64_base, ia64_decide, ppc_decide
from tests.support.mutants.alpha_decide import Decider
from tests.support.mutants.changes import Change
from tests.support.mutants.plain_base import PlainBase, Shared

_NUMBER = 6  # a bit of the number in a nop
OPPOSITE = {"beq": "bne", "bne": "beq", "blt": "bge", "bge": "blt", "ble": "bgt", "bgt": "ble"}


@pytest.fixture(scope="module")
def base() -> PlainBase:
    image = load(str(inputs.require("alpha-sample")))
    return PlainBase.original(Shared.of(analyse(image, targets.of(image))))


def insns(base: PlainBase) -> Iterator[tuple[int, Insn]]:
    """The instructions of all functions, with their addresses."""
    for function in base.program.functions:
        for address in range(function.start, function.end, 4):
            if (insn := base.insn(address)) is not None:
                yield address, insn


def changed(address: int, *new: Insn) -> Change:
    code = b"".join(TABLE.encode(insn).to_bytes(4, "little") for insn in new)
    return Change("op", address, code, "", "")


def test_wrong_changes_are_not_explained(base: PlainBase) -> None:
    """A store that is left out, a condition turned round, a result that is not made."""
    wrong = []
    for address, insn in insns(base):
        if TABLE.effects(insn.op).stores:
            wrong.append(changed(address, UNOP))
        elif insn.name in OPPOSITE:
            other = TABLE.find(OPPOSITE[insn.name], insn.op.format.name)
            wrong.append(changed(address, Insn(other, insn.operands)))
        following = base.insn(address + 4)
        ends = following is not None and following.op.flow is Flow.RETURN
        if ends and TABLE.defs(insn) & 1 and TABLE.computes(insn) is not None:
            wrong.append(changed(address, UNOP))
    assert len(wrong) > 100
    decider = Decider(base)
    assert [change.address for change in wrong if decider.reason(change)] == []


def test_changes_without_effect_are_explained(base: PlainBase) -> None:
    """Another prediction of a return, a nop for another, a move of a register to itself."""
    decider, same = Decider(base), TABLE.find("bis", "operate")
    reasons = set()
    for address, insn in insns(base):
        if insn.op.flow is Flow.RETURN:
            reasons.add(
                decider.reason(changed(address, insn.replace(hint=insn.operand("hint") ^ 2)))
            )
        elif base.program.target.is_nop(insn):
            reasons.add(decider.reason(changed(address, Insn(same, (16, 16, 16)))))
    assert reasons == {"hint of a jump", "no effect"}


def test_what_is_entered_on_the_way_is_not_explained(base: PlainBase) -> None:
    """Neighbours that may change places, but where control comes to the second alone."""
    decider, swapped = Decider(base), {True: set[str](), False: set[str]()}
    pairs = [(at, insn, base.insn(at + 4)) for at, insn in insns(base)]
    apart = [(at, one, other) for at, one, other in pairs if other and _apart(one, other)]
    for address, insn, following in apart[:: depth(4, 1)]:
        change = replace(changed(address, following, insn), kind="swap")
        swapped[change.address + 4 in decider.ways.heads].add(decider.reason(change))
    assert swapped == {True: {""}, False: {"commuting"}}


def _apart(one: Insn, other: Insn) -> bool:
    """Whether two instructions compute, and neither what the other reads or sets."""
    if not all(TABLE.computes(insn) and not TABLE.accesses(insn) for insn in (one, other)):
        return False
    (sets, reads), (also, too) = ((TABLE.defs(insn), TABLE.uses(insn)) for insn in (one, other))
    return bool(sets and also) and not (sets & (also | too) or also & reads)


# PowerPC ----------------------------------------------------------------------------------------

_TRUE = 0x01000000  # the bit of BO by which a condition is asked to hold


@pytest.mark.parametrize("name", [f"{abi}-libnsl" for abi in powerpc.ABIS][:: depth(3, 1)])
def test_ppc(name: str) -> None:
    """Stores and results left out, conditions turned round; words without anything in common."""
    image = load(str(inputs.require(name)))
    base = PlainBase.original(Shared.of(analyse(image, targets.of(image))))
    table, decider = base.program.target.table, ppc_decide.Decider(base)
    (nop,) = base.program.target.nops(4)
    wrong, swapped = [], []

    def change(kind: str, address: int, *words: int) -> Change:
        code = b"".join(word.to_bytes(4, image.byteorder) for word in words)
        return Change(kind, address, code, "", "")

    for address, insn in insns(base):
        word, following = table.encode(insn), base.insn(address + 4)
        returns = following is not None and following.op.flow is Flow.RETURN
        kept = table.defs(insn) & (1 << 3 | 0x1FFFF << 14)  # a result, or what a caller keeps
        if insn.name in ("stw", "std", "stb", "stwu", "stdu") or (returns and kept):
            wrong.append(change("op", address, table.encode(nop)))
        elif insn.name == "bc" and table.decode(word ^ _TRUE) and insn.op.flow is Flow.BRANCH:
            wrong.append(change("op", address, word ^ _TRUE))
        elif insn.name == "addi" and following is not None and following.name == "addi":
            apart = insn.operands[0] not in following.operands[:2]
            if apart and following.operands[0] not in insn.operands[:2]:
                swapped.append(change("swap", address, table.encode(following), word))
    assert len(wrong) > 100
    assert len(swapped) > 5
    drawn = wrong[:: depth(600, 30)]
    assert [one.address for one in drawn if decider.reason(one)] == []
    assert {decider.reason(one) for one in swapped[:: depth(40, 1)]} == {"commuting"}


# IA-64 ------------------------------------------------------------------------------------------


@pytest.fixture
def rows(tmp_path: Path) -> ia64_base.Ia64Base:
    image = load(linked(ROWS, tmp_path, "-e", "_start"))
    return ia64_base.Ia64Base.original(ia64_base.Shared.of(image))


def test_ia64(rows: ia64_base.Ia64Base) -> None:
    """Each instruction left out, all of which do something, and nops with another number."""
    decider = ia64_decide.Decider(rows)
    (function,) = rows.functions
    left_out, renumbered = set(), set()
    for address in range(function.start, function.end, 16):
        bundle = bundles.decode(rows.bundle(address))
        assert bundle is not None
        for n, insn in enumerate(map(ROWS_OF_IA64.decode, bundle.words)):
            assert insn is not None
            words = list(bundle.words)
            if insn.name.startswith("nop."):
                words[n] ^= 1 << _NUMBER
                renumbered.add(_reason(decider, address, bundle, words))
            else:
                words[n] = nop(bundle.template.holders[n].name.lower())
                left_out.add(_reason(decider, address, bundle, words))
    assert left_out == {""}
    assert renumbered == {"does nothing"}


def _reason(decider: ia64_decide.Decider, address: int, bundle: Bundle, words: list[int]) -> str:
    code = bundles.encode(Bundle(bundle.template, tuple(words)))
    return decider.reason(Change("op", address, code, "", ""))
