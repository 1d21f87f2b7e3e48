# r10 becomes the mask of the zero bytes of r5, r11 of those of r6; changes r0.

        and     r10,r5,r7
        and     r11,r6,r7
        or      r0,r5,r7
        add     r10,r10,r7
        add     r11,r11,r7
        nor     r10,r10,r0
        or      r0,r6,r7
        nor     r11,r11,r0
