"""One page to look at: what was done to a file, or to many, as one HTML file that needs no network.

page       the door: the page of one file, from its subject
archive    the door: the page of many files, from rows
subject    what a page is about: a run of the road, or two files and a manifest
text       the code of both files as a page asks for it: rows of one instruction each, by stretch
texts      which of the next two a page asks
plain      rows of code whose instructions stand alone, by stretch
bundled    rows of code in bundles, by stretch
sides      a function before and after, side by side, as compact data
chapters   the functions of a page in packed parts, which a browser opens one at a time
curves     cycles of replaced routines over sizes
charts     bars, the map of the text and curves as numbers that templates draw
table      edits, functions and what was left alone as columns
render     templates, packed data and the policy of a page
written    what is said when a page was written
words      what passes and grades are, in a sentence each
"""
