"""Loops that fill memory get a version for long counts, which does not read what it stores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from passes.lib.insert import Declined, Finder, Insertion, Setting, Slots, tail_place
from passes.lib.steps import Change, OwnPass, Steps
from passes.streams.accesses import streams
from passes.streams.bodies import Around, Body, body_of, of_one_block, unsuited
from passes.streams.filled import Filled, Long, NoVersion
from rewriter.analysis.loops import Loop
from rewriter.analysis.program import Program
from rewriter.core.assumptions import LINES
from rewriter.core.code.program import Function
from rewriter.core.code.shadows import in_shadow
from rewriter.core.isa.instruction import AWAY, Insn
from rewriter.core.readings.interpret import Step
from rewriter.core.target.idioms import WholeLines
from rewriter.core.target.protocol import Target, is_hint
from rewriter.timing.described import NotDescribed
from rewriter.timing.model import simulate
from rewriter.timing.straight import Probe
from rewriter.verify.walk.frames import one_frame
from rewriter.verify.walk.lines.reading import EVIDENCE

_KIND = "loop that fills memory"

_LEAST = Fraction(1, 20)
"""Of the cycles out of memory: below that the model itself is not exact."""

_SHORTEST = 4
"""Bytes of a pass: those of one are for the routines that `substitute` knows."""

_BYTES = 4096
"""That are filled where a version is timed."""

_SHORT = 256
"""Bytes that a profile's mean count must fill for a version."""

_FEW = 64
"""That are filled where the short way is timed."""


class WriteHint(OwnPass):
    """A loop that fills memory gets a version for long counts, a line of the cache in each pass.

    Before    loop: stq v0,0(a0)   After          subq a1,a0,t0
                    lda a0,8(a0)                  cmpule t0,255,t0
                    cmpeq a0,a1,t0                beq t0,lead
                    beq t0,loop             loop: (as it was)
                    ...                           ...
                                            lead: stq v0,0(a0)
                                                  lda a0,8(a0)
                                                  cmpeq a0,a1,t0
                                                  bne t0,(behind the loop)
                                                  and a0,63,t0
                                                  bne t0,lead
                                            line: subq a1,a0,t0
                                                  cmpule t0,64,t0
                                                  bne t0,loop
                                                  wh64 (a0)
                                                  stq v0,0(a0)
                                                  ...
                                                  stq v0,56(a0)
                                                  lda a0,64(a0)
                                                  br line
    Requires  An innermost loop of one block that stores all that it moves over, upwards, and reads
              nothing; control falls into it; a register that is free at its head; room behind the
              function's code.  No load-locked near, no count that is known to be short, also by a
              profile.  In a kernel only what is shown to be memory.  That nobody else reads what is
              just being stored (`--assume` calls it `lines`).
    Proof     The version does what some passes of the loop do, and each line that it gives up is
              stored wholly before anything else happens (`verify/walk/lines/`), shown on terms;
              the walk compares both files without it.

    The line becomes the chip's own without being read.  Made where the model says that a long
    count takes less out of memory, and no more in the cache.
    """

    name = "writehint"
    change = Change.ROOM

    def offered(self, target: Target) -> bool:
        """Where there are instructions that give up a line."""
        return target.sequential is not None and target.sequential.whole_lines is not None

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.inserts(self)

    def finder(self, program: Program, setting: Setting) -> Finder:
        """What finds the sites of functions."""
        known = setting.target.whole_lines
        if known is None or setting.cpu.pipeline is None:
            return lambda function, slots: iter(())
        loops = of_one_block(program.listing, setting.loops)

        def found(function: Function, slots: Slots) -> Iterator[Insertion | Declined]:
            for loop in loops.get(function.start, ()):
                one = _Site(program, function, loop, slots, setting, known)
                if one.fills():
                    yield one.insertion()

        return found


@dataclass
class _Site:
    """A loop of one block, as earlier passes left it."""

    program: Program
    function: Function
    loop: Loop
    slots: Slots
    setting: Setting
    known: WholeLines

    def __post_init__(self) -> None:
        places = body_of(self.program, self.loop, self.slots).places
        target = self.setting.target
        hinted = ((at, insn) for at, insn in places if insn is None or not is_hint(insn, target))
        self.body = Body(tuple(hinted))
        self.around = Around(self.program, self.function, self.loop)

    def fills(self) -> bool:
        """Whether it stores all that one of its streams moves over."""
        for stream in streams(self.body.insns, self.setting.target):
            stored = {a.offset + n for a in stream.accesses if a.stores for n in range(a.size)}
            if stream.writes and len(stored) >= abs(stream.step) >= _SHORTEST:
                return True
        return False

    def insertion(self) -> Insertion | Declined:
        """The version and the test, or why there is none."""
        try:
            return self._insertion()
        except (NoVersion, NotDescribed) as reason:
            return Declined(_KIND, self.loop.head, str(reason))

    def _insertion(self) -> Insertion:
        if LINES not in self.program.assume:
            raise NoVersion("--assume does not allow it")
        if reason := unsuited(self.body, self.setting) or self.around.forbids():
            raise NoVersion(reason)
        for stream in streams(self.body.insns, self.setting.target):
            if stream.accesses and (reason := self.around.device(stream)):
                raise NoVersion(reason)
        program, setting, head = self.program, self.setting, self.loop.head
        filled = Filled(self.body.insns, self._spare(), setting.target, self.known, setting.prover)
        if reason := self.around.hot(filled.stream, self.known.LINE, self.body):
            raise NoVersion(reason)
        self._counted(filled.stream.step)
        before = self._before()
        self._place()
        long = filled.long()
        detail, saves = _Model(long, filled.passes, setting, self.known).said()
        stood = self.slots.get(before, program.listing.insn(program.listing.index(before)))
        kept = () if stood is None or program.is_nop(before, stood) else (stood,)
        tail = tail_place(before)
        way = long.test[-1].replace(target=tail - _behind(before, len(kept) + len(long.test) - 1))
        evidence = replace(EVIDENCE, detail=detail)
        insns = (*kept, *long.test[:-1], way)
        return Insertion(_KIND, before, insns, evidence, saves, tail=self._tail(long, tail, head))

    def _counted(self, step: int) -> None:
        """That a profile, if there is one, does not say that counts are short."""
        counted = self.setting.branched.get(self.loop.latch)
        if counted is not None:
            ends = counted.executed - counted.held
            if counted.executed * step < _SHORT * ends:
                raise NoVersion("counts are short, by the profile")

    def _spare(self) -> int:
        """Registers that are dead at the head, and that the function writes."""
        program, written = self.program, 0
        for insn in program.listing.insns(self.function.start, self.function.end):
            written |= 0 if insn is None else program.target.table.defs(insn)
        return written & ~program.live_into(self.loop.head) & ~(1 << program.target.stack)

    def _before(self) -> int:
        """The address before the head, from where control falls into it."""
        program, listing, head = self.program, self.program.listing, self.loop.head
        at = listing.index(head) - 1
        insn = listing.insn(at) if head > self.function.start else None
        if insn is None or insn.op.flow in AWAY:
            raise NoVersion("control does not fall into it")
        address, graph = int(listing.addresses[at]), program.graph
        one = graph.block_holding(head) == graph.block_holding(self.loop.latch)
        if not one or not graph.reached[graph.block_holding(address)]:
            raise NoVersion("control does not fall into it")
        if address in self.setting.locked:
            raise NoVersion("between load-locked and store-conditional")
        if in_shadow(listing, at, listing.index(self.function.start), program.target):
            raise NoVersion("where a trap may come late")
        return address

    def _place(self) -> None:
        """That the version may stand behind the function's last instruction."""
        program, function = self.program, self.function
        first, last = program.listing.span(function.start, function.end)
        while last > first and program.nops[last - 1]:
            last -= 1
        insn = program.listing.insn(last - 1)
        if insn is None or insn.op.flow not in AWAY:
            raise NoVersion("control may fall out of the function")
        end = int(program.listing.addresses[last - 1])
        if not one_frame(program.frames.get(function.start), (self.loop.head, end + insn.size)):
            raise NoVersion("unwinders find another frame behind the function's code")
        frame = program.frames.get(function.start)
        if program.fixups_of(function) or (frame is not None and frame.lsda is not None):
            raise NoVersion("an access may go on elsewhere")

    def _tail(self, long: Long, start: int, head: int) -> tuple[Insn, ...]:
        """The version as it stands behind the function, with its jump."""
        parts, size = long.parts, self.body.insns[0].size
        out = self.loop.latch + size
        lead, starts, *guards, body = parts
        goals = [out, start, *(head for _ in guards)]
        found: list[Insn] = []
        for part, goal in zip((lead, starts, *guards), goals, strict=True):
            found += part[:-1]
            found.append(part[-1].replace(target=goal - (start + len(found)) - size))
        found += body
        line = start + len(lead) + len(starts)
        return (*found, self.known.jump(line - (start + len(found)) - size))


def _behind(address: int, number: int) -> int:
    """Where control goes on behind the n-th instruction that is put at an address."""
    return address + number + 4


@dataclass
class _Model:
    """Cycles of a loop and of its version, where a register holds the place to be filled."""

    long: Long
    passes: int
    setting: Setting
    known: WholeLines

    def said(self) -> tuple[str, Fraction]:
        """What the version gains, and the cycles that a pass of a long count takes less."""
        count = _BYTES // self.long.stream.step
        (old, warm), (new, hot) = (self._cycles(count, long) for long in (False, True))
        if old - new < _LEAST * old:
            raise NoVersion("no gain in the model")
        if hot > warm:
            raise NoVersion("a long count would take longer in the cache")
        few = _FEW // self.long.stream.step
        short = self._warm(self._old(few, ()))
        tested = self._warm(self._old(few, self.long.test))
        said = f"{_BYTES} bytes took {old} cycles out of memory and {warm} in the cache, and take"
        said += f" {new} and {hot}; {_FEW} bytes took {short} and take {tested}"
        where = f"in the model of {self.setting.cpu.name} in {self.setting.system.name}"
        return f"{said} {where}", Fraction(old - new, count)

    def _cycles(self, count: int, long: bool) -> tuple[int, int]:
        """Out of memory, and in the cache."""
        steps = self._new(count) if long else self._old(count, ())
        cold = simulate(steps, self.setting.cpu, self.setting.system, warm=False).cycles
        return cold, self._warm(steps)

    def _warm(self, steps: list[Step]) -> int:
        return simulate(steps, self.setting.cpu, self.setting.system).cycles

    def _old(self, count: int, test: tuple[Insn, ...]) -> list[Step]:
        path = self._path()
        path.straight(test, 0)
        path.loop(self.long.version.loop, _HEAD, count)
        return path.steps

    def _new(self, count: int) -> list[Step]:
        """From the middle of a line on: a lead-in, whole lines, and the rest by the loop."""
        path, version = self._path(), self.long.version
        path.straight(self.long.test, 0, _VERSION)
        led = max(self.passes // 2, 1)
        again = (*version.lead, *version.starts)
        path.loop(again, _VERSION, led)
        lines = (count - led) // self.passes - 1
        line = [insn for guard in version.guards for insn in guard]
        start = _VERSION + sum(insn.size for insn in again)
        path.loop((*line, *version.body, self.known.jump(0)), start, lines)
        path.loop(version.loop, _HEAD, count - led - lines * self.passes)
        return path.steps

    def _path(self) -> _Path:
        return _Path(self.setting, self.known, self.long.stream.base, self.known.LINE // 2)


_HEAD, _VERSION = 1 << 8, 1 << 12
"""Behind where code is timed: the loop's head, and its version."""


class _Path:
    """Instructions as they are executed, a register at some distance into a line to be stored."""

    def __init__(self, setting: Setting, known: WholeLines, base: int, distance: int) -> None:
        self.known, self.code = known, setting.target.arena.code
        self.probe = Probe.of(setting.target.table)
        self.probe.registers[base] = setting.target.arena.data + distance
        self.steps: list[Step] = []

    def straight(self, insns: tuple[Insn, ...], place: int, goal: int | None = None) -> None:
        """Code at a place, whose last instruction may lead to another."""
        at = place or self.code + _HEAD - sum(insn.size for insn in insns)
        for insn in insns:
            step = self.probe.step(insn, at)
            register = self.known.given_up(insn)
            if register is not None:
                line = self.probe.registers[register] & -self.known.LINE
                step = replace(step, access=line, size=self.known.LINE, store=True)
            self.steps.append(step)
            at += insn.size
        if insns and goal is not None:
            self.steps[-1] = replace(self.steps[-1], target=self.code + goal)

    def loop(self, insns: tuple[Insn, ...], place: int, count: int) -> None:
        """Code again and again, until its last instruction does not lead back."""
        for turn in range(count):
            self.straight(insns, self.code + place, place if turn < count - 1 else None)
