# cr0: whether the word r5 has no end and r6 no zero byte, perhaps, for either.  Changes r0 and r11.

        add     r0,r5,r9
        add     r11,r6,r9
        andc    r0,r0,r5
        andc    r11,r11,r6
        or      r0,r0,r11
        andc.   r0,r0,r7
