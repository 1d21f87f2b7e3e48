"""What a target offers: the door is `protocol`; the rest are the parts that it is made of.

arena         Where trials and models put code and data that lie nowhere by themselves
boots         How a kernel is booted in an emulator, and what two good boots may print differently
bundled_cpu   A CPU that issues what its code puts together, as data: ports, dispersal, latencies,
              pairs
bundling      The capability `bundling`: code whose text says which instructions issue together
calls         Calls and returns of bundled code as its calling standard has them
capability    What is said where a capability is needed and not offered
code_form     Code as a row of instructions without what a new layout changes, and back
cpu           A CPU and the machine around it, as data: every number with where it comes from
dispatched_cpu
              A CPU that dispatches in order, in groups, to units that take what is ready, as
              data
emulation     How programs of a machine are run by user emulation
ident         What the header of an ELF file says of the machine that the file is for
idioms        How a target says what passes and the verifier want: accesses, moves, optional skills
prefetching   What a pass that asks for lines ahead needs of a machine whose text says what issues
              together
protocol      What the floors above ask of a target: what all have, and its capabilities
substitution  What a target of bundled code offers, so that known routines can be replaced in a
              file
"""
