"""Reports of the suites that articles measured.

article    The article's suite: what its routines take of system time in each machine, and what is
           left
itanium    The Itanium suite: the article's path as measured, ours as modelled, and the bubbles of
           both
mackerras  The suite of Mackerras' talk: its tables beside ours, and why they differ
"""
