# a2, a limit and not zero, becomes the number of bytes up to it in front of the end of the string
# a1; changes t0-t6.  See shared/strnlen.

        lda     t1,-1(zero)
        ldq_u   t0,0(a1)            # L
        and     a1,7,t6
        blt     a2,length_huge      # U
length_limited:
        insqh   t1,a1,t1            # U
        subq    t6,1,t6
        addq    a2,t6,t6
        srl     t6,3,t6             # U quadwords behind the first

        or      t0,t1,t0
        cmpbge  zero,t0,t2
        cmpeq   t6,0,t4
        andnot  a1,7,t1

        or      t2,t4,t4
        bne     t4,length_end       # U
        unop
        unop

length_loop:
        ldq     t0,8(t1)            # L
        lda     t1,8(t1)
        subq    t6,1,t6
        unop

        cmpbge  zero,t0,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        bne     t4,length_end       # U

        ldq     t0,8(t1)            # L
        lda     t1,8(t1)
        subq    t6,1,t6
        unop

        cmpbge  zero,t0,t2
        cmpeq   t6,0,t4
        or      t2,t4,t4
        beq     t4,length_loop      # U

length_end:
        beq     t2,length_done      # U
        unop
        unop
        unop

        .include lowest
        subq    t1,a1,t1
        addq    t1,t3,t1
        cmpult  t1,a2,t4

        .align 4
        beq     t4,length_done      # U
        unop
        unop
        unop

        mov     t1,a2
        br      length_done         # L
        unop
        unop

length_huge:
        srl     t1,1,a2             # U
        br      length_limited      # L
        unop
        unop

length_done:
