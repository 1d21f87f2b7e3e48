# Goes on at the first word of the string at r3 that has its end or a byte of r4, four equal ones;
# r8 is its address, r5 the word, r6 what makes the bytes of r4 zero, bytes in front not zero in
# either.  r7 and r9 are constants, r0, r10 and r11 are changed; see shared/750/length.

        .include either_start
        b       either_word
        .p2align 4
either_words:
        lwzu    r5,4(r8)
        xor     r6,r5,r4
either_word:
        add     r10,r5,r9
        add     r11,r6,r9
        andc    r10,r10,r5
        andc    r11,r11,r6
        or      r10,r10,r11
        andc.   r10,r10,r7
        beq     either_words
