"""The road of a file from bytes to verified bytes.

The door is `pipeline`.

acceptance    What the independent verifier accepts, and what goes back
emission      The bytes of a function in each of its stages, and the file with everything in its
              place
insertions    Instructions that were not there before
layout        A function in a new layout
loops         Loops in another order
options       What a user chooses of a run of the road
outcome       What became of one function, and the way back from it, step by step
pipeline      The road, as one readable function: load, identify, lift, propose, prove, place,
              emit, check
prefixes      Instructions of two words, in code that stays where it is from here on
source_lines  What debug information, in the file or in one of its own, says of functions that
              would move
steps         What a function goes through on the road of superblocks, as the passes prepare it
superblocks   Rewrites inside superblocks, each proved there
work          The edits of one file as they are found
bundled/      The road of code that says what issues together
remembered/   What functions became in an earlier run, for one of the same file or much like it
routines/     Known routines become tuned ones
"""
