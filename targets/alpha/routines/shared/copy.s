# Copies a2 bytes from a1 to a0, which do not overlap.  Leaves v0.
#
# No byte outside is touched, so nothing is merged with what the destination held.  Where the
# destination is no multiple of 8, the first and the last 8 bytes are loaded from wherever they
# are, and of each a byte, a word and a longword are stored at the first (the last) place of their
# size: they overlap where fewer would do, but nothing has to be decided.  What is left is quadwords
# and, behind an aligned destination, a tail by the bits of the count.

copy:   cmpult  a2,8,t0
        and     a0,7,t1
        bne     t0,copy_bytes       # U
        unop

        .include copy_on
