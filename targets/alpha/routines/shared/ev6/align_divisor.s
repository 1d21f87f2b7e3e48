# at becomes how far the divisor t1 is shifted so that it is more than half of the dividend t0, or
# negative; t1 is shifted.  Changes t2, t3.  One fetch block for each bit.

        cmpult  t0,t1,t2
        srl     t0,1,t3             # U
        clr     pv
        subq    zero,t2,at

        cmpule  t1,t3,t2
        blt     at,divided          # U
        unop
        unop

        beq     t1,divided          # U
        unop
        unop
        unop

        beq     t2,align_done       # U
        unop
        unop
        unop

align:  addq    t1,t1,t1
        addq    at,1,at
        cmpule  t1,t3,t2
        beq     t2,align_done       # U

        addq    t1,t1,t1
        addq    at,1,at
        cmpule  t1,t3,t2
        beq     t2,align_done       # U

        addq    t1,t1,t1
        addq    at,1,at
        cmpule  t1,t3,t2
        beq     t2,align_done       # U

        addq    t1,t1,t1
        addq    at,1,at
        cmpule  t1,t3,t2
        bne     t2,align            # U
align_done:
