# strcmp: r3 and r4 strings; r3 the difference of the first two bytes that differ, or zero.
#
# Bytes until the first string is at a doubleword; then doublewords, the second's from anywhere as
# long as they stay in its page of 4096 bytes, and over the page's end eight bytes.  See
# shared/power4/length.

strcmp:
        .include strcmp_start
        andi.   r5,r3,7
        lis     r7,0x7f7f
        ori     r7,r7,0x7f7f
        rldimi  r7,r7,32,0
        add     r9,r7,r7
        addi    r9,r9,1             # 0xfefefefefefefeff
        addi    r3,r3,-1
        addi    r4,r4,-1
        beq     strcmp_page
        subfic  r5,r5,8
        mtctr   r5
strcmp_bytes:
        lbzu    r5,1(r3)
        lbzu    r6,1(r4)
        cmpdi   r5,0
        cmpld   cr1,r5,r6
        beq     strcmp_difference
        bdnzt   4*cr1+eq,strcmp_bytes
        bne     cr1,strcmp_difference
strcmp_page:                        # doublewords of the second string that stay in its page
        addi    r5,r4,1
        clrldi  r5,r5,52
        subfic  r5,r5,4096
        srdi.   r5,r5,3
        addi    r3,r3,-7
        addi    r4,r4,-7
        beq     strcmp_over
        mtctr   r5
        .p2align 4
strcmp_words:
        ldu     r5,8(r3)
        ldu     r6,8(r4)
        add     r10,r5,r9
        nor     r0,r5,r7
        and.    r10,r10,r0
        cmpld   cr1,r5,r6
        bne     strcmp_found
        bdnzt   4*cr1+eq,strcmp_words
        bne     cr1,strcmp_found
strcmp_over:
        li      r0,8
        mtctr   r0
        addi    r3,r3,7
        addi    r4,r4,7
        b       strcmp_bytes

strcmp_found:                       # a difference, unless the end is in front of it
        and     r10,r5,r7
        or      r0,r5,r7
        add     r10,r10,r7
        xor     r11,r5,r6
        nor     r10,r10,r0
        cntlzd  r11,r11
        cntlzd  r10,r10
        clrrdi  r11,r11,3
        cmpld   r10,r11
        li      r3,0
        bltlr
        addi    r11,r11,8           # that byte comes down
        rldcl   r5,r5,r11,56
        rldcl   r6,r6,r11,56
        .include strcmp_difference
