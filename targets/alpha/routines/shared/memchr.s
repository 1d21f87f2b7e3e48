# As shared/rawmemchr, with a count of quadwords; one branch ends the loop for both reasons, so
# that a quadword takes two fetch blocks.  A byte behind the count does not count.

        beq     a2,none             # U
        ldq_u   t0,0(a0)            # L
        insbl   a1,1,t1             # U
        and     a1,255,a1

        lda     t2,-1(zero)
        or      a1,t1,a1
        insqh   t2,a0,t2            # U ones in front of the bytes
        blt     a2,huge             # U

counted:                            # t6: quadwords behind the first one, as in shared/quads
        inswl   a1,2,t3             # U
        and     a0,7,t6
        andnot  a0,7,v0
        subq    t6,1,t6

        or      a1,t3,a1
        addq    a2,t6,t6
        insll   a1,4,t3             # U
        srl     t6,3,t6             # U

        or      a1,t3,a1
        xor     t0,a1,t5
        or      t5,t2,t5
        cmpeq   t6,0,t4

        cmpbge  zero,t5,t2
        or      t2,t4,t4
        unop
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
        .include lowest
        addq    v0,t3,v0
        subq    v0,a0,t4
        cmpult  t4,a2,t4
        beq     t4,none             # U
        ret                         # L
        .align 4
none:   clr     v0
        ret                         # L
        .include huge
