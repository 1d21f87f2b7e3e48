"""What the target says of comparisons and branches is what they mean, for every value."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewriter.analysis.values.ranges import within
from rewriter.core.code.dataflow import Fact, Range, going_on, machine, ranges
from rewriter.core.edit import Grade
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg
from rewriter.core.target.idioms import Compared
from rewriter.core.terms.term import Term, Terms
from rewriter.verify.terms.prover import Prover
from targets.ppc.asm.assembler import assemble
from targets.ppc.isa.comparisons import RECORDED
from targets.ppc.registers import CR
from targets.ppc.target import Ppc

ORDERS = frozenset((-1, 0, 1))
SETTINGS = [(32, "big", "sysv"), (64, "little", "elfv2")]
NUMBERS = (-0x8000, -1, 0, 10)
BRANCHES = tuple(
    f"b{asked}{suffix}"
    for suffix in (" cr0,16", "lr cr0")
    for asked in ("lt", "gt", "eq", "ge", "le", "ne", "so", "ns")
)


@pytest.fixture(scope="module", params=SETTINGS, ids=lambda setting: setting[2])
def power(request: pytest.FixtureRequest) -> Ppc:
    return Ppc(*request.param)


def _insn(power: Ppc, text: str) -> Insn:
    code = assemble(text, width=power.bits, byteorder=power.byteorder).code
    insn = power.table.decode(int.from_bytes(code, power.byteorder))
    assert insn is not None
    return insn


def _comparisons(power: Ppc) -> Iterator[Insn]:
    for name in ("cmpwi", "cmpdi")[: power.bits // 32]:
        yield from (_insn(power, f"{name} cr0,r4,{number}") for number in NUMBERS)
    for name in ("cmplwi", "cmpldi")[: power.bits // 32]:
        yield from (_insn(power, f"{name} cr0,r4,{number}") for number in (0, 9))


def _recorded(power: Ppc) -> Iterator[Insn]:
    """Every row that is said to compare its result, with some operands."""
    for row in power.table.rows:
        if row.name in RECORDED and (power.bits == 64 or not row.needs):
            filler = 0b00100_00101_00110_00000_0000000000 << 1 & ~row.mask & 0xFFFFFFFF
            insn = power.table.decode(row.match | filler)
            assert insn is not None and insn.name == row.name
            yield insn


def _shown(prover: Prover, condition: Term, given: list[Term]) -> bool:
    terms = condition.store
    one, zero = terms.const(1), terms.const(0)
    return prover.equal(terms.ite(condition, one, zero), one, given)[0] is Grade.PROVED


def _ranges(power: Ppc, terms: Terms, compared: Compared, orders: frozenset[int]) -> list[Term]:
    found = within(compared, orders)
    facts = {compared.register: Fact(compared.register, 0, within=found)} if found else {}
    return list(ranges(power.table, terms, facts))


@pytest.mark.parametrize("text", BRANCHES)
def test_a_range_follows_from_each_branch(power: Ppc, text: str) -> None:
    """On the way past a branch, and where it is taken."""
    branch, prover = _insn(power, text), Prover.of(power)
    asked = power.comparing.asked(branch) if power.comparing else None
    if text.startswith(("bso", "bns")):
        assert asked is None
        return
    assert asked is not None
    for insn in _comparisons(power):
        compared = power.comparing.compared(insn) if power.comparing else None
        assert compared is not None and compared.flags == asked[0]
        with power.table.terms() as terms:
            state = machine(power.table, terms)
            state.execute(insn, 0)
            state.execute(branch, 4)
            held = state.get(Reg(compared.register))
            assert held is terms.var(f"r{compared.register:d}")
            (passed,) = going_on(branch, state)
            for given, orders in ((passed, ORDERS - asked[1]), (terms.bnot(passed), asked[1])):
                for condition in _ranges(power, terms, compared, orders):
                    assert _shown(prover, condition, [given]), (insn, text)


def test_a_range_has_all_numbers_and_no_more_than_between(power: Ppc) -> None:
    """By hand: numbers without a sign, of which those with one that are less are the largest."""
    ones = (1 << power.bits) - 1
    half = 1 << power.bits - 1
    signed, unsigned = (Compared(32, 4, power.bits, sign, 0) for sign in (True, False))
    expected = {
        (signed, (0,)): (0, 0),
        (signed, (1,)): (1, half - 1),
        (signed, (0, 1)): (0, half - 1),
        (signed, (-1,)): (half, ones),
        (signed, (-1, 1)): (1, ones),
        (signed, (-1, 0)): None,
        (unsigned, (-1,)): None,
        (unsigned, (0, 1)): None,
        (unsigned, (1,)): (1, ones),
    }
    for (compared, orders), bounds in expected.items():
        assert within(compared, orders) == (Range(power.bits, *bounds) if bounds else None)


def test_a_record_form_compares_its_result(power: Ppc) -> None:
    prover, found = Prover.of(power), set[str]()
    for insn in _recorded(power):
        compared = power.comparing.compared(insn) if power.comparing else None
        assert compared is not None
        with power.table.terms() as terms:
            state = machine(power.table, terms)
            state.execute(insn, 0)
            flags, result = state.get(Reg(compared.flags)), state.get(Reg(compared.register))
            state.registers[Reg(compared.register)] = result
            state.execute(
                _insn(power, f"cmp{'dw'[power.bits == 32]}i cr7,r{compared.register},0"), 4
            )
            assert prover.equal(flags, state.get(Reg(CR + 7)))[0] is Grade.PROVED, insn
        found.add(insn.name)
    wide = {"rldicl.", "rldicr.", "rldic.", "sld.", "srd.", "sradi.", "extsw."}
    assert found == (RECORDED if power.bits == 64 else RECORDED - wide)
