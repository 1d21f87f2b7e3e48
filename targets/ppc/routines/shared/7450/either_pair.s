# The next pair of words behind r8, for either.

        lwz     r5,4(r8)
        lwzu    r10,8(r8)
        xor     r6,r5,r4
        .include either_marks
        bne     either_first
        xor     r6,r10,r4
        add     r0,r10,r9
        add     r11,r6,r9
        andc    r0,r0,r10
        andc    r11,r11,r6
        or      r0,r0,r11
        andc.   r0,r0,r7
        bne     either_second
