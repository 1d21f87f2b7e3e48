"""What a row's meaning runs on: machines of numbers, of lanes, of terms, one that records, one that
writes.

batched    The batched reading: NumPy lanes, thousands of inputs through the same instructions at
           once
concrete   The concrete reading: Python integers, one run, with traps for what hardware would trap
           on
extents    The bytes of memory that a number takes: how many, and in which order
interpret  Runs machine code on plain integers and says what it did, step by step
machine    What a row's meaning sees: a machine with registers, memory, control, and arithmetic
recorder   The reading of a meaning that finds out what it reads and writes
symbolic   The symbolic reading: registers and memory as terms over the state at the start
unaligned  The symbolic reading where accesses may stand anywhere: memory as bytes, in either order
unknown    Values of which nothing is known, for readings that ask only what is read and written
written    The reading that writes Python: what one instruction does to plain integers, as a
           function
"""
