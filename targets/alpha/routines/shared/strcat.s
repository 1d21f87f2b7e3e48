# The end of the destination (shared/strend), and from there on shared/strcopy.

        .include strend
        mov     a0,v0
        ldq_u   t2,0(a1)            # L
        lda     t11,-1(zero)
        .align 4
        insqh   t11,a1,t1            # U
        subq    t3,a1,t0
        mov     t3,t8
        addq    at,t3,a0

        or      t1,t2,t1
        and     t0,7,t0
        cmpbge  zero,t1,t5
        extql   t2,a1,t4            # U

        negq    t8,at
        bne     t5,str_first        # U
        .align 4
        .include strcopy
done:   ret                         # L
