"""Routines tried on the cases of their contracts.

The door is `trial`.

image     What can be tried: a function of a linked file, or a routine that was assembled
records   Cases of a contract as bytes for a sweep, with what must come back
steps     One case at a time on the built-in interpreter, which traps what an emulator lets pass
trial     Tries a routine on the cases of its contract: TESTED evidence, or the smallest failure
engines/  Cases run under an emulator, which knows nothing of our readings
"""
