# As shared/rawmemchr, with a count of quadwords: t6 are those behind the one at hand.  Only in the
# last one can a byte behind the count be marked, so there alone marks are cut off.  A quadword
# takes two fetch blocks.  The pointer is one quadword behind, and not aligned until the end.

        insbl   a1,1,t1             # U
        beq     a2,none             # U
        ldq_u   t0,0(a0)            # L
        and     a1,255,a1

counted:
        or      a1,t1,a1
        and     a0,7,at
        lda     t4,-1(a2)
        blt     a2,huge             # U

        inswl   a1,2,t3             # U
        addq    t4,at,t4
        lda     t8,-1(zero)
        sll     t8,at,at            # U marks in front of the bytes do not count

        or      a1,t3,a1
        insll   a1,4,t3             # U
        srl     t4,3,t6             # U
        beq     t6,only             # U

        or      a1,t3,a1
        xor     t0,a1,t5
        cmpbge  zero,t5,t2
        and     t2,at,t2

        bne     t2,first            # U
        ldq_u   t0,8(a0)            # L
        lda     t6,-1(t6)
        and     t4,7,t4             # the last byte that counts, in its quadword

        lda     t8,-2(zero)
        xor     t0,a1,t5
        cmpbge  zero,t5,t2
        beq     t6,last             # U

loop:   bne     t2,found            # U
        ldq_u   t0,16(a0)           # L
        lda     a0,8(a0)
        lda     t6,-1(t6)

        xor     t0,a1,t5
        cmpbge  zero,t5,t2
        beq     t6,last             # U
        unop

        bne     t2,found            # U
        ldq_u   t0,16(a0)           # L
        lda     a0,8(a0)
        lda     t6,-1(t6)

        xor     t0,a1,t5
        cmpbge  zero,t5,t2
        beq     t6,last             # U
        unop

        bne     t2,found            # U
        ldq_u   t0,16(a0)           # L
        lda     a0,8(a0)
        lda     t6,-1(t6)

        xor     t0,a1,t5
        cmpbge  zero,t5,t2
        beq     t6,last             # U
        unop

        bne     t2,found            # U
        ldq_u   t0,16(a0)           # L
        lda     a0,8(a0)
        lda     t6,-1(t6)

        xor     t0,a1,t5
        cmpbge  zero,t5,t2
        bne     t6,loop             # U
        unop

last:   sll     t8,t4,t8            # U
        andnot  t2,t8,t8
        beq     t8,none             # U
        unop

found:
        .include lowest
        andnot  a0,7,a0
        lda     a0,8(a0)
        addq    a0,t3,v0
        ret                         # L

        .align 4
only:   or      a1,t3,a1
        xor     t0,a1,t5
        cmpbge  zero,t5,t2
        and     t4,7,t4

        and     t2,at,t2
        lda     t8,-2(zero)
        lda     a0,-8(a0)
        br      last                # L

first:  lda     a0,-8(a0)
        br      found               # L
        unop
        unop

none:   clr     v0
        ret                         # L
        .include huge
