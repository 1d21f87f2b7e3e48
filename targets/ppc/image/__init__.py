"""What stands in PowerPC's text and around it: addresses, tables, data, what moves.

constants  Addresses of this file that instructions make, on all ways to a place
data       Data among instructions: jump tables after their jump, and traceback tables
kernel     Whether a file is a kernel
kernel_tables
           Tables in which Linux for PowerPC keeps addresses of its code
linking    What the headers of a file say of its machine, and what dynamic relocations make
masks      What of PowerPC code depends on where it was put and what it was linked with
moving     What instructions need when a function's code moves inside its own footprint
placing    What new code needs where it stands: a way to it, and what unwinding goes by
pointers   What in text points into text: the TOC of each function, and addresses made from it
switches   Computed jumps: how a switch reads
walked_tables
           Where tables of a kernel begin and end that its own list of functions does not name
"""
