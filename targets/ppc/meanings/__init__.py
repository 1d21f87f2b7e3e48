"""What PowerPC's instructions do, as functions over `Machine` (Power ISA 3.1B, Books I to III).

Makers return a meaning for a family of rows; the rows in `targets/ppc/isa/` name them.  A word is
32 bits, whatever the machine's width.  What the architecture leaves undefined is `undefined`, an
unknown function of what the instruction reads; `answers` has values for it, and for what
`Machine` has no operation for, where something is to be run.

answers        Numbers for what the other files leave open
compare        Comparisons, and values made of fields of the condition register
control        Branches, operations on the condition register, traps
counts         Zeros, set bits, bytes
floating       Moves, loads and stores of doublewords, the FPSCR
memory         Loads and stores, of one register and of many; reservations; cache blocks
operate        Sums, carries, products, logic, with record and overflow forms
shifts         Rotates, masks, shifts
system         Special registers and what only a system does
unknown        Results of which no more is said than what they depend on
vector         Integer operations on vectors, permutes, moves
vector_memory  Loads and stores of vectors
wide           Values in parts, each as wide as a general register
"""
