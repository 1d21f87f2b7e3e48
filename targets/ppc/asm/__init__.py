"""An assembler for tuned PowerPC routines, written as GNU as reads them.

`assembler` is the door: text to bytes and labels, with everything checked.  `source` reads lines
and puts numbers in place of names; `extended` says what extended mnemonics stand for, and which
take a label; `rows` makes each word by our table, decodes it again, and compares it with what was
written.
"""
