# As shared/strlen, with two comparisons for each quadword: t4 marks ends, t5 the byte.  Two fetch
# blocks, two cycles for a quadword.  Where the first mark is none of t5, the byte is not there.

        .include spread
        or      t0,t2,t4
        xor     t0,a1,t5
        or      t5,t2,t5
        cmpbge  zero,t4,t4

        cmpbge  zero,t5,t5
        or      t4,t5,t2
        bne     t2,found            # U
        unop

loop:   ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        xor     t0,a1,t5
        cmpbge  zero,t0,t4

        cmpbge  zero,t5,t5
        or      t4,t5,t2
        bne     t2,found            # U
        unop

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        xor     t0,a1,t5
        cmpbge  zero,t0,t4

        cmpbge  zero,t5,t5
        or      t4,t5,t2
        bne     t2,found            # U
        unop

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        xor     t0,a1,t5
        cmpbge  zero,t0,t4

        cmpbge  zero,t5,t5
        or      t4,t5,t2
        bne     t2,found            # U
        unop

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        xor     t0,a1,t5
        cmpbge  zero,t0,t4

        cmpbge  zero,t5,t5
        or      t4,t5,t2
        beq     t2,loop             # U
        unop

found:  negq    t2,t6
        and     t2,t6,t6            # the first mark
        and     t6,t5,t6
        beq     t6,none             # U

        .include lowest
        addq    v0,t3,v0
        ret                         # L
        .align 4
none:   clr     v0
        ret                         # L
