"""Alpha's instruction table.

The door is `rows`.

floating  Rows: Alpha's floating-point instructions
formats   Alpha's instruction formats (Alpha Architecture Handbook v4, section 3.3), and row makers
integer   Rows: Alpha's integer, memory, control, byte/word, count and multimedia instructions
pal       Rows: PALcode calls, opaque, with exact register sets for the ones that Linux uses
rows      The Alpha instruction table: every row, in one place
"""
