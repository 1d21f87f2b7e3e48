# at and t3 become the quadword of the end of the string a0 and its place there; changes t0-t5.
# See shared/strlen.

        ldq_u   t0,0(a0)            # L
        lda     t1,-1(zero)
        insqh   t1,a0,t1            # U
        andnot  a0,7,at

        or      t1,t0,t0
        cmpbge  zero,t0,t2
        bne     t2,end_found        # U
        unop

end_loop:
        ldq     t0,8(at)            # L
        lda     at,8(at)
        cmpbge  zero,t0,t2
        bne     t2,end_found        # U

        ldq     t0,8(at)            # L
        lda     at,8(at)
        cmpbge  zero,t0,t2
        beq     t2,end_loop         # U

end_found:
        .include lowest
