"""Versions of loops for long counts, which give up whole lines: read as no code at all.

The door is `reading`.

proof    Whether a version does what passes of its loop do, and gives up only what it stores
reading  The text of a new file without the versions of its loops
shapes   What may be a version of a loop: lead-in, tests, and the body of a line
"""
