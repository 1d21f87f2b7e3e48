"""Unwind tables: whose code it is, and how a frame looks at each address.

The door is `entries`.

entries    Unwind tables: which addresses a function covers
lsda       Language-specific data: what `.gcc_except_table` says of one function
rewritten  Rows of an unwind entry in another sequence, written in the room that the entry has
rows       Call frame instructions: how a function's frame looks at each of its addresses
"""
