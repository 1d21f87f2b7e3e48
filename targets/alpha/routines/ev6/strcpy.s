# strcpy: a0 destination, a1 string; v0 destination.  See shared/strcopy.

strcpy: ldq_u   t2,0(a1)            # L
        lda     a4,-1(zero)
        subq    a0,a1,a3
        and     a0,7,t8

        insqh   a4,a1,t1            # U
        mov     a0,v0
        and     a3,7,a3
        or      t1,t2,t1

        .include strcopy
done:   ret                         # L
