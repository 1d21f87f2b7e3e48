# ffsll: a0 integer; v0 one more than the number of its lowest set bit, zero for zero.
# See shared/bitscan.

ffsll:
        .include bitscan
