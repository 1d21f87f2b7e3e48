# at becomes the number of zeros in front of the highest bit that is set in a3, without CTLZ: the
# number of its highest byte that is not zero, then the number in that byte.  Changes t2-t5.

        cmpbge  zero,a3,t2
        xor     t2,0xff,t2
        .include highest
        extbl   a3,t3,t2            # U

        s8addq  t3,0,at
        .include highest
        addq    at,t3,at
        xor     at,63,at
