"""What passes are made of.

The doors are `technique` and `tune`.

changes    What techniques made of a superblock, and what they left alone
conflicts  Loads of what a narrower store has just written: an out-of-order CPU cannot forward it
entered    Where other functions lead into the midst of one, which a pass may then still take apart
fetch_slots  Where instructions stand in their fetch blocks: the nops before some that cost least
insert     What a pass may do that needs more instructions than are there: room comes from a new
           layout
judged     Whether a layout is better than the one that stands: by loops, boundaries and nops
move       Moves a function's code inside its own footprint, with everything that points into it
nops       Which instructions of a text do nothing, and what stands without them
searches   Searches for a bit by what they compute: a table of chains of counts, and what equals
           one
shapes     Recognising what a value is by what it does, whatever instructions spell it
steps      The place of a pass on the road: what its edits do, and which step it becomes
technique  What a pass is: it looks at one block and proposes rewrites of it
tune       Applies techniques to a superblock: propose, drop what died, prove, keep or try the next
weights    How often control comes to the instructions of a function: counted by a profile, or
           guessed
"""
