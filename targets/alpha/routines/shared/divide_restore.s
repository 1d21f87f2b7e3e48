        ldq     t0,0(sp)            # L
        ldq     t1,8(sp)            # L
        unop
        unop

        ldq     t2,16(sp)           # L
        ldq     t3,24(sp)           # L
        lda     sp,32(sp)
        unop

        ret     (t9)                # L
