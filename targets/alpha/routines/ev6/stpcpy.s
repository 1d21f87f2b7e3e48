# stpcpy: a0 destination, a1 string; v0 address of the end.  See shared/strcopy.

stpcpy: ldq_u   t2,0(a1)            # L
        lda     t11,-1(zero)
        subq    a0,a1,t0
        and     a0,7,t8

        insqh   t11,a1,t1            # U
        and     t0,7,t0
        negq    t8,at
        or      t1,t2,t1

        cmpbge  zero,t1,t5
        extql   t2,a1,t4            # U
        bne     t5,str_first        # U
        .align 4
        .include strcopy
done:   lda     v0,-1(a0)
        ret                         # L
