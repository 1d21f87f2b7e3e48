# remqu: t10 dividend, t11 divisor, unsigned integers of 64 bits; pv remainder; returns through t9.
#
# See shared/divide, and shared/ev67/align_divisor for how it begins.  A divisor of zero gives quotient
# zero, and the dividend as the remainder.

remqu:
        .include divide_save
        mov     t10,t0
        mov     t11,t1
        unop
        unop

        .include divide
        .align 4
        mov     t0,pv
        unop
        unop
        unop

        .include divide_restore
