# The linkage leaves only at and pv (and t9, the return address): what else is used is kept.

        lda     sp,-32(sp)
        stq     t0,0(sp)            # L
        stq     t1,8(sp)            # L
        unop

        stq     t2,16(sp)           # L
        stq     t3,24(sp)           # L
        unop
        unop
