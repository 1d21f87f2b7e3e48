# The next words of both strings, for strncmp.

        lwzu    r10,4(r3)
        lwzu    r11,4(r4)
        add     r8,r10,r9
        nor     r0,r10,r7
        cmplw   cr1,r10,r11
        and.    r8,r8,r0
        bne     cr1,strncmp_found
        bne     strncmp_found
