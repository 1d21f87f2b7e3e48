"""What PowerPC's instructions do, as functions over `Machine` (Power ISA 3.1B, Books I to III).

Makers return a meaning for a family of rows; the rows in `targets/ppc/isa/` name them.  A word is
32 bits, whatever the machine's width.  What the architecture leaves undefined is `undefined`, an
unknown function of what the instruction reads; `answers` has values for it, and for what
`Machine` has no operation for, where something is to be run.

- `operate`: sums, carries, products, logic, with record and overflow forms.
- `compare`: comparisons, and values made of fields of the condition register.
- `shifts`: rotates, masks, shifts.
- `counts`: zeros, set bits, bytes.
- `control`: branches, operations on the condition register, traps.
- `memory`: loads and stores, of one register and of many; reservations; cache blocks.
- `system`: special registers and what only a system does.
- `answers`: numbers for what the other files leave open.
"""
