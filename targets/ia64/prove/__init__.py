"""IA-64 as a proof of reordering asks for it.

The door is `proving`.

orders        What an instruction must keep its order with, how much it accesses, how control
              leaves at it
proving       IA-64 as a proof of reordering asks for it (`rewriter.core.code.transfer`)
row_effects   What instructions read and set, row by row, without making the transfers that say so
row_transfer  An instruction as a proof of reordering sees it, made from its row and its operands
rows          What each instruction is to a proof of reordering: its function, its sums, how it
              writes
"""
