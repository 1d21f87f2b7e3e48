"""Reports of the suites that articles measured.

article    The article's suite: each routine's cycles as it is and retuned, and what follows for a
           mix
itanium    The Itanium suite: the article's path as measured, ours as modelled, and the bubbles of
           both
mackerras  The suite of Mackerras' talk: its tables beside ours, and why they differ
"""
