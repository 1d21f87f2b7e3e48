"""What people and programs look at: every report gives a JSON document, lines, and grids.

`lines` are for a pipe, `grids` for a terminal (tables.py renders them); both take a verbosity: 0
for a summary, 1 with one line per thing done, 2 with one line per thing left alone.

boot      Two boots, to be looked at: how they ended, where they differ, what they executed
catalog   The CPUs that retune knows, with the source of every figure
cycles    A routine on a CPU before and after: fetch blocks, slots, issue cycles, and what waits
          for what
difftest  A differential test, to be looked at; the same form for every kind
edits     Edits one by one, as a run made them or as a manifest lists them
grid      A table as plain data, so that no report knows how tables are drawn
hot       What a profile says is hot, and what was done there
junit     A differential test as JUnit XML, which build servers read
known     Known routines of a file, and what a compilation of signatures gave
listing   One function before and after, with the edits where they stand
regions   Bundled code to look at: what retune knows of a file, and one function before and after
survey    What retune knows of a file before it touches it: functions, tables, pins, refusals
verdict   What the independent verifier found, to be looked at
html/     One page to look at: what was done to a file, or to many, as one HTML file that needs no
          network
suites/   Reports of the suites that articles measured
"""
