"""PowerPC, 32 and 64 bits, in either byte order: from the 603e to POWER10.

abi            The three calling standards: who may read which register when control leaves
arithmetic     What the table leaves open, on plain numbers, for trials: undefined results, dcbz
asm            An assembler for tuned routines
bit_counts     How the steps of a search for a bit are said, with 32 and 64 bits
boots          How kernels are booted: a PowerMac of 32 bits, an LPAR of 64
combining      Instructions of later chips that do what several did before
cpus           CPUs: names, features, and pipelines, every figure with its source
flushing       Blocks of caches that code flushes one by one
hwcaps         What Linux tells a program of the CPU
idioms         How passes' wants are spelled; saves of registers, steps of the stack pointer
image          What stands in text and around it: addresses, tables, data, what moves
isa            The instruction table, a file for each family of rows; `isa.table` is the door
linkage        How known routines are called
meanings       What the rows do
registers      One numbering of all registers, and their names
routines       Tuned routines
running        How programs are run: an emulator for each width and byte order
systems        Machines around the chips: clocks, last caches, memory
target         What the floors above ask, answered; the door
touching       Asking for lines ahead: the 32-bit chips see no streams themselves
trial_program  What runs known routines over cases inside qemu
"""
