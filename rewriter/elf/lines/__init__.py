"""Source lines in debug information, and how they follow code that moves.

The door is `file`.

file   What a file says of source lines, and the file with other lines
moves  Rows of a line table that follow instructions to new places
table  Line tables: which line of which source file each instruction is of, read and written
units  Where units of debug information name their line tables
"""
