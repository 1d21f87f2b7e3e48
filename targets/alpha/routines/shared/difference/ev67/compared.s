# As shared/compared, but returns the difference of the first two bytes that differ.

stop:   cmpbge  zero,t6,t6          # bytes that are equal
        ornot   t5,t6,t6
        cttz    t6,t0               # U the number of the first that ends or differs
        unop

        extbl   t2,t0,t2            # U
        extbl   t4,t0,t4            # U
        subq    t2,t4,v0
        ret                         # L
