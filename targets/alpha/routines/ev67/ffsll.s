# ffsll: a0 integer; v0 one more than the number of its lowest set bit, zero for zero.
#
# CTTZ says 64 for zero; the mask takes what is made of that away, without a branch.

ffsll:  cttz    a0,v0               # U
        cmpult  zero,a0,t0
        subq    zero,t0,t0
        unop

        addq    v0,1,v0
        and     v0,t0,v0
        ret                         # L
