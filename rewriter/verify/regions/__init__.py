"""Reordered regions of code, for which any meaning will do.

The door is `check`.

check      Two files of bundled code compared: nothing that the rewriter said is used
code       Straight regions of code, and what the proof knows of each of their instructions
derived    Code whose instructions stand alone, as the proof of reordering asks for it
events     What a region does beside writing registers: accesses and other events, and their order
function   A function in both files: its regions pair by pair, and what must follow them
groups     Instruction groups that go on where one region ends and the next begins
hints      Prefetches that new code has and old code has not
landmarks  What the unwind table and the system's tables name in code: the same instructions in
           both files
legality   Whether the groups of a reordered region may stand, given those of the original
placement  Where the regions of a function stand in another file, found from its bytes alone
proof      Is a reordered region, straight code with exits, equal to the original?
run        A straight region executed on terms, instruction group by instruction group
terms      Terms over values at the entry of a region, each stored once: equal terms are one number
"""
