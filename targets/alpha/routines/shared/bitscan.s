# v0 becomes one more than the number of the lowest bit that is set in a0, zero for zero, without
# CTTZ: the number of its lowest byte that is not zero, then the number in that byte.

        cmpbge  zero,a0,t2
        clr     v0
        not     t2,t2
        beq     a0,no_bit           # U

        .include lowest
        extbl   a0,t3,t2            # U

        s8addq  t3,1,v0
        .include lowest
        addq    v0,t3,v0
        .align 4
no_bit: ret                         # L
