"""When a tuned routine may stand for a known one: asked of the original file alone."""

from __future__ import annotations

from dataclasses import replace

from rewriter.analysis.program import Program
from rewriter.contracts import CONTRACTS
from rewriter.contracts.linkage import STANDARD
from rewriter.core.assumptions import ARGUMENTS
from rewriter.core.code.dataflow import written
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import AWAY
from rewriter.core.isa.registers import register_mask
from rewriter.core.plural import counted
from rewriter.core.target.capability import trials_of
from rewriter.core.target.protocol import Sequential, Tuned
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.identify.trusted import trusts_names
from rewriter.verify.routines.calls import ASSUMED
from rewriter.verify.routines.replaceable import Known, Named


def objection(known: Known, named: Named, function: Function) -> str:
    """Why the routine must stay, whatever would replace it; nothing if it need not."""
    frame = known.program.frames.get(function.start)
    if known.program.has_locked(replace(function, start=named.address)):
        return "load-locked and store-conditional"
    if frame is not None and (frame.lsda is not None or frame.cie.signal_frame):
        return "its unwind entry says more than how to unwind"
    if known.entered_inside(named, function) and known.loops_to_entry(named, function):
        return "entered inside, it branches to its own entry"
    for name in named.contracts:
        outcome = known.outcome(named, CONTRACTS[name])
        if isinstance(outcome, str):
            return f"does not behave like {name}: {outcome}"
    if len({CONTRACTS[name].linkage for name in named.contracts}) > 1:
        return "its names disagree on how it is called"
    missing = known.unreached(named)
    return f"not tried everywhere: {missing}" if missing else ""


def room_in_place(known: Known, named: Named, function: Function) -> int:
    """Bytes that the routine's own place has, with the nops behind it; 0 if it must keep them.

    Its code can go only where nothing enters it but at its start.
    """
    program = known.program
    if named.address != function.start or known.entered_inside(named, function):
        return 0
    if len(known.entries(named)) > 1 or _goes_on(program, function):
        return 0
    limit = min((f.start for f in program.functions if f.start >= function.end), default=0)
    first, _ = program.listing.span(function.end, limit)
    end = function.end
    while end < limit and program.listing.has(end):
        insn = program.listing.insn(first)
        if insn is None or not program.is_nop(end, insn):
            break
        first, end = first + 1, end + insn.size
    return end - function.start


def _goes_on(program: Program, function: Function) -> bool:
    """Whether control goes on behind a function, as where a label cuts one in two."""
    first, last = program.listing.span(function.start, function.end)
    for at in range(last - 1, first - 1, -1):
        insn = program.listing.insn(at)
        if insn is None or not program.nops[at]:
            return insn is None or insn.op.flow not in AWAY
    return True


def in_pieces(known: Known) -> bool:
    """Whether new code may stand in pieces: no kernel for Alpha unwinds by tables while it runs."""
    return known.program.is_kernel


def without_entries(known: Known, named: Named, function: Function, routine: Tuned) -> str:
    """Why a routine that resumes after faults cannot stand there; nothing if it can.

    The exception table does not grow: the entries of the old code are all that there are, and
    they are free only where none of it stays.
    """
    needed, there = len(routine.resumes), 0
    if in_pieces(known) and room_in_place(known, named, function):
        there = len(known.program.fixups_of(function))
    entries = counted(needed, "entry", "entries")
    return f"needs {entries} of the exception table, has {there}" if needed > there else ""


def unwinds_plainly(known: Known, named: Named, function: Function) -> bool:
    """Whether unwinding from where the routine is entered goes by the CIE alone."""
    frame = known.program.frames.get(function.start)
    if frame is None:
        return True
    rows = unwind_rows.rows(frame)
    plain = unwind_rows.initial_rules(frame)
    at = (max(row for row in rows if row[0] <= entry) for entry in known.entries(named))
    return all(rules == plain for _, rules in at)


def _first(target: Sequential, mask: int) -> str:
    """The name of the first register of a mask."""
    names = target.table.register_names
    return next(name for n, name in enumerate(names) if mask >> n & 1)


def preconditions(
    known: Known, named: Named, function: Function, routine: Tuned
) -> tuple[str, ...] | str:
    """What is assumed when the routine's registers are written there; or which stands against it.

    A caller may keep a value in a register because nothing in the function writes it.  What it
    gives to another call does not show; that is assumed only of files whose routines are compiled
    apart from their callers, and only of registers that the dynamic loader's trampolines save: they
    come to routines of another file between where an argument is set and where the function that
    it is for begins, as to memset through malloc.
    """
    lacking = without_entries(known, named, function, routine)
    if lacking:
        return lacking
    target = known.program.target
    linkage = trials_of(target).program(CONTRACTS[named.contracts[0]].linkage).linkage
    size = target.table.size
    words = (routine.code[at : at + size] for at in range(0, len(routine.code), size))
    order = known.program.image.byteorder
    insns = [target.table.decode(int.from_bytes(word, order)) for word in words]
    free = sum(1 << register for register in (*linkage.preserved, linkage.result, linkage.link))
    new = written(target.table, insns) & ~free
    taken = new & target.reserved(known.program.image)
    if taken:
        return f"the new one writes {_first(target, taken)}, which this kernel reserves"
    new &= ~known.calls.writes(function)
    if not new:
        return ()
    kept = new & known.calls.kept(function)
    if kept:
        return f"a caller may keep a value in {_first(target, kept)}"
    relied = new & known.calls.relied_on(function)
    if relied:
        return f"a caller of a trampoline of this file may keep a value in {_first(target, relied)}"
    handed = new & register_mask(trials_of(target).linkages[STANDARD].others)
    if handed:
        return f"a trampoline's caller may have an argument in {_first(target, handed)}"
    passed = new & _passed(target)
    if passed and not trusts_names(known.program.image):
        return f"a caller may keep an argument of another call in {_first(target, passed)}"
    if passed and ARGUMENTS not in known.program.assume:
        return f"{ASSUMED}: --assume does not allow it"
    return (ASSUMED,) if passed else ()


def _passed(target: Sequential) -> int:
    """The registers that a call may be given something in, of the kinds that routines have."""
    linkages = trials_of(target).linkages.values()
    return register_mask(register for one in linkages for register in (*one.arguments, one.entry))
