"""Loops that flush blocks of caches: read as those that stood there before.

A cache's instructions have no result: what counts is which blocks they flush, and between which
barriers.  A loop of the new file flushes what the old one did if it flushes the same blocks, as a
CPU's caches have them, as often as the old one goes round; then it is read as the old one, and the
walk compares all that is around it, barriers and the order of the phases too.

The door is `reading`.

coherent  Loops that a CPU does not need whose instruction cache sees what is stored
covered   Whether a loop flushes the blocks that another does, and leaves the same in registers
reading   The text of a new file with its flushing loops as they were
shapes    What a loop that flushes is: one register that walks, and a counter
"""
