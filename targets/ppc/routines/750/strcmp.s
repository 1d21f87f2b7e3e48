# strcmp: r3 and r4 strings; r3 the difference of the first two bytes that differ, or zero.
#
# Four bytes, then four words from anywhere where both strings stay in their pages of 4096 bytes for
# 32 bytes; then from a word of the first string on words, of the second as long as they stay in
# its page, and over the page's end four bytes.  What ends or differs in a word is looked at byte by
# byte: on a 750 integer instructions are what bounds this, loads are not.  See shared/750/length
# for how a zero byte shows.

strcmp: .include strcmp_start
        lbz     r5,0(r3)
        lbz     r6,0(r4)
        lis     r9,-257
        cmpwi   r5,0
        cmplw   cr1,r5,r6
        beq     strcmp_difference
        bne     cr1,strcmp_difference
        lbz     r5,1(r3)
        lbz     r6,1(r4)
        cmpwi   r5,0
        cmplw   cr1,r5,r6
        beq     strcmp_difference
        bne     cr1,strcmp_difference
        lbz     r5,2(r3)
        lbz     r6,2(r4)
        cmpwi   r5,0
        cmplw   cr1,r5,r6
        beq     strcmp_difference
        bne     cr1,strcmp_difference
        lbz     r5,3(r3)
        lbz     r6,3(r4)
        cmpwi   r5,0
        cmplw   cr1,r5,r6
        beq     strcmp_difference
        bne     cr1,strcmp_difference
        nor     r8,r3,r4
        andi.   r8,r8,0xfe0         # zero: either may be in the last 32 bytes of its page
        beq     strcmp_near
        lwzu    r5,4(r3)
        lwzu    r6,4(r4)
        addi    r9,r9,-257          # 0xfefefeff
        srwi    r7,r9,1             # 0x7f7f7f7f
        add     r10,r5,r9
        nor     r0,r5,r7
        cmplw   cr1,r5,r6
        and.    r10,r10,r0
        bne     cr1,strcmp_found
        bne     strcmp_found
        .include strcmp_word
        .include strcmp_word
        .include strcmp_word
strcmp_align:                       # the words at both are equal and have no end
        clrlwi  r8,r3,30
        subf    r3,r8,r3
        subf    r4,r8,r4
strcmp_page:                        # words of the second string that stay in its page
        addi    r8,r4,4
        clrlwi  r8,r8,20
        subfic  r8,r8,4096
        srwi.   r8,r8,2
        mtctr   r8
        beq     strcmp_over
        .p2align 4
strcmp_words:
        lwzu    r5,4(r3)
        lwzu    r6,4(r4)
        add     r10,r5,r9
        nor     r0,r5,r7
        cmplw   cr1,r5,r6
        and.    r10,r10,r0
        bne     cr1,strcmp_found
        bdnzt   eq,strcmp_words
        bne     strcmp_found
strcmp_over:
        li      r0,4
        addi    r3,r3,3
        addi    r4,r4,3
        mtctr   r0
strcmp_bytes:
        lbzu    r5,1(r3)
        lbzu    r6,1(r4)
        cmpwi   r5,0
        cmplw   cr1,r5,r6
        beq     strcmp_difference
        bdnzt   4*cr1+eq,strcmp_bytes
        bne     cr1,strcmp_difference
        addi    r3,r3,-3
        addi    r4,r4,-3
        b       strcmp_page

strcmp_near:
        addi    r9,r9,-257
        srwi    r7,r9,1
        b       strcmp_align

strcmp_found:                       # the end or a difference is in the words at both
        lbz     r5,0(r3)
        lbz     r6,0(r4)
        cmpwi   r5,0
        cmplw   cr1,r5,r6
        beq     strcmp_difference
        bne     cr1,strcmp_difference
        lbz     r5,1(r3)
        lbz     r6,1(r4)
        cmpwi   r5,0
        cmplw   cr1,r5,r6
        beq     strcmp_difference
        bne     cr1,strcmp_difference
        lbz     r5,2(r3)
        lbz     r6,2(r4)
        cmpwi   r5,0
        cmplw   cr1,r5,r6
        beq     strcmp_difference
        bne     cr1,strcmp_difference
        lbz     r5,3(r3)
        lbz     r6,3(r4)
strcmp_difference:
        subf    r3,r6,r5
        blr
