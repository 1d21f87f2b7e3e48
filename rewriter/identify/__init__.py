"""Which routines a file has: names, signatures, behaviour by shape, and profiles.

bundled_signatures  Signatures of routines in linked files of bundled code
compiler            Makes signatures from builds: from every function that is named after a
                    contract
kernel_symbols      Symbols as a kernel and `nm` list them: an address, a letter, a name
search              Finds the signatures of a database in text, at any position, in one pass over
                    its words
shape               Functions that could be a known routine by their shape alone, to be tried on
                    its cases
signatures          Signatures of known routines: what identifies one, and the text that a database
                    is kept as
symbols             Which contract a symbol's name speaks of
system_map          System.map, and what `nm` and /proc/kallsyms print: one symbol a line, `address
                    type name`
trampolines         Code that callers count on for more than the calling standard makes a function
                    keep
trusted             Files whose symbols say what a routine is: the C library, and kernels
kallsyms/           Symbols out of a kernel's own tables
profiles/           Profiles that others took: which format a file is in, and which functions it
                    says are hot
"""
