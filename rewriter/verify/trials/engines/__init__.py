"""Cases run under an emulator, which knows nothing of our readings.

qemu   Batches of cases through code of ours inside qemu user emulation: no libc, no cross compiler
sweep  Cases through a routine inside qemu user emulation, a million a second
"""
