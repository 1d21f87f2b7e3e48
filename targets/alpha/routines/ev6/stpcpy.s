# stpcpy: a0 destination, a1 string; v0 address of the end.  See shared/strcopy.
#
# An empty string is asked for first: nothing is to be done for it but a byte.

stpcpy: ldq_u   t2,0(a1)            # L
        ldbu    t9,0(a1)            # L
        lda     t11,-1(zero)
        subq    a0,a1,t0

        insqh   t11,a1,t1            # U
        and     a0,7,t8
        and     t0,7,t0
        beq     t9,empty            # U

        or      t1,t2,t1
        unop
        unop
        unop

        .include strcopy
done:   lda     v0,-1(a0)
        ret                         # L
        unop
        unop

empty:  stb     zero,0(a0)          # L
        mov     a0,v0
        ret                         # L
