# strchr: r3 string, r4 byte; r3 the address of the first such byte or of the end, or zero.
#
# Four bytes, then words; what is in a word is looked at byte by byte: on a 750 integer instructions
# are what bounds this, loads are not.  Where the byte sought has no top bit, the top bits of a word
# are those of its difference with that byte too.  See shared/750/length for how a zero byte shows.

strchr: lbz     r5,0(r3)
        clrlwi  r12,r4,24
        lis     r9,-257
        cmplw   r5,r12
        cmpwi   cr1,r5,0
        beqlr
        beq     cr1,strchr_absent
        lbz     r5,1(r3)
        cmplw   r5,r12
        cmpwi   cr1,r5,0
        beq     strchr_one
        beq     cr1,strchr_absent
        lbz     r5,2(r3)
        cmplw   r5,r12
        cmpwi   cr1,r5,0
        beq     strchr_two
        beq     cr1,strchr_absent
        lbz     r5,3(r3)
        cmplw   r5,r12
        cmpwi   cr1,r5,0
        beq     strchr_three
        beq     cr1,strchr_absent
        rlwimi  r4,r4,8,16,23
        addi    r9,r9,-257          # 0xfefefeff
        rlwimi. r4,r4,16,0,15
        clrrwi  r3,r3,2
        srwi    r7,r9,1             # 0x7f7f7f7f
        blt     strchr_high
        lwzu    r5,4(r3)
        xor     r6,r5,r4
        add     r10,r5,r9
        add     r11,r6,r9
        or      r10,r10,r11
        andc    r10,r10,r5
        andc.   r10,r10,r7
        bne     strchr_found
        lwzu    r5,4(r3)
        xor     r6,r5,r4
        add     r10,r5,r9
        add     r11,r6,r9
        or      r10,r10,r11
        andc    r10,r10,r5
        andc.   r10,r10,r7
        bne     strchr_found
        lwzu    r5,4(r3)
        xor     r6,r5,r4
        add     r10,r5,r9
        add     r11,r6,r9
        or      r10,r10,r11
        andc    r10,r10,r5
        andc.   r11,r10,r7
        bne     strchr_found
        .p2align 4
strchr_words:
        lwzu    r5,4(r3)
        and.    r11,r11,r0          # the byte in the word before
        xor     r6,r5,r4
        bne     strchr_before
        add     r10,r5,r9
        nor     r0,r5,r7
        add     r11,r6,r9
        and.    r10,r10,r0
        beq     strchr_words
strchr_found:                       # the end or the byte is in the word at r3
        lbz     r5,0(r3)
        cmplw   r5,r12
        cmpwi   cr1,r5,0
        beqlr
        beq     cr1,strchr_absent
        lbz     r5,1(r3)
        cmplw   r5,r12
        cmpwi   cr1,r5,0
        beq     strchr_one
        beq     cr1,strchr_absent
        lbz     r5,2(r3)
        cmplw   r5,r12
        cmpwi   cr1,r5,0
        beq     strchr_two
        beq     cr1,strchr_absent
        lbz     r5,3(r3)
        cmplw   r5,r12
        beq     strchr_three
strchr_absent:
        li      r3,0
        blr
strchr_one:
        addi    r3,r3,1
        blr
strchr_two:
        addi    r3,r3,2
        blr
strchr_three:
        addi    r3,r3,3
        blr

strchr_before:
        addi    r3,r3,-4
        b       strchr_found

strchr_high:                        # the byte sought has a top bit
        lwzu    r5,4(r3)
        xor     r6,r5,r4
        add     r10,r5,r9
        add     r11,r6,r9
        andc    r10,r10,r5
        andc    r11,r11,r6
        or      r10,r10,r11
        andc.   r10,r10,r7
        beq     strchr_high
        b       strchr_found
