# As shared/rawmemchr, with a count of quadwords; one branch ends the loop for both reasons, so
# that a quadword takes two fetch blocks.  A byte behind the count does not count.

        beq     a2,none             # U
        unop
        unop
        unop

        .include spread
        .include quads
        xor     t0,a1,t5
        or      t5,t2,t5

        cmpbge  zero,t5,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        bne     t4,end              # U

loop:   ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        subq    t6,1,t6
        xor     t0,a1,t5

        cmpbge  zero,t5,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        bne     t4,end              # U

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        subq    t6,1,t6
        xor     t0,a1,t5

        cmpbge  zero,t5,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        bne     t4,end              # U

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        subq    t6,1,t6
        xor     t0,a1,t5

        cmpbge  zero,t5,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        bne     t4,end              # U

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        subq    t6,1,t6
        xor     t0,a1,t5

        cmpbge  zero,t5,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        beq     t4,loop             # U

end:    beq     t2,none             # U
        unop
        unop
        unop

        .include lowest
        addq    v0,t3,v0
        subq    v0,a0,t4
        cmpult  t4,a2,t4
        .align 4
        beq     t4,none             # U
        unop
        unop
        unop

        ret                         # L
        unop
        unop
        unop
none:   clr     v0
        ret                         # L
        .include huge
