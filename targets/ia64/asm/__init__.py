"""The assembler of our own IA-64 routines.

The door is `assembler`.

assembler  A two-pass assembler on top of the table, for explicit text as GNU `as -x` takes it
groups     Bundles for instruction groups whose text says no more than where each group ends
text       One instruction's text to an `Insn`: every row's syntax read backwards, and pseudo-
           instructions
"""
