# Copies a2 bytes, 8 or more, from a1 to a0, which do not overlap; t4 is the destination's place in a
# quadword.  Leaves v0.  Fewer are for `copy_bytes`.
#
# No byte outside is touched, so nothing is merged with what the destination held.  Less than 16
# bytes to a destination that is no multiple of 8 go byte by byte.  Else, where the destination or
# its end is none, the first and the last 8 bytes are loaded from wherever they are, and of each a
# byte, a word and a longword are stored at the first (the last) place of their size: they overlap
# where fewer would do, but nothing has to be decided.  What is left is quadwords and, behind a long
# copy to an aligned destination, a tail by the bits of the count.

        cmpult  a2,16,t5
        cmpult  a2,32,t3
        and     a1,7,t1
        bne     t4,copy_ends        # U

        ldq_u   t0,0(a1)            # L
        and     a2,7,t2             # bytes behind quadwords
        addq    a1,a2,t8
        bne     t3,copy_31          # U

        lda     a5,24(zero)
        srl     a2,3,t3             # U quadwords
        unop
        beq     t1,copy_many        # U

        .include copy_shift
        .align 4
        .include copy_few
        .align 4
        .include copy_quads
        .align 4
        .include copy_bytes
