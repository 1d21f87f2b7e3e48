"""What a run of the road found, did, and left alone, in figures.

The door is `report`.

brief    The same in fifteen lines at most, for a person who wants to know how it went
expected How many executed instructions fewer a run's edits promise
report   The figures of a run, for programs and for people who want every reason
tallies  The sites of each pass by kind: rewritten, saved, and left alone by reason
timings  Where a run's time went: by step, what one process did alone, and what it gave
"""
