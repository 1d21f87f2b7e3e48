# Comes to `differ` with the quadwords t2, t4 and their difference t5.  Returns -1 or 1.

differ: cmpbge  zero,t5,t6          # bytes that are equal
        addq    t6,1,at
        andnot  at,t6,at            # the first that is not
        unop

        zapnot  t2,at,t2            # U
        zapnot  t4,at,t4            # U
        cmpult  t4,t2,t0
        cmpult  t2,t4,t1

        subq    t0,t1,v0
        ret                         # L
