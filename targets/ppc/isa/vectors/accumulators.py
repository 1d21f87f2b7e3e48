"""Rows: sums of outer products, in accumulators (Power ISA 3.1B, Book I, 7.2.1.3).

An accumulator stands for four vector-scalar registers: what those hold is undefined while it holds
something, so that it is told as if it were them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.families import listed
from targets.ppc.isa.formats import prefix, row, x
from targets.ppc.meanings.unknown import flagged, pure

_LEVEL, _SCHED = "3.1", "mma"
_MMIRR, _MASKED = 3, 9  # the type and form of the prefix


class _Product(NamedTuple):
    """Instructions with one kind of elements; the masks are those of the form with a prefix."""

    opcodes: str  # of those that set the accumulator
    adding: str  # of those that add to it
    masks: str
    rounds: bool = False
    first: str = "xa"


_PRODUCTS = (
    _Product("xvi4ger8 35", "xvi4ger8pp 34", "xmsk,ymsk,pmsk8"),
    _Product("xvi8ger4 3", "xvi8ger4pp 2 xvi8ger4spp 99", "xmsk,ymsk,pmsk4"),
    _Product("xvi16ger2 75 xvi16ger2s 43", "xvi16ger2pp 107 xvi16ger2spp 42", "xmsk,ymsk,pmsk2"),
    _Product(
        "xvf16ger2 19",
        "xvf16ger2pp 18 xvf16ger2np 82 xvf16ger2pn 146 xvf16ger2nn 210",
        "xmsk,ymsk,pmsk2",
        rounds=True,
    ),
    _Product(
        "xvbf16ger2 51",
        "xvbf16ger2pp 50 xvbf16ger2np 114 xvbf16ger2pn 178 xvbf16ger2nn 242",
        "xmsk,ymsk,pmsk2",
        rounds=True,
    ),
    _Product(
        "xvf32ger 27",
        "xvf32gerpp 26 xvf32gernp 90 xvf32gerpn 154 xvf32gernn 218",
        "xmsk,ymsk",
        rounds=True,
    ),
    _Product(
        "xvf64ger 59",
        "xvf64gerpp 58 xvf64gernp 122 xvf64gerpn 186 xvf64gernn 250",
        "xmsk,ymsk2",
        rounds=True,
        first="xap",
    ),
)


def _products() -> Iterator[Op]:
    for product in _PRODUCTS:
        meaning = flagged if product.rounds else pure
        sources = "pv" if product.first == "xap" else "vv"
        text = f"acc,{product.first},xb"
        masks = "n" * len(product.masks.split(","))
        for result, opcodes in (("a", product.opcodes), ("A", product.adding)):
            for name, extended, _ in listed(opcodes):
                bits, shape = 59 << 26 | extended << 3, f"{result}={sources}"
                yield row(name, text, bits, meaning(shape)(name), _SCHED, _LEVEL)
                full = prefix(_MMIRR, _MASKED, bits)
                masked = meaning(shape + masks)(name)
                yield row(f"pm{name}", f"{text},{product.masks}", full, masked, _SCHED, _LEVEL)


def _moves() -> Iterator[Op]:
    code = partial(x, 31)
    for name, extended, more in listed("xxmfacc 177 xxmtacc 1:177"):
        yield row(name, "acc", code(extended) | more, pure("A=")(name), _SCHED, _LEVEL)
    for name, extended, more in listed("xxsetaccz 3:177"):
        yield row(name, "acc", code(extended) | more, pure("a=")(name), _SCHED, _LEVEL)


ROWS = (*_products(), *_moves())
