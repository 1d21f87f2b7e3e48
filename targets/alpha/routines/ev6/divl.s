# divl: t10 dividend, t11 divisor, signed integers of 32 bits; pv quotient; returns through t9.
#
# See shared/divide, and shared/ev6/align_divisor for how it begins.  A divisor of zero gives quotient
# zero, and the dividend as the remainder.

divl:
        .include divide_save
        sextl   t10,t0
        sextl   t11,t1
        unop
        unop

        sra     t0,63,t2            # U
        sra     t1,63,t3            # U
        xor     t0,t2,t0
        xor     t1,t3,t1

        subq    t0,t2,t0            # magnitudes
        subq    t1,t3,t1
        unop
        unop

        .include divide
        .align 4
        xor     t10,t11,t2
        sll     t2,32,t2            # U
        sra     t2,63,t2            # U
        xor     pv,t2,pv

        subq    pv,t2,pv
        .include divide_cut
        unop
        unop

        .include divide_restore
