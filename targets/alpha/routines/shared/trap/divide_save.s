# As shared/divide_save, but a divisor of zero is not divided by.

        beq     t11,by_zero         # U
        lda     sp,-32(sp)
        stq     t0,0(sp)            # L
        stq     t1,8(sp)            # L

        stq     t2,16(sp)           # L
        stq     t3,24(sp)           # L
        unop
        unop
