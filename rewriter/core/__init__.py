"""The vocabulary of all floors: instructions, values, code, targets, edits.

addresses    Arrays of addresses: unsigned, because kernels stand in the upper half of the space
assumptions  What a proof may rest on that no file shows: each by a name that `--assume` takes
compiled     Compiled modules: where they were built of the sources that are here, they are imported
differing    Where the bytes of two files differ, found in parts
edit         Rewrites, evidence and edits: what a pass proposes, why it is right, what is written
errors       The errors a user can act on: what was wrong, where, and what to do; never a traceback
leb128       Numbers of any size in groups of seven bits, as unwind tables write them (DWARF 5,
             7.6)
masks        Masks: sets of numbers as the bits of one
plural       Numbers of things, as reports and reasons say them
plugins      What other packages add by entry points: listed by name, loaded only when it is asked
             for
varints      Rows of numbers as bytes: seven bits a byte, the lowest first, the highest bit where
             one goes on
code/        Code as the floors above see it, before and after it is understood
isa/         Instruction sets as data: rows with operands, from which a table derives everything
readings/    What a row's meaning runs on: machines of numbers, of lanes, of terms, and one that
             records
run/         How work is carried out: processes, what is kept between questions, and what happens
             on trouble
target/      What a target offers: the door is `protocol`; the rest are the parts that it is made
             of
terms/       Symbolic values

trials  What runs known routines on cases: asked of a target, used by the trials of the verifier
"""
