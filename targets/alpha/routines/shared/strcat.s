# The end of the destination (shared/strend), and from there on shared/strcopy.

        .include strend
        mov     a0,v0
        ldq_u   t2,0(a1)            # L
        lda     a4,-1(zero)
        .align 4
        insqh   a4,a1,t1            # U
        subq    t3,a1,a3
        mov     t3,t8
        addq    t7,t3,a0

        or      t1,t2,t1
        and     a3,7,a3
        .align 4
        .include strcopy
done:   ret                         # L
