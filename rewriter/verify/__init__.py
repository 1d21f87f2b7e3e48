"""The independent verifier: two files in, a verdict out.

The door is `check`.

check            The independent verifier: two files in, a verdict out; nothing that the rewriter
                 said is used
exception_check  The exception tables of an old and a new kernel, entry by entry
line_check       Whether the line table of a new file names the lines that the original's does
listed           Whether the edits that a manifest lists are the changes that are there
owners           Whose bytes changed: ranges of addresses that hold some, and what is in none
prefixed         Instructions of two words where the old file had two: the second word does nothing
probes           Code that finds out what its CPU has by executing what only some have
range_check      The exception ranges of an old and a new file: which numbers changed, and where
                 they lead now
regions/         Reordered regions of code, for which any meaning will do
routines/        Known routines, and what replaced them
terms/           Whether two terms are equal, by trial and by Z3
trials/          Routines tried on the cases of their contracts
walk/            A function of two files walked in both at once
"""
