# Quotient pv and rest t0 of t0 / t1, both without sign; zero where t1 is.  Changes at, t1-t3.
#
# One bit of the quotient in each iteration: a comparison and a CMOV, three cycles.  The CMOV takes
# two places where registers are renamed, and there is a third cycle for it.  Four bits in a pass.

        .include align_divisor
        .align 4
divide_bit:
        cmpule  t1,t0,t2
        subq    t0,t1,t3
        srl     t1,1,t1             # U
        addq    pv,pv,pv

        cmovne  t2,t3,t0
        subq    at,1,at
        addq    pv,t2,pv
        blt     at,divided          # U

        cmpule  t1,t0,t2
        subq    t0,t1,t3
        srl     t1,1,t1             # U
        addq    pv,pv,pv

        cmovne  t2,t3,t0
        subq    at,1,at
        addq    pv,t2,pv
        blt     at,divided          # U

        cmpule  t1,t0,t2
        subq    t0,t1,t3
        srl     t1,1,t1             # U
        addq    pv,pv,pv

        cmovne  t2,t3,t0
        subq    at,1,at
        addq    pv,t2,pv
        blt     at,divided          # U

        cmpule  t1,t0,t2
        subq    t0,t1,t3
        srl     t1,1,t1             # U
        addq    pv,pv,pv

        cmovne  t2,t3,t0
        subq    at,1,at
        addq    pv,t2,pv
        bge     at,divide_bit       # U
divided:
