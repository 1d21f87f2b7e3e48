# divq: t10 dividend, t11 divisor, signed integers of 64 bits; pv quotient; returns through t9.
#
# See shared/divide, and shared/ev67/align_divisor for how it begins.  A divisor of zero gives quotient
# zero, and the dividend as the remainder.

divq:
        .include divide_save
        sra     t10,63,t2           # U
        sra     t11,63,t3           # U
        xor     t10,t2,t0
        xor     t11,t3,t1

        subq    t0,t2,t0            # magnitudes
        subq    t1,t3,t1
        unop
        unop

        .include divide
        .align 4
        xor     t10,t11,t2
        unop
        sra     t2,63,t2            # U
        xor     pv,t2,pv

        subq    pv,t2,pv
        unop
        unop
        unop

        .include divide_restore
