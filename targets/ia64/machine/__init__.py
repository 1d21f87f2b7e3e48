"""A concrete machine that runs IA-64 code of real files, group by group.

    memory = Memory()                        # of `interpret`: regions with permissions
    memory.map(address, code, write=False)
    processor = Processor(memory, backing)   # backing: address of mapped memory for the stack
    value = call(processor, entry, (a, b))   # calling.call: the standard calling convention
    trace = processor.run(start, stop)       # or run it by hand, with `processor.state` set up

`Processor(memory, backing, policy)` takes an ALAT policy (`alat.KeepAll`, `DropAll`, `Seeded`).
`state.r[number]` is a register by its number in `targets.ia64.registers`, `state.nat[n]` the NaT
bit of r*n*, `state.events` what the system would see.  A run yields `trace.Executed`, one for each
slot that control passed, on or off.  It raises AccessFault, BadInstruction, LimitReached and
Misaligned (`rewriter.core.readings`), and what `faults` names: NatConsumption, IllegalOperation,
FloatingFault, GroupViolation.  After that `state` is as before the slot at `state.pc`, so a handler
may change it and run on, from there or from a fixup.

What no instruction says (break, tpa, ...) is asked of `state.answers`, by the row's name.

frames  Frame markers, and where the register stack lies in memory (SDM vol. 2, chapter 6)
trials  A routine on cases of its contract: results, memory, registers, faults, deferred loads
"""
