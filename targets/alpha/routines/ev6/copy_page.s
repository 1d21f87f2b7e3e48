# copy_page: a0 destination, a1 source, pages of 8192 bytes; no result.
#
# 128 lines: the source is prefetched six lines before its turn, and the destination allocated by
# WH64 four lines before, so that it is never read.  Loads and stores are in different fetch blocks,
# two in each, which is what the queues take for long.  The last six iterations look no further.

copy_page:
        wh64    (a0)                # L
        ldl     zero,0(a1)          # L prefetch
        ldl     zero,64(a1)         # L prefetch
        lda     t10,64(a0)

        wh64    (t10)               # L
        ldl     zero,128(a1)        # L prefetch
        ldl     zero,192(a1)        # L prefetch
        lda     t11,128(a0)

        wh64    (t11)               # L
        ldl     zero,256(a1)        # L prefetch
        ldl     zero,320(a1)        # L prefetch
        lda     pv,192(a0)

        wh64    (pv)                # L
        lda     t9,122(zero)
        lda     t10,256(a0)
        unop

ahead:  wh64    (t10)               # L
        ldl     zero,384(a1)        # L prefetch
        subq    t9,1,t9
        lda     t10,64(t10)

        ldq     t0,0(a1)            # L
        ldq     t1,8(a1)            # L
        unop
        unop

        ldq     t2,16(a1)           # L
        ldq     t3,24(a1)           # L
        unop
        unop

        ldq     t4,32(a1)           # L
        ldq     t5,40(a1)           # L
        unop
        unop

        ldq     t6,48(a1)           # L
        ldq     at,56(a1)           # L
        lda     a1,64(a1)
        unop

        stq     t0,0(a0)            # L
        stq     t1,8(a0)            # L
        unop
        unop

        stq     t2,16(a0)           # L
        stq     t3,24(a0)           # L
        unop
        unop

        stq     t4,32(a0)           # L
        stq     t5,40(a0)           # L
        lda     a0,64(a0)
        unop

        stq     t6,-16(a0)          # L
        stq     at,-8(a0)           # L
        unop
        bne     t9,ahead            # U

        wh64    (t10)               # L
        lda     t11,64(t10)
        lda     t9,6(zero)
        unop

        wh64    (t11)               # L
        unop
        unop
        unop

last:   ldq     t0,0(a1)            # L
        ldq     t1,8(a1)            # L
        subq    t9,1,t9
        unop

        ldq     t2,16(a1)           # L
        ldq     t3,24(a1)           # L
        unop
        unop

        ldq     t4,32(a1)           # L
        ldq     t5,40(a1)           # L
        unop
        unop

        ldq     t6,48(a1)           # L
        ldq     at,56(a1)           # L
        lda     a1,64(a1)
        unop

        stq     t0,0(a0)            # L
        stq     t1,8(a0)            # L
        unop
        unop

        stq     t2,16(a0)           # L
        stq     t3,24(a0)           # L
        unop
        unop

        stq     t4,32(a0)           # L
        stq     t5,40(a0)           # L
        lda     a0,64(a0)
        unop

        stq     t6,-16(a0)          # L
        stq     at,-8(a0)           # L
        unop
        bne     t9,last             # U

        ret                         # L
