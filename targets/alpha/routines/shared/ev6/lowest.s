# t3 becomes the number of the lowest bit that is set in t2, one of 8; changes t4, t5.  Without
# CTTZ: the bit alone, then each bit of its number is whether it is under a mask.

        negq    t2,t3
        and     t2,t3,t3
        and     t3,0xf0,t4
        and     t3,0xcc,t5

        and     t3,0xaa,t3
        cmpult  zero,t4,t4
        cmpult  zero,t5,t5
        cmpult  zero,t3,t3

        addq    t5,t5,t5
        s4addq  t4,t3,t3
        addq    t3,t5,t3
