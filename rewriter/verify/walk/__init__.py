"""A function of two files walked in both at once.

The door is `function`.

alignment      Word accesses of new code where the old code handles a word at the address as an
               aligned one
devices        Accesses that may reach a device: in a kernel each is made as before, in the same
               order
equivalence    Whether two straight runs from the same state do the same: registers, memory,
               events, accesses
faults         Accesses that may fault and go on elsewhere: new ones resume as the old ones that
               they stand for
frames         Which instructions a function's unwind rows go by, told from what the rows
               themselves say
function       A function of two files, walked in both at once
hints          Loads without a result that new code has and old code has not
insn_classes   What a walk asks of each instruction by itself, for whole functions at once
landing_pads   Code in exception ranges: what a landing pad may read is as it was, wherever it is
               reached from
loads          Accesses one by one, for who does not let a load go or come earlier
pairs          Two segments of a function, one of each file, that must do the same: plainly, or by
               proof
reservations   What is between a load-locked and its store-conditional stays as it is, or moves as
               a whole
segments       Straight code of one file, cut where a walk cuts it
stack          Accesses below the stack pointer: a signal may write there at any moment
unwind_check   Whether changed unwind rows still say the right thing at the right instruction
courses/       Blocks in another order: both files are read along the way that control takes
detours/       Branches that lead around plain moves, read as the conditional moves that they are
flushes/       Loops that flush blocks of caches: read as those that stood there before
lines/         Versions of loops for long counts, which give up whole lines: read as no code at all
links/         Where calls come back to, of code that moved: what is made from it, who may find it
"""
