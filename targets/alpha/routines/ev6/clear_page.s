# clear_page: a0 page of 8192 bytes; no result.
#
# 128 lines, each allocated by WH64 four lines before it is stored, so that the memory is never
# read; the last four iterations have no line ahead of them.  At most two stores in a fetch block.

clear_page:
        lda     t0,124(zero)
        wh64    (a0)                # L
        lda     t1,64(a0)
        lda     t2,128(a0)

        wh64    (t1)                # L
        lda     t3,192(a0)
        lda     t1,256(a0)
        unop

        wh64    (t2)                # L
        wh64    (t3)                # L
        unop
        unop

ahead:  wh64    (t1)                # L
        stq     zero,0(a0)          # L
        subq    t0,1,t0
        lda     t1,64(t1)

        stq     zero,8(a0)          # L
        stq     zero,16(a0)         # L
        unop
        unop

        stq     zero,24(a0)         # L
        stq     zero,32(a0)         # L
        lda     a0,64(a0)
        unop

        stq     zero,-24(a0)        # L
        stq     zero,-16(a0)        # L
        unop
        unop

        stq     zero,-8(a0)         # L
        bne     t0,ahead            # U
        lda     t0,4(zero)
        unop

last:   stq     zero,0(a0)          # L
        stq     zero,8(a0)          # L
        subq    t0,1,t0
        unop

        stq     zero,16(a0)         # L
        stq     zero,24(a0)         # L
        lda     a0,64(a0)
        unop

        stq     zero,-32(a0)        # L
        stq     zero,-24(a0)        # L
        unop
        unop

        stq     zero,-16(a0)        # L
        stq     zero,-8(a0)         # L
        unop
        bne     t0,last             # U

        ret                         # L
