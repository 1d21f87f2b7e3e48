# ffs: a0 integer of 32 bits; v0 one more than the number of its lowest set bit, zero for zero.
# See shared/bitscan.

ffs:    zapnot  a0,15,a0            # U
        unop
        unop
        unop

        .include bitscan
