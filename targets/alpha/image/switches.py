"""Computed jumps of Alpha code: how a switch reads, and where other jumps get their address.

A switch jumps through a table of 32-bit entries relative to gp (R_ALPHA_GPREL32) or to a label:

    cmpule index,N,t        the bound
    beq t,default
    s4addq index,table,t
    ldl t,0(t)
    addq t,gp,t
    jmp (t)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewriter.core.code.listing import Listing
from rewriter.core.code.program import Bound, Origin, TableRead
from rewriter.core.isa.instruction import Insn
from rewriter.core.target.protocol import Definitions
from targets.alpha.abi import FRAME_BASES
from targets.alpha.registers import GP, PV, ZERO
from targets.reading import Distances, written

ENTRY_SIZE = 4  # bytes of a jump table's entry
DISTANCES = Distances(ENTRY_SIZE, "little", 64)
_WITHIN = {"cmpule": 1, "cmpult": 0}
"""Comparisons of an index with the last one, or with how many there are."""
_WIDTH = 64
"""The bits of an index that `s4addq` reads."""
_LONG_MASK = 0xF
"""The bytes of a longword, as ZAPNOT names them."""


def origin(insn: Insn) -> tuple[Origin, int] | None:
    """How an instruction comes by an address to jump to, and the register that it reads."""
    name = insn.name
    if name == "ldq":
        base = insn.operand("rb")
        return (Origin.SHARED if base == GP else Origin.MEMORY), base
    if name == "ldah" and insn.operand("rb") == GP:
        return Origin.HIGH, GP
    if name == "lda" and insn.operand("rb") != ZERO:
        return Origin.SUM, insn.operand("rb")
    if name == "bis" and insn.op.format.name == "operate":
        a, b = insn.operand("ra"), insn.operand("rb")
        if a == b or ZERO in (a, b):
            return Origin.COPY, b if a == ZERO else a
    return None


def jumps_through(insn: Insn) -> tuple[int, bool]:
    """The register that a computed jump goes through, and whether calls go through it."""
    register = insn.operand("rb")
    return register, register == PV


def widened(insn: Insn) -> tuple[int, int, int] | None:
    """(source, result, bits) of an instruction that zero-extends the low bits of a register."""
    literal = insn.op.format.name == "operate literal"
    if insn.name == "zapnot" and literal and insn.operand("rb") == _LONG_MASK:
        return insn.operand("ra"), insn.operand("rc"), 32
    return None


# Tables -----------------------------------------------------------------------------------


def table_reads(
    jump: int, insn: Insn, definitions: Definitions, shared: Sequence[int]
) -> list[TableRead]:
    """The tables that a computed jump may go by; none if a way to it does not read as a switch."""
    found: list[TableRead] = []
    for at, add in definitions.made(insn.operand("rb"), jump):
        reads = list(_added(at, add, definitions, shared)) if add.name == "addq" else []
        if not reads:
            return []
        found += reads
    return found


def pointed(
    jump: int, insn: Insn, definitions: Definitions, shared: Sequence[int]
) -> frozenset[int]:
    """The addresses that a computed jump may go by; none if there may be others."""
    return frozenset(_constants(insn.operand("rb"), jump, definitions, shared))


def _added(
    at: int, add: Insn, definitions: Definitions, shared: Sequence[int]
) -> Iterator[TableRead]:
    """By the sum of an entry and what entries are relative to."""
    if add.op.format.name != "operate":
        return
    for entry, base in (("ra", "rb"), ("rb", "ra")):
        loads = definitions.made(add.operand(entry), at)
        if not loads or any(load.name != "ldl" for _, load in loads):
            continue
        bases = _constants(add.operand(base), at, definitions, shared)
        reads = [list(_loaded(*load, bases, definitions, shared)) for load in loads]
        if bases and all(reads):
            for some in reads:
                yield from some


def _loaded(
    at: int, load: Insn, bases: Sequence[int], definitions: Definitions, shared: Sequence[int]
) -> Iterator[TableRead]:
    """By the load of an entry."""
    sums = definitions.made(load.operand("rb"), at)
    if any(scaled.name != "s4addq" or scaled.op.format.name != "operate" for _, scaled in sums):
        return
    for place, scaled in sums:
        tables = _constants(scaled.operand("rb"), place, definitions, shared)
        index = scaled.operand("ra")
        for base in bases:
            for table in tables:
                yield TableRead(table + load.operand("disp"), base, index, place, _WIDTH)
            if not tables:
                yield TableRead(None, base, index, place, _WIDTH)


def _constants(
    register: int, use: int, definitions: Definitions, shared: Sequence[int]
) -> list[int]:
    """The addresses of this file that a register may hold; none where there may be others."""
    found, seen = set[int](), {(register, use)}
    queue = [(register, use)]
    while queue:
        register, use = queue.pop()
        if register == GP:
            found.update(shared)
            continue
        made = definitions.made(register, use)
        for at, insn in made:
            way = _way(at, insn, definitions, shared)
            if way is None:
                return []
            found.update(way[0])
            queue += [other for other in way[1] if other not in seen]
            seen.update(way[1])
        if not made:
            return []
    return sorted(found)


_Way = tuple[Sequence[int], Sequence[tuple[int, int]]]
"""Addresses that are made, or registers, with where they are read, that they are copied from."""


def _way(at: int, insn: Insn, definitions: Definitions, shared: Sequence[int]) -> _Way | None:
    """How an instruction makes an address of this file, if it does."""
    how = origin(insn)
    if how is None:
        return None
    if how[0] is Origin.COPY:
        return (), ((how[1], at),)
    if how[0] is Origin.MEMORY:  # put aside on the stack, perhaps
        place = _stack_place(insn)
        spilled = definitions.stored(*place, at) if place is not None else ()
        return ((), [(register, store) for store, register in spilled]) if spilled else None
    highs = definitions.made(how[1], at) if how[0] is Origin.SUM else ()
    if not highs or any(origin(high) != (Origin.HIGH, GP) for _, high in highs):
        return None
    low = insn.operand("disp")
    distances = [(high.operand("disp") << 16) + low for _, high in highs]
    return [(gp + distance) % (1 << 64) for gp in shared for distance in distances], ()


def _stack_place(insn: Insn) -> tuple[int, int] | None:
    """Base and displacement of an access to the stack."""
    base = insn.operand("rb")
    return (base, insn.operand("disp")) if FRAME_BASES >> base & 1 else None


def spill(insn: Insn) -> tuple[int, int, int] | None:
    """(base, displacement, register) of a store of a whole register in the stack."""
    place = _stack_place(insn) if insn.name == "stq" else None
    return None if place is None else (*place, insn.operand("ra"))


# Bounds -----------------------------------------------------------------------------------


def bound(listing: Listing, first: int, branch: int) -> Bound | None:
    """What is known of a register behind a branch by an unsigned comparison before it."""
    by = listing.insn(branch)
    if by is None or by.name not in ("beq", "bne"):
        return None
    made = written(listing, by.operand("ra"), first, branch)
    compare = listing.insn(made) if made is not None else None
    if made is None or compare is None or compare.name not in _WITHIN:
        return None
    most = _constant(listing, compare, first, made)
    if most is None:
        return None
    place = int(listing.addresses[branch])
    target = by.target(place)
    assert target is not None
    inside = place + by.size if by.name == "beq" else target
    return Bound(made, compare.operand("ra"), branch, inside, most + _WITHIN[compare.name])


def _constant(listing: Listing, compare: Insn, first: int, at: int) -> int | None:
    """What a comparison compares with."""
    if compare.op.format.name == "operate literal":
        return compare.operand("rb")
    made = written(listing, compare.operand("rb"), first, at)
    insn = listing.insn(made) if made is not None else None
    if insn is None or insn.name != "lda" or insn.operand("rb") != ZERO:
        return None
    value = insn.operand("disp")
    return value if value >= 0 else None
