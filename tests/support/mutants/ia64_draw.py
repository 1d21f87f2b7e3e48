"""Random changes to IA-64 code: any slot of a file, edited or not."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence

from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind, Operand
from targets.ia64.image.layout import nop
from targets.ia64.isa import bundles
from targets.ia64.isa.bundles import SLOTS, TEMPLATES, Bundle, Template
from targets.ia64.isa.fields import BUNDLE, QP, SLOT, Unit
from targets.ia64.isa.formats import SlotOp
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import PR
from tests.support.mutants.changes import Change
from tests.support.mutants.ia64_base import Ia64Base

SHARES = {
    "reg": 5, "imm": 4, "op": 4, "drop": 3, "swap": 4, "copy": 2, "target": 2, "predicate": 4,
    "stop": 4,
}  # fmt: skip
_EDITED = 0.5


_FAMILIES: dict[tuple[object, ...], list[SlotOp]] = defaultdict(list)


def _shape(op: SlotOp) -> tuple[object, ...]:
    return op.unit, *((o.name, o.kind, o.base, o.mask) for o in op.format.operands)


for _op in TABLE.rows:
    assert isinstance(_op, SlotOp)
    _FAMILIES[_shape(_op)].append(_op)


class Ia64Draw:
    """Draws changes of one file."""

    def __init__(self, base: Ia64Base) -> None:
        self.base = base

    def change(self, source: random.Random) -> Change:
        """A change of a random kind at a random place that has one of the kind."""
        kind = source.choices(list(SHARES), list(SHARES.values()))[0]
        while True:
            function = self._function(source)
            address = source.randrange(function.start, function.end, BUNDLE)
            bundle = bundles.decode(self.base.bundle(address))
            if bundle is None or not all(map(TABLE.decode, bundle.words)):
                continue
            if kind == "copy":
                new = self._copy(function, bundle, source)
            else:
                new = _MAKERS[kind](bundle, source)
            if new is not None and new != bundle and all(map(TABLE.decode, new.words)):
                code = bundles.encode(new)
                return Change(kind, address, code, _text(bundle, address), _text(new, address))

    def _function(self, source: random.Random) -> Function:
        edited = self.base.edited
        several = edited if edited and source.random() < _EDITED else self.base.functions
        one, other = source.choice(several), source.choice(several)
        return max(one, other, key=lambda function: function.end - function.start)

    def _copy(self, function: Function, bundle: Bundle, source: random.Random) -> Bundle | None:
        """Another instruction of the function, of the same unit."""
        n = source.randrange(len(bundle.words))
        other = bundles.decode(
            self.base.bundle(source.randrange(function.start, function.end, BUNDLE))
        )
        if other is None:
            return None
        words = [
            word
            for word, unit in zip(other.words, other.template.holders, strict=True)
            if unit is bundle.template.holders[n]
        ]
        return _with(bundle, n, source.choice(words)) if words else None


Maker = Callable[[Bundle, random.Random], Bundle | None]


def _with(bundle: Bundle, n: int, word: int) -> Bundle:
    return Bundle(bundle.template, (*bundle.words[:n], word, *bundle.words[n + 1 :]))


def _insns(bundle: Bundle) -> list[Insn]:
    return [insn for insn in map(TABLE.decode, bundle.words) if insn is not None]


def _replaced(bundle: Bundle, n: int, insn: Insn) -> Bundle | None:
    try:
        return _with(bundle, n, TABLE.encode(insn))
    except ValueError:
        return None


def _operand(
    bundle: Bundle, source: random.Random, wanted: Callable[[Operand], bool]
) -> tuple[int, Insn, Operand] | None:
    """A slot that is no nop, and one of its operands."""
    found = [
        (n, insn, operand)
        for n, insn in enumerate(_insns(bundle))
        if not insn.name.startswith("nop.") or source.random() < 0.05
        for operand in insn.op.format.operands
        if wanted(operand)
    ]
    return source.choice(found) if found else None


def _reg(bundle: Bundle, source: random.Random) -> Bundle | None:
    found = _operand(bundle, source, lambda o: o.kind is Kind.REGISTER and o.name != QP.name)
    if found is None:
        return None
    n, insn, operand = found
    near = [
        value
        for other in _insns(bundle)
        for o, value in zip(other.op.format.operands, other.operands, strict=True)
        if o.kind is Kind.REGISTER and o.base == operand.base
    ]
    value = source.choice(near) if source.random() < 0.5 else None
    if value is None:
        return _flipped(bundle, n, operand, source)
    return _replaced(bundle, n, insn.replace(**{operand.name: value}))


def _flipped(bundle: Bundle, n: int, operand: Operand, source: random.Random) -> Bundle:
    bits = [low + at for low, width in operand.pieces for at in range(width)]
    return _with(bundle, n, bundle.words[n] ^ 1 << source.choice(bits))


def _imm(bundle: Bundle, source: random.Random) -> Bundle | None:
    found = _operand(bundle, source, lambda o: o.kind is Kind.IMMEDIATE and o.name != SLOT.name)
    return None if found is None else _flipped(bundle, found[0], found[2], source)


def _op_of(bundle: Bundle, source: random.Random) -> Bundle | None:
    n = source.randrange(len(bundle.words))
    insn = _insns(bundle)[n]
    assert isinstance(insn.op, SlotOp)
    return _replaced(bundle, n, Insn(source.choice(_FAMILIES[_shape(insn.op)]), insn.operands))


def _drop(bundle: Bundle, source: random.Random) -> Bundle | None:
    n = source.randrange(len(bundle.words))
    return _with(bundle, n, nop(bundle.template.holders[n].name.lower()))


def _swap(bundle: Bundle, source: random.Random) -> Bundle | None:
    """Two slots of the bundle exchanged, where each may stand in the other's."""
    one, other = sorted(source.sample(range(len(bundle.words)), 2))
    insns = _insns(bundle)
    words = list(bundle.words)
    for at, from_ in ((one, other), (other, one)):
        unit = bundle.template.holders[at]
        insn = insns[from_]
        if insn.has(SLOT.name) and unit in (Unit.M, Unit.I):
            words[at] = TABLE.encode(insn.replace(slot=int(unit)))
        elif bundle.template.holders[from_] is unit:
            words[at] = bundle.words[from_]
        else:
            return None
    return Bundle(bundle.template, tuple(words))


def _target(bundle: Bundle, source: random.Random) -> Bundle | None:
    found = _operand(bundle, source, lambda o: o.kind is Kind.TARGET)
    if found is None:
        return None
    n, insn, operand = found
    step = BUNDLE * source.choice((-8, -4, -2, -1, 1, 2, 4, 8))
    return _replaced(bundle, n, insn.replace(**{operand.name: insn.operand(operand.name) + step}))


def _predicate(bundle: Bundle, source: random.Random) -> Bundle | None:
    found = _operand(bundle, source, lambda o: o.name == QP.name)
    if found is None:
        return None
    n, insn, _ = found
    now = insn.operand(QP.name)
    other = source.choice((PR, now ^ 1, PR + source.randrange(6, 16), PR + source.randrange(64)))
    return _replaced(bundle, n, insn.replace(qp=other))


def _stop(bundle: Bundle, source: random.Random) -> Bundle | None:
    """Stops at other places of the bundle."""
    units = bundle.template.units
    others = [t for t in TEMPLATES.values() if t.units == units and t != bundle.template]
    return Bundle(source.choice(others), bundle.words) if others else None


_MAKERS: dict[str, Maker] = {
    "reg": _reg,
    "imm": _imm,
    "op": _op_of,
    "drop": _drop,
    "swap": _swap,
    "target": _target,
    "predicate": _predicate,
    "stop": _stop,
}


def _text(bundle: Bundle, address: int) -> str:
    insns = _insns(bundle)
    parts = []
    for n, insn in enumerate(insns):
        stops = _stops(bundle.template, n, insns)
        parts.append(TABLE.text(insn, address) + (" ;;" if stops else ""))
    return " / ".join(parts)


def _stops(template: Template, n: int, insns: Sequence[Insn]) -> bool:
    return (SLOTS - 1 if n == len(insns) - 1 else n) in template.stops
