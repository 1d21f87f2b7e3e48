"""Loops that walk over memory, and how far ahead they may ask for it.

accesses      What a loop walks over: accesses whose address changes by the same distance in each
              pass
bodies        Loops of one block: what a pass executes, and what stands against hints in them
bundled       Lines that a loop of bundled code will read or write are asked for before it gets
              there
bundled_walk  How long a loop of bundled code takes that walks over memory: in the cache, and out
              of it
filled        Versions of loops for long counts, which store whole lines
walk          How long a loop takes that walks over memory: in the cache, and out of it
"""
