"""Which way conditional moves and branches go while programs run, counted by an emulator.

The door is `counted`.

branched  A copy of a file in which each conditional move is a branch, so that its way can be seen
counted   Which way the conditional moves and branches of a file go while programs run
"""
