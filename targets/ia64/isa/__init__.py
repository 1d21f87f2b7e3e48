"""IA-64's instruction table, over slots and bundles.

The door is `table`.

a_unit   A-type instructions: integer and multimedia operations of an M or an I slot (SDM vol. 3,
         4.2)
alike    Instructions that have one answer: a row, and the operands that the answer depends on
b_unit   B-type instructions: branches and a few that change the frame or the mode (SDM vol. 3,
         4.5)
bundles  Bundles: 128 bits, a template and three slots, little-endian in every file (SDM vol. 1,
         3.3)
classes  What the classes of the table's rows and some registers mean for order (SDM vol. 3,
         chapter 5)
f_unit   F-type instructions: floating point, and integer multiply (SDM vol. 3, 4.6)
fields   Operands of a 41-bit slot (SDM 2.3, vol. 3, 4.1)
formats  Formats of IA-64 instructions, and the makers of rows
groups   Whether instructions may stand in one instruction group (SDM vol. 1, 3.4; vol. 3, chapter
         5)
i_unit   I-type instructions: shifts, fields, tests, moves, multimedia (SDM vol. 3, 4.3)
m_unit   M-type instructions other than memory accesses: checks, moves, system (SDM vol. 3, 4.4.5
         on)
memory   M-type loads, stores, prefetches and semaphores (SDM vol. 3, 4.4.1 to 4.4.4)
rows     The IA-64 instruction table: every row, in one place
table    The table over slots: what core's `Table` derives from rows, for words cut out of bundles
x_unit   X-type instructions: two slots of an MLX bundle (SDM vol. 3, 4.7)
"""
