# strcpy: a0 destination, a1 string; v0 destination.  See shared/strcopy.

strcpy: ldq_u   t2,0(a1)            # L
        lda     t11,-1(zero)
        subq    a0,a1,t0
        and     a0,7,t8

        insqh   t11,a1,t1            # U
        mov     a0,v0
        and     t0,7,t0
        or      t1,t2,t1

        cmpbge  zero,t1,t5
        extql   t2,a1,t4            # U
        negq    t8,at
        bne     t5,str_first        # U

        .include strcopy
done:   ret                         # L
