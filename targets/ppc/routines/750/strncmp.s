# strncmp: r3 and r4 strings, r5 how many bytes at most; r3 as strcmp.
#
# As strcmp, with r5 the bytes behind those in hand; the four words where that many are left, else bytes.

strncmp:
        cmplwi  r5,0
        mtctr   r5
        beq     strncmp_equal
        lbz     r10,0(r3)
        lbz     r11,0(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        lis     r9,-257
        bdz     strncmp_equal
        lbz     r10,1(r3)
        lbz     r11,1(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        lbz     r10,2(r3)
        lbz     r11,2(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        lbz     r10,3(r3)
        lbz     r11,3(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        nor     r8,r3,r4
        cmplwi  cr1,r5,20
        andi.   r8,r8,0xfe0         # zero: either may be in the last 32 bytes of its page
        addi    r5,r5,-4
        blt     cr1,strncmp_few
        beq     strncmp_near
        lwzu    r10,4(r3)
        lwzu    r11,4(r4)
        addi    r9,r9,-257          # 0xfefefeff
        srwi    r7,r9,1             # 0x7f7f7f7f
        add     r8,r10,r9
        nor     r0,r10,r7
        cmplw   cr1,r10,r11
        and.    r8,r8,r0
        bne     cr1,strncmp_found
        bne     strncmp_found
        .include strncmp_word
        .include strncmp_word
        .include strncmp_word
        addi    r5,r5,-16
strncmp_align:                      # the words at both are equal and have no end
        clrlwi  r8,r3,30
        subf    r3,r8,r3
        subf    r4,r8,r4
        add     r5,r5,r8
strncmp_page:                       # words of the second string that stay in its page
        addi    r8,r4,4
        clrlwi  r8,r8,20
        subfic  r8,r8,4096
        cmplw   r8,r5
        ble     strncmp_inside
        mr      r8,r5
strncmp_inside:
        srwi.   r0,r8,2
        mtctr   r0
        beq     strncmp_over
        slwi    r0,r0,2
        subf    r5,r0,r5
        .p2align 4
strncmp_words:
        lwzu    r10,4(r3)
        lwzu    r11,4(r4)
        add     r8,r10,r9
        nor     r0,r10,r7
        cmplw   cr1,r10,r11
        and.    r8,r8,r0
        bne     cr1,strncmp_found
        bdnzt   eq,strncmp_words
        bne     strncmp_found
strncmp_over:                       # four bytes, or what is left
        cmplwi  r5,0
        li      r8,4
        beq     strncmp_equal
        cmplw   r8,r5
        addi    r3,r3,3
        addi    r4,r4,3
        ble     strncmp_count
        mr      r8,r5
strncmp_count:
        mtctr   r8
        subf    r5,r8,r5
strncmp_bytes:
        lbzu    r10,1(r3)
        lbzu    r11,1(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bdnzt   4*cr1+eq,strncmp_bytes
        bne     cr1,strncmp_difference
        cmplwi  r5,0
        addi    r3,r3,-3
        addi    r4,r4,-3
        bne     strncmp_page
strncmp_equal:
        li      r3,0
        blr

strncmp_few:                        # bytes, CTR of them at most
        lbz     r10,4(r3)
        lbz     r11,4(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        lbz     r10,5(r3)
        lbz     r11,5(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        lbz     r10,6(r3)
        lbz     r11,6(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        lbz     r10,7(r3)
        lbz     r11,7(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        lbz     r10,8(r3)
        lbz     r11,8(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        lbz     r10,9(r3)
        lbz     r11,9(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        lbz     r10,10(r3)
        lbz     r11,10(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        lbz     r10,11(r3)
        lbz     r11,11(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        bdz     strncmp_equal
        addi    r3,r3,8
        addi    r4,r4,8
        b       strncmp_few

strncmp_near:
        addi    r9,r9,-257
        srwi    r7,r9,1
        b       strncmp_align

strncmp_found:                      # the end or a difference is in the words at both
        lbz     r10,0(r3)
        lbz     r11,0(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        lbz     r10,1(r3)
        lbz     r11,1(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        lbz     r10,2(r3)
        lbz     r11,2(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bne     cr1,strncmp_difference
        lbz     r10,3(r3)
        lbz     r11,3(r4)
strncmp_difference:
        subf    r3,r11,r10
        blr
