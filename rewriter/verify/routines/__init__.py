"""Known routines, and what replaced them.

The doors are `known` and `substituted`.

bundled_known        Routines of a file of bundled code that may be replaced: named, and behaving
                     like their names
bundled_reached      Whether trials of a routine of bundled code have been everywhere that it can
                     go
bundled_substituted  Whether new code in a file of bundled code is known routines in tuned form,
                     all in order
calls                Which registers callers keep a value in across a call of a function
cases                Which cases of a contract a routine is tried on: some of each plan, spread
                     over its shapes
known                Known routines of a file: a signature says which bytes might be one, behaviour
                     says they are
pieces               A routine in pieces: each stretch of it that control does not fall out of may
                     stand anywhere
pieces_rules         What is asked of routines in pieces, beside their code and behaviour, of the
                     two files alone
reached              Whether trials of a routine have been everywhere that its code can go
replaceable          Routines of a file that may be replaced: each has a name and behaves like it
resolved             What resolvers of IFUNC symbols pick on a CPU, found by running them
rules                When a tuned routine may stand for a known one: asked of the original file
                     alone
substituted          Whether new code in a file is a known routine in tuned form, and all around it
                     is in order
trial                A few cases of a contract on a routine where it stands in a file
unwind               Unwind entries of new code, and the search table that leads to them, read from
                     the new file
"""
