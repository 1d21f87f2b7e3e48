"""The order of a function's blocks, by how often control goes each way.

arranged   Instructions in the order of chains: branches inverted, jumps dropped or added
chains     Blocks that control passes through one after the other most often stand so
units      What stands together, and the ways between
"""
