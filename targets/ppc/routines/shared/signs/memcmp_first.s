# As shared/power9/memcmp_first, but -1 or 1 of 4 bytes and more; cr0 has r7 beside r8.

        cmpldi  cr1,r5,4
        blt     cr1,memcmp_start
        setb    r3,cr0
        blr
memcmp_start:
        subf    r3,r8,r7
        blr
