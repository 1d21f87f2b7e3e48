"""The order of a function's blocks, by how often control goes each way.

arranged   Instructions in the order of chains: branches inverted, jumps dropped or added
chains     Blocks that control passes through one after the other most often stand so
fetched    What fetching takes in a layout
lines      Which orders of chains may be: labels in their sequence, room for what stays
reach      Whether the branches of a large function still reach where they lead
sequences  Sequences of labels that stay what they are where what carries them changes places
turning    A chain that control goes round in begins where that is best
units      What stands together, and the ways between
"""
