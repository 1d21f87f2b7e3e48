"""What people and programs look at: every report gives a JSON document, lines, and grids.

`lines` are for a pipe, `grids` for a terminal (tables.py renders them); both take a verbosity: 0
for a summary, 1 with one line per thing done, 2 with one line per thing left alone.
"""
