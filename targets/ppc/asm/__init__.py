"""An assembler for tuned PowerPC routines, written as GNU as reads them.

`assembler` is the door: text to bytes and labels, with everything checked.  `source` reads lines
and puts numbers in place of names; `branches` measures how far they go; `words` asks Keystone for
each word; `extended` says what extended mnemonics stand for; `rows` decodes each word again by our
table and compares it with what was written, and encodes what Keystone does not know.
"""
