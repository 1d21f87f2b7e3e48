"""Code as the floors above see it, before and after it is understood.

dataflow    A block run symbolically, step by step, with its definitions and uses
extensions  Instructions that only some CPUs have, and that trap on the others
groups      Code of a machine whose text says which instructions issue together: slots and groups
listing     All instruction positions of a text, in address order, as parallel arrays
memory      What is asked of a file's memory, as it is when the file is loaded
nops        Which nops of a text nobody needs: not those where something may be written
program     Functions, blocks and the places in text that something else relies on
scheduling  The vocabulary of scheduling straight code in groups: facts, edges, parts and
            arrangements
shadows     Code that is executed again: behind arithmetic that traps late, where software
            completes it
superblock  Straight code with exits on the way, entered at the top only
system_tables
            Tables in which a system keeps addresses of code: where they stand, and what entries
            say
transfer    What a proof that code was only reordered asks about an instruction, and of a target
unread_tables
            Why the tables in which a kernel names code cannot be read: where they are, or their
            format

ordering  What scheduling straight code in groups asks of a target, and that of the model of a CPU
"""
