# As shared/750/strcmp_found, but where both strings begin at a word (cr7) the result is the
# difference of the words, or where their top bits differ the second one, odd.

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
        blt     strcmp_equal
        beq     cr7,strcmp_whole
        addi    r11,r11,8           # that byte comes down
        rlwnm   r5,r5,r11,24,31
        rlwnm   r6,r6,r11,24,31
strcmp_difference:
        cmplw   r5,r6
        beq     strcmp_equal
        beq     cr7,strcmp_again
        subf    r3,r6,r5
        blr
strcmp_again:
        clrrwi  r3,r3,2
        clrrwi  r4,r4,2
        lwz     r5,0(r3)
        lwz     r6,0(r4)
strcmp_whole:
        xor.    r10,r5,r6
        subf    r3,r6,r5
        bgelr
        ori     r3,r6,1
        blr
strcmp_equal:
        li      r3,0
        blr
