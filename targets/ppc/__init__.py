"""PowerPC, 32 and 64 bits, in either byte order: from the 750 to POWER10.

- `registers`: one numbering of all registers, and their names.

- `isa`: the instruction table, a file for each family of rows; `isa.table` is the door.
- `meanings`: what the rows do.
"""
