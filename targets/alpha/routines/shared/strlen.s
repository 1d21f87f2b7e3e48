# Whole quadwords are read, so nothing is read behind the page that holds the end.  The bytes in
# front of the string are made ones.  The loop is one fetch block, so a quadword takes one cycle:
# each load is issued by the predicted path, long before the comparison in front of it is done.

        ldq_u   t0,0(a0)            # L
        lda     t1,-1(zero)
        insqh   t1,a0,t1            # U
        andnot  a0,7,v0

        or      t1,t0,t0
        cmpbge  zero,t0,t2          # one bit for each byte that is zero
        unop
        bne     t2,found            # U

loop:   ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        cmpbge  zero,t0,t2
        bne     t2,found            # U

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        cmpbge  zero,t0,t2
        bne     t2,found            # U

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        cmpbge  zero,t0,t2
        bne     t2,found            # U

        ldq     t0,8(v0)            # L
        lda     v0,8(v0)
        cmpbge  zero,t0,t2
        beq     t2,loop             # U

found:
        .include lowest
        subq    v0,a0,v0
        addq    v0,t3,v0
        ret                         # L
