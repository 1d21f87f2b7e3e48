# As shared/strlen, with each quadword compared with the byte in all places.

        .include spread
        xor     t0,a1,t0
        or      t0,t2,t0
        cmpbge  zero,t0,t2
        bne     t2,found            # U

loop:   ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        xor     t0,a1,t0
        unop

        cmpbge  zero,t0,t2
        bne     t2,found            # U
        unop
        unop

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        xor     t0,a1,t0
        unop

        cmpbge  zero,t0,t2
        bne     t2,found            # U
        unop
        unop

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        xor     t0,a1,t0
        unop

        cmpbge  zero,t0,t2
        bne     t2,found            # U
        unop
        unop

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        xor     t0,a1,t0
        unop

        cmpbge  zero,t0,t2
        beq     t2,loop             # U
        unop
        unop

found:
        .include lowest
        addq    v0,t3,v0
        ret                         # L
