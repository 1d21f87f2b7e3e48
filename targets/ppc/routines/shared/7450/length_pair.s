# The next pair of words behind r4, for length.

        lwz     r6,4(r4)
        lwzu    r10,8(r4)
        add     r8,r6,r9
        nor     r0,r6,r7
        add     r11,r10,r9
        and.    r8,r8,r0
        nor     r5,r10,r7
        bne     length_first
        and.    r11,r11,r5
        bne     length_second
