# As shared/strlen, with a count of quadwords; see shared/memchr.

        beq     a1,none             # U
        mov     a1,a2
        unop
        unop

        ldq_u   t0,0(a0)            # L
        lda     t1,-1(zero)
        insqh   t1,a0,t1            # U
        andnot  a0,7,v0

        .include quads
        or      t0,t1,t0
        unop

        cmpbge  zero,t0,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        bne     t4,end              # U

loop:   ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        subq    t6,1,t6
        unop

        cmpbge  zero,t0,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        bne     t4,end              # U

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        subq    t6,1,t6
        unop

        cmpbge  zero,t0,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        bne     t4,end              # U

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        subq    t6,1,t6
        unop

        cmpbge  zero,t0,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        bne     t4,end              # U

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        subq    t6,1,t6
        unop

        cmpbge  zero,t0,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        beq     t4,loop             # U

end:    beq     t2,all              # U
        subq    v0,a0,v0
        unop
        unop

        .include lowest
        addq    v0,t3,v0
        cmpult  v0,a1,t4
        .align 4
        beq     t4,all              # U
        unop
        unop
        unop

        ret                         # L
        unop
        unop
        unop
all:    mov     a1,v0
        ret                         # L
        unop
        unop
none:   clr     v0
        ret                         # L
        .include huge
