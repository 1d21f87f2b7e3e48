# remlu: t10 dividend, t11 divisor, unsigned integers of 32 bits; pv remainder; returns through t9.
#
# See shared/divide, and shared/ev67/align_divisor for how it begins.  A divisor of zero gives quotient
# zero, and the dividend as the remainder.

remlu:
        .include divide_save
        zapnot  t10,15,t0           # U
        zapnot  t11,15,t1           # U
        unop
        unop

        .include divide
        .align 4
        addl    t0,zero,pv
        unop
        unop
        unop

        .include divide_restore
