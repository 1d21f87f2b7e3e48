"""What registers hold, as far as the text shows it.

chains    Computed calls that give a nested function its static chain
continued Return addresses that code makes itself: where control comes back to that went elsewhere
heights   Whether the stack pointer is where it was when a function was entered, at a place in it
keeping   Which registers calls change, though the calling standard has callees keep them
memory    Registers that hold addresses of memory, where no device is
ranges    Ranges that registers are in at every block of a function, by the branches before it
pointers  Calls behind which the register for shared data holds already what is put there again
reaching  Which instructions a register's value may come from, by all paths through a function
spills    Places of a function's own frame that hold addresses of memory
"""
