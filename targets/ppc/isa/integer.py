"""Rows: arithmetic, logic, comparisons, counts (Power ISA 3.1B, Book I, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from rewriter.core.isa.instruction import Does, Op
from targets.ppc.isa.features import ISEL, wide
from targets.ppc.isa.formats import a, d, row, va, x
from targets.ppc.meanings import compare, counts, operate
from targets.ppc.meanings.operate import (
    Forms,
    complement,
    itself,
    product_high,
    signed_word,
    sum_of,
    sum_with,
    unsigned_word,
)
from targets.ppc.registers import CA

_OE = 1 << 9  # above the extended opcode of an XO form

Maker = Callable[[Forms], Does]


def _forms(overflows: bool) -> Iterator[tuple[str, int, int, Forms]]:
    """What is behind the mnemonic of each form, OE and Rc in place, and the forms."""
    for oe, rc in product((False, True) if overflows else (False,), (False, True)):
        yield "o" * oe + "." * rc, _OE * oe, int(rc), Forms(records=rc, overflows=oe)


def _sum(prepared: Callable[..., object], carry: object, carries: bool = True) -> Maker:
    return lambda forms: sum_of(prepared, carry, forms, carries)  # type: ignore[arg-type]


def _quotient(name: str) -> Maker:
    return lambda forms: operate.quotient(name, forms)


def _high(name: str, signed: bool) -> Maker:
    return lambda forms: operate.word_product_high(name, signed, forms)


def _double_high(function: operate.Binary) -> Maker:
    return lambda forms: operate.binary(function, forms)


# name, text, extended opcode, meaning of the forms, class, feature; XO forms with OE and Rc
_ARITHMETIC: tuple[tuple[str, str, int, Maker, str, str], ...] = (
    ("subfc", "rt,ra,rb", 8, _sum(complement, 1), "integer", ""),
    ("addc", "rt,ra,rb", 10, _sum(itself, 0), "integer", ""),
    ("subf", "rt,ra,rb", 40, _sum(complement, 1, False), "integer", ""),
    ("neg", "rt,ra", 104, operate.negation, "integer", ""),
    ("subfe", "rt,ra,rb", 136, _sum(complement, CA), "integer", ""),
    ("adde", "rt,ra,rb", 138, _sum(itself, CA), "integer", ""),
    ("subfze", "rt,ra", 200, lambda f: sum_with(0, complement, f), "integer", ""),
    ("addze", "rt,ra", 202, lambda f: sum_with(0, itself, f), "integer", ""),
    ("subfme", "rt,ra", 232, lambda f: sum_with(-1, complement, f), "integer", ""),
    ("mulld", "rt,ra,rb", 233, operate.product, "mul64", wide()),
    ("addme", "rt,ra", 234, lambda f: sum_with(-1, itself, f), "integer", ""),
    ("mullw", "rt,ra,rb", 235, operate.word_product, "mul", ""),
    ("add", "rt,ra,rb", 266, _sum(itself, 0, False), "integer", ""),
    ("divdeu", "rt,ra,rb", 393, _quotient("divdeu"), "div64", wide("2.06")),
    ("divweu", "rt,ra,rb", 395, _quotient("divweu"), "div", "2.06"),
    ("divde", "rt,ra,rb", 425, _quotient("divde"), "div64", wide("2.06")),
    ("divwe", "rt,ra,rb", 427, _quotient("divwe"), "div", "2.06"),
    ("divdu", "rt,ra,rb", 457, _quotient("divdu"), "div64", wide()),
    ("divwu", "rt,ra,rb", 459, _quotient("divwu"), "div", ""),
    ("divd", "rt,ra,rb", 489, _quotient("divd"), "div64", wide()),
    ("divw", "rt,ra,rb", 491, _quotient("divw"), "div", ""),
)

# XO forms without OE
_HIGH: tuple[tuple[str, str, int, Maker, str, str], ...] = (
    ("mulhdu", "rt,ra,rb", 9, _double_high(lambda m, a, b: m.umulh(a, b)), "mul64", wide()),
    ("mulhwu", "rt,ra,rb", 11, _high("mulhwu", False), "mul", ""),
    ("mulhd", "rt,ra,rb", 73, _double_high(product_high), "mul64", wide()),
    ("mulhw", "rt,ra,rb", 75, _high("mulhw", True), "mul", ""),
)

# X forms without a record form: name, opcode, the quotient, bits, signed, class, feature
_RESTS = (
    ("modud", 265, "divdu", 64, False, "div64", wide("3.0")),
    ("moduw", 267, "divwu", 32, False, "div", "3.0"),
    ("modsd", 777, "divd", 64, True, "div64", wide("3.0")),
    ("modsw", 779, "divw", 32, True, "div", "3.0"),
)

_LOGIC: tuple[tuple[str, int, operate.Binary], ...] = (
    ("and", 28, lambda m, s, b: s & b),
    ("andc", 60, lambda m, s, b: s & ~b),
    ("nor", 124, lambda m, s, b: ~(s | b)),
    ("eqv", 284, lambda m, s, b: ~(s ^ b)),
    ("xor", 316, lambda m, s, b: s ^ b),
    ("orc", 412, lambda m, s, b: s | ~b),
    ("or", 444, lambda m, s, b: s | b),
    ("nand", 476, lambda m, s, b: ~(s & b)),
)

# name, primary opcode, distance of the number, function, record form
_LOGIC_IMMEDIATE: tuple[tuple[str, int, int, operate.Binary, bool], ...] = (
    ("ori", 24, 0, lambda m, s, n: s | n, False),
    ("oris", 25, 16, lambda m, s, n: s | n, False),
    ("xori", 26, 0, lambda m, s, n: s ^ n, False),
    ("xoris", 27, 16, lambda m, s, n: s ^ n, False),
    ("andi.", 28, 0, lambda m, s, n: s & n, True),
    ("andis.", 29, 16, lambda m, s, n: s & n, True),
)

# ra = function(rs), with a record form: name, extended opcode, function, class, feature
_UNARY: tuple[tuple[str, int, operate.Unary, str, str], ...] = (
    ("cntlzw", 26, counts.leading_zeros_of_word, "cntlz", ""),
    ("cntlzd", 58, counts.leading_zeros, "cntlz", wide()),
    ("cnttzw", 538, counts.trailing_zeros_of_word, "cntlz", "3.0"),
    ("cnttzd", 570, counts.trailing_zeros, "cntlz", wide("3.0")),
    ("extsh", 922, lambda m, s: m.sext(s, 16), "exts", ""),
    ("extsb", 954, lambda m, s: m.sext(s, 8), "exts", ""),
    ("extsw", 986, signed_word, "exts", wide()),
)

# The same without one
_COUNTS: tuple[tuple[str, int, operate.Unary, str, str], ...] = (
    ("popcntb", 122, counts.set_bits_of_bytes, "popcnt", "2.02"),
    ("prtyw", 154, counts.parity_of_words, "popcnt", "2.05"),
    ("prtyd", 186, counts.parity, "popcnt", wide("2.05")),
    ("popcntw", 378, counts.set_bits_of_words, "popcnt", "2.06"),
    ("popcntd", 506, counts.set_bits, "popcnt", wide("2.06")),
    ("brw", 155, lambda m, s: counts.swapped(m, s, 32, m.width), "integer", "3.1"),
    ("brd", 187, lambda m, s: counts.swapped(m, s, 64, 64), "integer", wide("3.1")),
    ("brh", 219, lambda m, s: counts.swapped(m, s, 16, m.width), "integer", "3.1"),
)

# Results that the table does not say: name, text, bits, class, feature
_UNKNOWN = (
    ("cfuged", "ra,rs,rb", x(31, 220), "integer", wide("3.1")),
    ("cntlzdm", "ra,rs,rb", x(31, 59), "integer", wide("3.1")),
    ("cnttzdm", "ra,rs,rb", x(31, 571), "integer", wide("3.1")),
    ("pdepd", "ra,rs,rb", x(31, 156), "integer", wide("3.1")),
    ("pextd", "ra,rs,rb", x(31, 188), "integer", wide("3.1")),
    ("addg6s", "rt,ra,rb", x(31, 74), "integer", "2.06"),
    ("cdtbcd", "ra,rs", x(31, 282), "integer", "2.06"),
    ("cbcdtd", "ra,rs", x(31, 314), "integer", "2.06"),
)


def _arithmetic() -> Iterator[Op]:
    for rows, overflows in ((_ARITHMETIC, True), (_HIGH, False)):
        for name, text, extended, make, sched, needs in rows:
            for more, oe, rc, forms in _forms(overflows):
                bits = x(31, extended + oe, rc)
                yield row(name + more, text, bits, make(forms), sched + "." * rc, needs)
    for name, extended, divide, bits, signed, sched, needs in _RESTS:
        meaning = operate.rest(name, divide, bits, signed)
        yield row(name, "rt,ra,rb", x(31, extended), meaning, sched, needs)
    for name, extended, high in (
        ("maddhd", 48, product_high),
        ("maddhdu", 49, lambda m, a, b: m.umulh(a, b)),
        ("maddld", 51, None),
    ):
        yield row(
            name, "rt,ra,rb,rc", va(extended), operate.multiply_add(high), "mul64", wide("3.0")
        )
    yield row("addex", "rt,ra,rb,0", x(31, 170), operate.extended_sum, "integer", wide("3.0B"))


def _immediate() -> Iterator[Op]:
    add = operate.binary(lambda m, a, n: a + n)
    yield row("mulli", "rt,ra,si", d(7), operate.binary(lambda m, a, n: a * n), "mul")
    yield row("subfic", "rt,ra,si", d(8), sum_of(complement, 1, carries=True), "integer")
    yield row("addic", "rt,ra,si", d(12), sum_of(itself, 0, carries=True), "integer")
    recorded = sum_of(itself, 0, Forms(records=True), carries=True)
    yield row("addic.", "rt,ra,si", d(13), recorded, "integer.")
    yield row("addi", "rt,ra0,si", d(14), add, "integer")
    yield row("addis", "rt,ra0,si", d(15), operate.shifted_sum, "integer")
    yield row("addpcis", "rt,dx", x(19, 2), operate.sum_of_place, "integer", "3.0")
    for name, primary, distance, function, records in _LOGIC_IMMEDIATE:
        meaning = _logic_immediate(function, distance, Forms(records=records))
        sched = "integer." if records else "integer"
        yield row(name, "ra,rs,ui", d(primary), meaning, sched)


def _logic_immediate(function: operate.Binary, distance: int, forms: Forms) -> Does:
    scale = 1 << distance
    return operate.binary(lambda m, s, n: function(m, s, n * m.const(scale)), forms)


def _logic() -> Iterator[Op]:
    for name, extended, function in _LOGIC:
        for more, _, rc, forms in _forms(overflows=False):
            meaning = operate.binary(function, forms)
            sched = "integer" + more
            yield row(name + more, "ra,rs,rb", x(31, extended, rc), meaning, sched)
    for name, extended, single, sched, needs in _UNARY:
        for more, _, rc, forms in _forms(overflows=False):
            meaning = operate.unary(single, forms)
            yield row(name + more, "ra,rs", x(31, extended, rc), meaning, sched + more, needs)
    for name, extended, single, sched, needs in _COUNTS:
        yield row(name, "ra,rs", x(31, extended), operate.unary(single), sched, needs)
    same = operate.binary(compare.equal_bytes)
    yield row("cmpb", "ra,rs,rb", x(31, 508), same, "integer", "2.05")
    permuted = operate.binary(counts.permuted_bits)
    yield row("bpermd", "ra,rs,rb", x(31, 252), permuted, "popcnt", wide("2.06"))
    for name, text, bits, sched, needs in _UNKNOWN:
        yield row(name, text, bits, operate.unknown(name), sched, needs)


def _compare() -> Iterator[Op]:
    long = 1 << 21  # the L field: registers of 64 bits, not words
    for name, second, bits, signed in (
        ("cmpi", "si", d(11), True),
        ("cmpli", "ui", d(10), False),
        ("cmp", "rb", x(31, 0), True),
        ("cmpl", "rb", x(31, 32), False),
    ):
        words = compare.compare(signed_word if signed else unsigned_word, signed)
        yield row(name, f"bf,0,ra,{second}", bits, words, "cmp")
        doubles = compare.compare(itself, signed)
        yield row(name, f"bf,1,ra,{second}", bits | long, doubles, "cmp", wide())
    for count in (1, 2):
        bits = x(31, 192) | (count - 1) << 21
        yield row("cmprb", f"bf,{count - 1},ra,rb", bits, compare.in_ranges(count), "cmp", "3.0")
    yield row("cmpeqb", "bf,ra,rb", x(31, 224), compare.among_bytes, "cmp", wide("3.0"))
    yield row("isel", "rt,ra0,rb,bc", a(31, 15), compare.selected, "isel", ISEL)
    yield row("setb", "rt,bfa", x(31, 128), compare.sign_of_field, "integer", "3.0")
    for name, extended, if_set, if_clear in (
        ("setbc", 384, 1, 0),
        ("setbcr", 416, 0, 1),
        ("setnbc", 448, -1, 0),
        ("setnbcr", 480, 0, -1),
    ):
        meaning = compare.value_of_bit(if_set, if_clear)
        yield row(name, "rt,bi", x(31, extended), meaning, "integer", "3.1")


ROWS = (*_arithmetic(), *_immediate(), *_logic(), *_compare())
