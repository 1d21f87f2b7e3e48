# at becomes how far the divisor t1 is shifted so that its top bit is where that of the dividend t0
# is, or negative; t1 is shifted.  Changes t2, t3.

        ctlz    t0,t2               # U
        ctlz    t1,t3               # U
        clr     pv
        beq     t1,divided          # U

        subq    t3,t2,at
        sll     t1,at,t1            # U
        blt     at,divided          # U
        unop
