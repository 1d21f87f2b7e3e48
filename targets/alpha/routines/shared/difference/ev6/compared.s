# As shared/compared, but returns the difference of the first two bytes that differ.  Without CTTZ:
# the bit of that byte alone, then each bit of its number is whether it is under a mask.

stop:   cmpbge  zero,t6,t6          # bytes that are equal
        ornot   t5,t6,t6
        negq    t6,at
        and     t6,at,at            # the first that ends or differs

        and     at,0xf0,t0
        and     at,0xcc,t1
        and     at,0xaa,t3
        cmpult  zero,t0,t0

        cmpult  zero,t1,t1
        cmpult  zero,t3,t3
        addq    t1,t1,t1
        s4addq  t0,t3,t0

        addq    t0,t1,t0            # its number
        extbl   t2,t0,t2            # U
        extbl   t4,t0,t4            # U
        subq    t2,t4,v0

        ret                         # L
        unop
        unop
        unop
