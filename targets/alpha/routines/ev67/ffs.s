# ffs: a0 integer of 32 bits; v0 one more than the number of its lowest set bit, zero for zero.
#
# As ev67/ffsll, on the low half.

ffs:    zapnot  a0,15,a0            # U
        unop
        unop
        unop

        cttz    a0,v0               # U
        cmpult  zero,a0,t0
        subq    zero,t0,t0
        unop

        addq    v0,1,v0
        and     v0,t0,v0
        ret                         # L
