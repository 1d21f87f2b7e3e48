"""Branches, and what moves the frame or rotates it (SDM vol. 3, br, alloc, cover, clrrrb)."""

from __future__ import annotations

from dataclasses import replace

from targets.ia64.isa.fields import BUNDLE
from targets.ia64.machine.faults import IllegalOperation
from targets.ia64.machine.frames import Frame
from targets.ia64.machine.state import CPL, MASK, POISON, PSR, STACKED, State
from targets.ia64.meanings.binding import Meaning, named
from targets.ia64.registers import NUMBERS, PR

PFS, LC, EC = NUMBERS["ar.pfs"], NUMBERS["ar.lc"], NUMBERS["ar.ec"]
IFS = NUMBERS["cr.ifs"]
_P63 = PR + 63
_FRAME = (1 << 38) - 1  # the frame marker in PFS and IFS
_EPILOG, _PRIVILEGE = 52, 62  # where PFS has ar.ec (6 bits) and the privilege level (2 bits)
_COLLECTING = 1 << 13  # psr.ic: interruptions write the control registers


def _conditional(m: State, target25: int) -> None:
    m.target = target25


def _long(m: State, target64: int) -> None:
    m.target = target64


def _indirect(m: State, b2: int) -> None:
    m.target = m.r[b2] & -BUNDLE


def _call(m: State, b1: int, target25: int, bundle: int) -> None:
    _enter(m, b1, bundle)
    m.target = target25


def _call_long(m: State, b1: int, target64: int, bundle: int) -> None:
    _enter(m, b1, bundle)
    m.target = target64


def _call_indirect(m: State, b1: int, b2: int, bundle: int) -> None:
    target = m.r[b2] & -BUNDLE
    _enter(m, b1, bundle)
    m.target = target


def _enter(m: State, b1: int, bundle: int) -> None:
    """The frame of a called procedure: the caller's outputs, until it allocates more."""
    caller = m.frame
    m.r[PFS] = caller.value | m.r[EC] << _EPILOG | m.r[CPL] << _PRIVILEGE
    m.move_frame(caller.sol, Frame(caller.sof - caller.sol))
    m.r[b1] = bundle + BUNDLE & MASK


def _return(m: State, b2: int) -> None:
    target, previous = m.r[b2] & -BUNDLE, m.r[PFS]
    frame = Frame.of(previous & _FRAME)
    if not frame.is_possible:
        raise IllegalOperation(f"ar.pfs has an impossible frame: {frame}")
    m.move_frame(-frame.sol, frame)
    m.r[EC] = previous >> _EPILOG & 0x3F
    m.r[CPL] = max(m.r[CPL], previous >> _PRIVILEGE)
    m.target = target


def _counted(m: State, target25: int) -> None:
    if m.r[LC]:
        m.r[LC] -= 1
        m.target = target25


def _step(m: State, more: int, stage: int) -> bool:
    """One iteration of a pipelined loop: `more` says that the loop proper goes on, `stage` is the
    stage predicate of the next iteration.  Whether another iteration follows."""
    follows = bool(more) or m.r[EC] > 1
    m.r[_P63] = stage
    if more:
        m.rotate()
    elif m.r[EC]:
        m.r[EC] -= 1
        m.rotate()
    return follows


def _counted_step(m: State) -> bool:
    more = m.r[LC] != 0
    m.r[LC] -= more
    return _step(m, more, int(more))


def _ctop(m: State, target25: int) -> None:
    if _counted_step(m):
        m.target = target25


def _cexit(m: State, target25: int) -> None:
    if not _counted_step(m):
        m.target = target25


# These rotate whether their predicate is true or not.
UNQUALIFIED = ("br.wtop", "br.wexit")


def _wtop(m: State, qp: int, target25: int) -> None:
    if _step(m, m.r[qp], 0):
        m.target = target25


def _wexit(m: State, qp: int, target25: int) -> None:
    if not _step(m, m.r[qp], 0):
        m.target = target25


def _alloc(m: State, r1: int, sof: int, sol: int, sor: int) -> None:
    old = m.frame
    if not Frame(sof, sol, sor).is_possible:
        raise IllegalOperation(f"a frame of {sof} registers, {sol} local, {sor} rotating")
    if r1 >= STACKED + sof:
        raise IllegalOperation("alloc writes outside the frame it makes")
    if sor != old.sor and (old.rrb_gr or old.rrb_fr or old.rrb_pr):
        raise IllegalOperation("alloc changes what rotates while registers are rotated")
    for register in range(STACKED + old.sof, STACKED + sof):
        m.r[register], m.nat[register] = POISON, 0
    m.stack.need(sof)
    m.frame = replace(old, sof=sof, sol=sol, sor=sor)
    m.show()
    m.put(r1, m.r[PFS])


def _cover(m: State) -> None:
    covered = m.frame
    m.move_frame(covered.sof, Frame())
    if not m.r[PSR] & _COLLECTING:
        m.r[IFS] = covered.value | 1 << 63


def _clear_bases(m: State) -> None:
    m.reframe(replace(m.frame, rrb_gr=0, rrb_fr=0, rrb_pr=0))


def _clear_predicate_base(m: State) -> None:
    m.reframe(replace(m.frame, rrb_pr=0))


def _nothing(m: State) -> None:
    """A prediction is a hint."""


MEANINGS: dict[str, Meaning] = {
    "br.cond{bwh}{ph}{dh} {target25}": named(_conditional),
    "br.cond{bwh}{ph}{dh} {b2}": named(_indirect),
    "br.call{bwh}{ph}{dh} {b1}={target25}": named(_call),
    "br.call{bwh}{ph}{dh} {b1}={b2}": named(_call_indirect),
    "br.ret": named(_return),
    "br.cloop": named(_counted),
    "br.ctop": named(_ctop),
    "br.cexit": named(_cexit),
    "br.wtop": named(_wtop),
    "br.wexit": named(_wexit),
    "brl.cond": named(_long),
    "brl.call": named(_call_long),
    "brp": named(_nothing),
    "brp.ret": named(_nothing),
    "alloc": named(_alloc),
    "cover": named(_cover),
    "clrrrb": named(_clear_bases),
    "clrrrb.pr": named(_clear_predicate_base),
}
