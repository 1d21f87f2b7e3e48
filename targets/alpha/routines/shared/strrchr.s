# The loop is that of strchr, left at an end or at the byte.  A quadword with the byte and no end
# is remembered (at its address, t8 its marks); at the end the last mark counts, here or there.

        .include spread
        or      t0,t2,t4
        xor     t0,a1,t5
        or      t5,t2,t5
        cmpbge  zero,t4,t4

        cmpbge  zero,t5,t5
        or      t4,t5,t2
        clr     t8
        bne     t2,found            # U

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

found:  beq     t4,remember         # U
        unop
        unop
        unop

        subq    t4,1,t2
        xor     t4,t2,t2            # up to the first end, which may be what is searched
        and     t2,t5,t2
        bne     t2,last             # U

        mov     t8,t2
        mov     at,v0
        beq     t2,none             # U
        unop
last:
        .include highest
        addq    v0,t3,v0
        ret                         # L
        .align 4
none:   clr     v0
        ret                         # L
        unop
        unop
remember:
        mov     v0,at
        mov     t5,t8
        br      loop                # L
