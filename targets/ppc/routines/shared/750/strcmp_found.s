# strcmp_found: r5 and r6 words that differ or hold the end, r7 0x7f7f7f7f; strcmp_difference: bytes.

strcmp_found:                       # a difference, unless the end is in front of it
        and     r10,r5,r7
        or      r0,r5,r7
        add     r10,r10,r7
        xor     r11,r5,r6
        nor     r10,r10,r0
        cntlzw  r11,r11
        cntlzw  r10,r10
        clrrwi  r11,r11,3
        cmplw   r10,r11
        li      r3,0
        bltlr
        addi    r11,r11,8           # that byte comes down
        rlwnm   r5,r5,r11,24,31
        rlwnm   r6,r6,r11,24,31
strcmp_difference:
        subf    r3,r6,r5
        blr
