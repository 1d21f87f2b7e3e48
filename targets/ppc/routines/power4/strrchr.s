# strrchr: r3 string, r4 byte; r3 the address of the last such byte or of the end, or zero.
#
# r12 is the address of the last doubleword so far that had the byte, r3 its marks.  See
# shared/power4/either.

strrchr:
        rlwimi  r4,r4,8,16,23
        rlwimi  r4,r4,16,0,15
        rldimi  r4,r4,32,0
        li      r12,0
        .include either
        li      r3,0
strrchr_word:
        .include marks
        cmpdi   r10,0
        bne     strrchr_end
        mr      r12,r8
        mr      r3,r11
        ldu     r5,8(r8)
        xor     r6,r5,r4
        add     r10,r5,r9           # the next doubleword in a hurry
        add     r11,r6,r9
        andc    r10,r10,r5
        andc    r11,r11,r6
        or      r10,r10,r11
        andc.   r10,r10,r7
        bne     strrchr_word
strrchr_words:
        ldu     r5,8(r8)
        xor     r6,r5,r4
        add     r10,r5,r9
        add     r11,r6,r9
        andc    r10,r10,r5
        andc    r11,r11,r6
        or      r10,r10,r11
        andc.   r10,r10,r7
        beq     strrchr_words
        b       strrchr_word

strrchr_end:                        # marks up to that of the end count
        cntlzd  r10,r10
        li      r0,-1
        srdi    r0,r0,1
        srd     r0,r0,r10
        andc.   r11,r11,r0
        beq     strrchr_before
        mr      r12,r8
        mr      r3,r11
strrchr_before:
        neg     r0,r3
        and     r3,r3,r0            # the last mark
        cmpldi  r3,0
        cntlzd  r3,r3
        srdi    r3,r3,3
        add     r3,r12,r3
        bnelr
        li      r3,0
        blr
