# Comes to `stop` with the quadwords t2, t4, their difference t6 and, as bits, the ends t5 of t2.
# Returns -1, 0 or 1.

stop:   cmpbge  zero,t6,t6          # bytes that are equal
        ornot   t5,t6,t6
        negq    t6,at
        and     t6,at,at            # the first that ends or differs

        zapnot  t2,at,t2            # U
        zapnot  t4,at,t4            # U
        cmpult  t4,t2,t0
        cmpult  t2,t4,t1

        subq    t0,t1,v0
        ret                         # L
        unop
        unop
