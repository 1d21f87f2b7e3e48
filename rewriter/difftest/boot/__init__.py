"""Kernels booted in an emulator, and their consoles compared.

The door is `compare`.

compare  Two kernels booted with one initial file system, and what they print compared
console  Two consoles compared: all lines, in order, but for what the rules of volatile lines name
kernel   A kernel to boot: its file, unpacked if need be, and which addresses are whose
machine  One boot of a kernel in the emulator, bounded in time and in what it prints
rules    What two boots of Linux kernels that do the same may print differently, and nothing else
"""
