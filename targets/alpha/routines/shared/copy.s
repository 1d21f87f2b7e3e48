# Copies a2 bytes from a1 to a0, which do not overlap.  Leaves v0.
#
# No byte outside is touched, so nothing is merged with what the destination held.  Less than 8
# bytes, and less than 16 to a destination that is no multiple of 8, go byte by byte.  Else, where
# the destination or its end is none, the first and the last 8 bytes are loaded from wherever they
# are, and of each a byte, a word and a longword are stored at the first (the last) place of their
# size: they overlap where fewer would do, but nothing has to be decided.  What is left is quadwords
# and, behind a long copy to an aligned destination, a tail by the bits of the count.

copy:   cmpult  a2,8,t0
        and     a0,7,t4
        bne     t0,copy_bytes       # U
        unop

        .include copy_on
