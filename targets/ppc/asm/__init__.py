"""An assembler for tuned PowerPC routines, written as GNU as reads them.

`assembler` is the door: text to bytes and labels, with everything checked.  `source` reads lines
and puts numbers in place of names; `branches` measures how far they go; `words` asks Keystone for
each word; `later` encodes what Keystone does not know, instructions of ISA 3.0.
"""
