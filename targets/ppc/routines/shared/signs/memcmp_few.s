# As shared/power9/memcmp_few, but -1 or 1 of 8 bytes and more, and of 4 and more but for the last.

        cmpldi  cr1,r5,8
        blt     cr1,memcmp_some
memcmp_sign:
        .include memcmp_difference
memcmp_some:
        cmpldi  cr1,r5,4
        addi    r6,r6,1
        cmpld   r6,r5
        blt     cr1,memcmp_byte
        blt     memcmp_sign
memcmp_byte:
        subf    r3,r4,r3
        blr
