# The next words of both strings, for strcmp.

        lwzu    r5,4(r3)
        lwzu    r6,4(r4)
        add     r10,r5,r9
        nor     r0,r5,r7
        cmplw   cr1,r5,r6
        and.    r10,r10,r0
        bne     cr1,strcmp_found
        bne     strcmp_found
