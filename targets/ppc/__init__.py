"""PowerPC, 32 and 64 bits, in either byte order: from the 750 to POWER10.

- `registers`: one numbering of all registers, and their names.
- `kernel_tables`: tables in which Linux keeps addresses of its code.
- `linkage`: how known routines are called.
- `trial_program`: what runs them over cases inside qemu.

- `isa`: the instruction table, a file for each family of rows; `isa.table` is the door.
- `meanings`: what the rows do.
- `cpus`: the chips that timing models know, one file a chip.
- `systems`: the machines around them.
- `asm`: an assembler for tuned routines.
- `routines`: those routines.
"""
