# Goes on at the first doubleword of the string at r3 that has its end or a byte of r4, eight
# equal ones; r8 is its address, r5 the doubleword, r6 what makes the bytes of r4 zero, bytes in
# front not zero in either.  r7 and r9 are constants, r0, r10 and r11 are changed; see
# shared/power4/length.

        clrrdi  r8,r3,3
        rlwinm  r10,r3,3,26,28      # bits in front of the string
        ld      r5,0(r8)
        li      r0,-1
        lis     r7,0x7f7f
        srd     r0,r0,r10
        xor     r6,r5,r4
        ori     r7,r7,0x7f7f
        rldimi  r7,r7,32,0
        orc     r5,r5,r0
        orc     r6,r6,r0
        add     r9,r7,r7            # 0xfefefefefefefeff
        addi    r9,r9,1
        b       either_word
        .p2align 4
either_words:
        ldu     r5,8(r8)
        xor     r6,r5,r4
either_word:
        add     r10,r5,r9
        add     r11,r6,r9
        andc    r10,r10,r5
        andc    r11,r11,r6
        or      r10,r10,r11
        andc.   r10,r10,r7
        beq     either_words
