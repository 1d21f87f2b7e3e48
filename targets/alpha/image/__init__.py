"""What stands in Alpha's text beside instructions' meanings: addresses, tables, what moves.

kernel    What Linux for Alpha keeps in and about its text: data behind BUG, and the exception
          table
masks     What of Alpha code depends on where it was put and what it was linked with
memory    What shows on Alpha that an address is one of memory, where no device is
moving    What Alpha instructions need when a function's code moves inside its own footprint
placing   What new code on Alpha needs where it stands: a way to it, and what unwinding goes by
pointers  What in Alpha text points into text: the gp register, and code addresses made from it
sums      Addresses that instructions add up to: `ldah rX,hi($29); lda rY,lo(rX)`
switches  Computed jumps of Alpha code: how a switch reads, and where other jumps get their address
"""
