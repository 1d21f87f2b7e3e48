# The byte a1 in every byte of a1, t2 ones in the bytes in front of the address a0, v0 the aligned
# address, t0 the quadword there.  Changes t1, t3.

        ldq_u   t0,0(a0)            # L
        insbl   a1,1,t1             # U
        and     a1,255,a1
        lda     t2,-1(zero)

        or      a1,t1,a1
        inswl   a1,2,t3             # U
        insqh   t2,a0,t2            # U
        andnot  a0,7,v0

        or      a1,t3,a1
        insll   a1,4,t3             # U
        or      a1,t3,a1
        unop
