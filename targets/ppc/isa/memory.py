"""Rows: loads and stores of general registers (Power ISA 3.1B, Book I, section 3.3; Book III, 4.4).

Extended opcodes are those of primary opcode 31 where no other is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rewriter.core.isa.instruction import Op
from targets.ppc.isa.features import wide
from targets.ppc.isa.formats import d, prefix, row, x
from targets.ppc.meanings import memory, operate
from targets.ppc.meanings.memory import Convert, reversed_bytes, signed

_HALF, _WORD = signed(2), signed(4)


class _Access(NamedTuple):
    """A load or store in all of its forms; the codes are those of the bits that its form has.

    `near` and `updating` are the codes with a displacement, without and with an update of the
    base, `indexed` and `indexed_updating` those with an index; `scale` names the displacement.
    """

    name: str
    size: int
    scale: str
    near: int | None
    updating: int | None
    indexed: int
    indexed_updating: int
    convert: Convert | None = None
    needs: str = ""


_LOADS = (
    _Access("lwz", 4, "d", d(32), d(33), 23, 55),
    _Access("lbz", 1, "d", d(34), d(35), 87, 119),
    _Access("lhz", 2, "d", d(40), d(41), 279, 311),
    _Access("lha", 2, "d", d(42), d(43), 343, 375, _HALF),
    _Access("ld", 8, "ds", d(58, 0), d(58, 1), 21, 53, needs=wide()),
    _Access("lwa", 4, "ds", d(58, 2), None, 341, 373, _WORD, wide()),
)
_STORES = (
    _Access("stw", 4, "d", d(36), d(37), 151, 183),
    _Access("stb", 1, "d", d(38), d(39), 215, 247),
    _Access("sth", 2, "d", d(44), d(45), 407, 439),
    _Access("std", 8, "ds", d(62, 0), d(62, 1), 149, 181, needs=wide()),
)

# name, size, extended opcode of the load and of the store, feature
_REVERSED = (
    ("w", 4, 534, 662, ""),
    ("h", 2, 790, 918, ""),
    ("d", 8, 532, 660, wide("2.06")),
)

# past the caches, in hypervisor state: name, size, extended opcodes
_INHIBITED = (("wz", "w", 4, 789, 917), ("hz", "h", 2, 821, 949))
_INHIBITED_TOO = (("bz", "b", 1, 853, 981), ("d", "d", 8, 885, 1013))

# name, size, type of the prefix, opcode of the suffix, conversion
_PREFIXED_LOADS = (
    ("plwz", 4, 2, d(32), None),
    ("plbz", 1, 2, d(34), None),
    ("plhz", 2, 2, d(40), None),
    ("plha", 2, 2, d(42), _HALF),
    ("plwa", 4, 0, d(41), _WORD),
    ("pld", 8, 0, d(57), None),
)
_PREFIXED_STORES = (
    ("pstw", 4, 2, d(36)),
    ("pstb", 1, 2, d(38)),
    ("psth", 2, 2, d(44)),
    ("pstd", 8, 0, d(61)),
)


def _loads() -> Iterator[Op]:
    for one in _LOADS:
        sched = "load-ext" if one.convert else "load"
        plain = memory.load(one.size, one.convert)
        if one.near is not None:
            yield row(one.name, f"rt,{one.scale}(ra0)", one.near, plain, sched, one.needs)
        yield row(f"{one.name}x", "rt,ra0,rb", x(31, one.indexed), plain, f"{sched}-x", one.needs)
        if one.updating is not None:
            near = memory.load_update(one.size, 1, one.convert)
            text = f"rt,{one.scale}(ran)"
            yield row(f"{one.name}u", text, one.updating, near, f"{sched}-u", one.needs)
        far = memory.load_update(one.size, 0, one.convert)
        bits = x(31, one.indexed_updating)
        yield row(f"{one.name}ux", "rt,ran,rb", bits, far, f"{sched}-ux", one.needs)


def _stores() -> Iterator[Op]:
    for one in _STORES:
        assert one.near is not None and one.updating is not None
        plain = memory.store(one.size)
        yield row(one.name, f"rs,{one.scale}(ra0)", one.near, plain, "store", one.needs)
        yield row(f"{one.name}x", "rs,ra0,rb", x(31, one.indexed), plain, "store-x", one.needs)
        near, text = memory.store_update(one.size, 1), f"rs,{one.scale}(ran)"
        yield row(f"{one.name}u", text, one.updating, near, "store-u", one.needs)
        far, bits = memory.store_update(one.size, 0), x(31, one.indexed_updating)
        yield row(f"{one.name}ux", "rs,ran,rb", bits, far, "store-ux", one.needs)


def _others() -> Iterator[Op]:
    for unit, size, loading, storing, needs in _REVERSED:
        turned = reversed_bytes(size)
        load, store = memory.load(size, turned), memory.store(size, turned)
        yield row(f"l{unit}brx", "rt,ra0,rb", x(31, loading), load, "load-x", needs)
        yield row(f"st{unit}brx", "rs,ra0,rb", x(31, storing), store, "store-x", needs)
    for one, other, size, loading, storing in (*_INHIBITED, *_INHIBITED_TOO):
        load, store = memory.load_inhibited(size), memory.store_inhibited(size)
        yield row(f"l{one}cix", "rt,ra0,rb", x(31, loading), load, "load-x", wide("2.05"))
        yield row(f"st{other}cix", "rs,ra0,rb", x(31, storing), store, "store-x", wide("2.05"))


def _several() -> Iterator[Op]:
    yield row("lmw", "rt_many,d(ra0)", d(46), memory.load_many, "load-many")
    yield row("stmw", "rs_many,d(ra0)", d(47), memory.store_many, "store-many")
    yield row("lswx", "rt,ra0,rb", x(31, 533), memory.load_string_indexed, "load-many")
    yield row("lswi", "rt_many,ra0,nb", x(31, 597), memory.load_string, "load-many")
    yield row("stswx", "rs,ra0,rb", x(31, 661), memory.store_string_indexed, "store-many")
    yield row("stswi", "rs_many,ra0,nb", x(31, 725), memory.store_string, "store-many")
    yield row("lq", "rtp,dq(ra0)", d(56), memory.load_pair, "load-many", wide("2.03"))
    yield row("stq", "rsp,ds(ra0)", d(62, 2), memory.store_pair, "store-many", wide("2.03"))


def _prefixed() -> Iterator[Op]:
    needs = wide("3.1")
    add = operate.binary(lambda m, a, n: a + n)
    yield row("paddi", "rt,ra0,d34,0", prefix(2, 0, d(14)), add, "integer", needs)
    yield row("paddi", "rt,0,d34,1", prefix(2, 1, d(14)), memory.sum_from_here, "integer", needs)
    for name, size, kind, suffix, convert in _PREFIXED_LOADS:
        sched = "load-ext" if convert else "load"
        near, here = memory.load(size, convert), memory.load_from_here(size, convert)
        yield row(name, "rt,d34(ra0),0", prefix(kind, 0, suffix), near, sched, needs)
        yield row(name, "rt,d34(0),1", prefix(kind, 1, suffix), here, sched, needs)
    for name, size, kind, suffix in _PREFIXED_STORES:
        to_near, to_here = memory.store(size), memory.store_from_here(size)
        yield row(name, "rs,d34(ra0),0", prefix(kind, 0, suffix), to_near, "store", needs)
        yield row(name, "rs,d34(0),1", prefix(kind, 1, suffix), to_here, "store", needs)
    yield row("plq", "rtp,d34(ra0),0", prefix(0, 0, d(56)), memory.load_pair, "load-many", needs)
    yield row("pstq", "rsp,d34(ra0),0", prefix(0, 0, d(60)), memory.store_pair, "store-many", needs)
    yield row("pnop", "", prefix(3, 0, 0), memory.nothing, "integer", needs)


ROWS = (*_loads(), *_stores(), *_others(), *_several(), *_prefixed())
