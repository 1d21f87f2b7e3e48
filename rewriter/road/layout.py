"""A function in a new layout."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

from passes.align import Align
from passes.cmov import Cmov
from passes.combining.choose import Choose
from passes.layout import ByProfile
from passes.lib.judged import Judge
from passes.lib.move import Moved, NoRoom, NotClosed, move
from passes.ordering.arranged import Order
from passes.prefetch import Prefetch
from rewriter.core.code.program import Function
from rewriter.core.edit import Edit, Evidence, Grade, Skip
from rewriter.core.isa.instruction import Insn
from rewriter.core.plural import counted
from rewriter.core.target.idioms import Inverting
from rewriter.core.target.protocol import CannotMove
from rewriter.road.work import Work, edit_id
from rewriter.timing.straight import Code


@dataclass(frozen=True)
class Layout:
    """Lays functions out anew with what earlier passes left and inserted.

    It `aligns` what branches lead to, and `orders` blocks by a profile.
    """

    work: Work
    align: Align
    aligns: bool
    orders: bool

    @property
    def names(self) -> str:
        """The passes that it is."""
        ours = (ByProfile.name, self.orders), (self.align.name, self.aligns)
        return ", ".join(name for name, is_one in ours if is_one)

    def run(self, function: Function) -> None:
        """Moves a function if it may move and that changes anything."""
        work = self.work
        edit = edit_id(self.align.name, function, function.start)
        if not (self.aligns and work.wants(edit)) and self._inverting(function) is None:
            work.without_room(function, "the function keeps its layout")
            return
        inserted = work.inserted.get(function)
        if inserted is not None and inserted.added:
            work.without_room(function, "something else was inserted, too", f"{Choose.name}:")
        try:
            moved = self._moved(function, inserted.added if inserted is not None else {})
            moved = self._for_hints(function, moved)
        except NotClosed as reason:
            self._with_fewer_choices(function, reason)
            return
        except NoRoom as reason:
            if work.with_less(function, f"no room: {reason}", f"{Cmov.name}:"):
                self.run(function)
                return
            self._stays(function, reason)
            return
        except CannotMove as reason:
            self._stays(function, reason)
            return
        if moved is not None and (moved.order is not None or (self.aligns and work.wants(edit))):
            work.moved[function] = moved
            work.edits.append(self._edit(moved, self._saved(function, moved)))
        else:
            self._with_fewer_choices(function, NotClosed())

    def _with_fewer_choices(self, function: Function, reason: NotClosed) -> None:
        """Lays a function out without some of the choices behind which it does not close up."""
        if self.work.with_less(function, str(reason), f"{Choose.name}:", reason.places):
            self.run(function)

    def _inverting(self, function: Function) -> Inverting | None:
        """How branches are inverted, where blocks of a function may change places."""
        described = self.work.described.followed(function)
        edit = edit_id(ByProfile.name, function, function.start)
        if not self.orders or described or not self.work.wants(edit):
            return None
        return self.work.program.target.inverting

    def _stays(self, function: Function, reason: CannotMove) -> None:
        """A function that cannot move, or not with what was inserted."""
        work = self.work
        if work.without_room(function, f"no room: {reason}"):
            self.run(function)
            return
        name = self.align.name if self.aligns else ByProfile.name
        work.leave(name, "layout", function, function.start, str(reason))

    def _moved(self, function: Function, added: dict[int, tuple[Insn, ...]]) -> Moved | None:
        work, inserted = self.work, self.work.inserted.get(function)
        if reason := work.described.stays(function):
            raise CannotMove(reason)
        slots, carried = work.slots.get(function, {}), work.carried.get(function, {})
        return move(
            work.nops,
            function,
            slots,
            added,
            self.align,
            work.cpu,
            carried,
            self._judge,
            work.branched,
            self._inverting(function),
            frozenset() if inserted is None else inserted.closed,
            partial(self._keeps_order, function),
        )

    def _keeps_order(self, function: Function, reason: str) -> None:
        """Blocks of a function stay in their order, though a profile counted branches there."""
        skip = Skip(ByProfile.name, "order", function.name, function.start, reason)
        if skip not in self.work.skips:
            self.work.skips.append(skip)

    @cached_property
    def _judge(self) -> Judge:
        target = self.work.program.target
        (nop,) = target.nops(target.table.size)
        return Judge(self.work.cpu, target.table, nop)

    def _for_hints(self, function: Function, moved: Moved | None) -> Moved | None:
        """A hint is not worth the boundary of a branch target: then the layout without it."""
        inserted, hint = self.work.inserted.get(function), f"{Prefetch.name}:"
        crowded = inserted.crowded(hint) if inserted is not None else set()
        if moved is None or inserted is None or not crowded:
            return moved
        hints = {inserted.done[edit][0] for edit in crowded}
        without = self._moved(
            function, {at: new for at, new in inserted.added.items() if at not in hints}
        )
        if without is None or without.layout.aligned <= moved.layout.aligned:
            return moved
        self.work.without_room(function, "a branch target would lose its boundary", hint)
        return without

    def _saved(self, function: Function, moved: Moved) -> Fraction | None:
        if self.work.savings is None:
            return None
        return self.work.saved(self._standing(function), self._laid_out(moved))

    def _edit(self, moved: Moved, cycles: Fraction | None) -> Edit:
        layout, function, order = moved.layout, moved.function, moved.order
        if order is not None:
            return self._ordered(function, order, moved.dropped, cycles)
        saved = counted(f"{float(layout.saved):g}", "modelled cycle")
        faster = f"; short loops take {saved} less" if layout.saved else ""
        return Edit(
            id=edit_id(self.align.name, function, function.start),
            technique=self.align.name,
            kind="layout",
            routine=function.name,
            address=function.start,
            old=counted(layout.targets, "branch target"),
            new=f"{layout.aligned} of them on a fetch-block boundary",
            evidence=Evidence(Grade.PROVED, detail=f"both files walked from every entry{faster}"),
            gain=moved.dropped,
            cycles=cycles,
        )

    def _ordered(
        self, function: Function, order: Order, dropped: int, cycles: Fraction | None
    ) -> Edit:
        many = counted(order.inverted, "branch", "branches")
        return Edit(
            id=edit_id(ByProfile.name, function, function.start),
            technique=ByProfile.name,
            kind="order",
            routine=function.name,
            address=function.start,
            old=f"{order.before} taken branches and jumps in the profile",
            new=f"{order.after}; {many} inverted, {order.jumps:+} jumps",
            evidence=Evidence(Grade.PROVED, detail="both files walked from every entry"),
            gain=dropped,
            cycles=cycles,
        )

    def _standing(self, function: Function) -> Code:
        """The function where it stands, with a nop for what went."""
        program, slots = self.work.program, self.work.slots.get(function, {})
        code = []
        for at in range(*program.listing.span(function.start, function.end)):
            address, insn = int(program.listing.addresses[at]), program.listing.insn(at)
            if insn is not None:
                kept = slots.get(address, insn)
                nop = next(iter(program.target.nops(insn.size)))
                code.append((address, nop if kept is None else kept))
        return code

    def _laid_out(self, moved: Moved) -> Code:
        """The function as it will stand."""
        listing, order = self.work.program.listing, self.work.program.image.byteorder
        code = []
        for at in range(*listing.span(moved.function.start, moved.function.end)):
            address, insn = int(listing.addresses[at]), listing.insn(at)
            if address in moved.words:
                insn = listing.table.decode(int.from_bytes(moved.words[address], order))
            if insn is not None:
                code.append((address, insn))
        return code
