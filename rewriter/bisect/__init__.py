"""Finds the edits of a patched file that make a command fail.

readers  What a search asks of two files: units, what they need, their superblocks and listings
remade   Candidates in which one function has some of its edits: made again from the original
road     From two files and a command to the edits that make it fail
search   The smallest set of units that makes a test fail, in few tests
state    What was tested already, kept in a file so that a search can go on later
told     The edits that make a command fail, to be looked at
units    What can be put into a candidate or left out: the changed bytes of a file in units
"""
