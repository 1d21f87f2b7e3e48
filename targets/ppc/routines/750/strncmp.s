# strncmp: r3 and r4 strings, r5 how many bytes at most; r3 as strcmp.
#
# As strcmp, with r5 the bytes behind those in hand.

strncmp:
        cmplwi  r5,0
        neg     r6,r3
        lis     r7,0x7f7f
        lis     r9,-257             # 0xfefefeff
        beq     strncmp_equal
        clrlwi. r6,r6,30
        ori     r7,r7,0x7f7f
        addi    r9,r9,-257
        addi    r3,r3,-1
        addi    r4,r4,-1
        beq     strncmp_page
strncmp_some:                       # r6 bytes, or what is left
        cmplw   r6,r5
        ble     strncmp_count
        mr      r6,r5
strncmp_count:
        mtctr   r6
        subf    r5,r6,r5
strncmp_bytes:
        lbzu    r10,1(r3)
        lbzu    r11,1(r4)
        cmpwi   r10,0
        cmplw   cr1,r10,r11
        beq     strncmp_difference
        bdnzt   4*cr1+eq,strncmp_bytes
        bne     cr1,strncmp_difference
        cmplwi  r5,0
        beq     strncmp_equal
strncmp_page:                       # words of the second string that stay in its page
        addi    r6,r4,1
        clrlwi  r6,r6,20
        subfic  r6,r6,4096
        cmplw   r6,r5
        ble     strncmp_inside
        mr      r6,r5
strncmp_inside:
        srwi.   r0,r6,2
        li      r6,4
        beq     strncmp_some
        mtctr   r0
        slwi    r0,r0,2
        subf    r5,r0,r5
        addi    r3,r3,-3
        addi    r4,r4,-3
        .p2align 4
strncmp_words:
        lwzu    r10,4(r3)
        lwzu    r11,4(r4)
        add     r8,r10,r9
        nor     r0,r10,r7
        and.    r8,r8,r0
        cmplw   cr1,r10,r11
        bne     strncmp_found
        bdnzt   4*cr1+eq,strncmp_words
        bne     cr1,strncmp_found
        cmplwi  r5,0
        addi    r3,r3,3
        addi    r4,r4,3
        bne     strncmp_some
strncmp_equal:
        li      r3,0
        blr

strncmp_found:                      # a difference, unless the end is in front of it
        and     r8,r10,r7
        or      r0,r10,r7
        add     r8,r8,r7
        xor     r9,r10,r11
        nor     r8,r8,r0
        cntlzw  r9,r9
        cntlzw  r8,r8
        clrrwi  r9,r9,3
        cmplw   r8,r9
        li      r3,0
        bltlr
        addi    r9,r9,8             # that byte comes down
        rlwnm   r10,r10,r9,24,31
        rlwnm   r11,r11,r9,24,31
strncmp_difference:
        subf    r3,r11,r10
        blr
