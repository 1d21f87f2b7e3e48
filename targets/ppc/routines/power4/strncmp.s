# strncmp: r3 and r4 strings, r5 how many bytes at most; r3 as strcmp.
#
# As strcmp, with r5 the bytes behind those in hand.

strncmp:
        cmpldi  r5,0
        neg     r6,r3
        lis     r7,0x7f7f
        beq     strncmp_equal
        clrldi. r6,r6,61
        ori     r7,r7,0x7f7f
        rldimi  r7,r7,32,0
        add     r9,r7,r7
        addi    r9,r9,1             # 0xfefefefefefefeff
        addi    r3,r3,-1
        addi    r4,r4,-1
        beq     strncmp_page
strncmp_some:                       # r6 bytes, or what is left
        cmpld   r6,r5
        ble     strncmp_count
        mr      r6,r5
strncmp_count:
        mtctr   r6
        subf    r5,r6,r5
strncmp_bytes:
        lbzu    r10,1(r3)
        lbzu    r11,1(r4)
        cmpdi   r10,0
        cmpld   cr1,r10,r11
        beq     strncmp_difference
        bdnzt   4*cr1+eq,strncmp_bytes
        bne     cr1,strncmp_difference
        cmpldi  r5,0
        beq     strncmp_equal
strncmp_page:                       # doublewords of the second string that stay in its page
        addi    r6,r4,1
        clrldi  r6,r6,52
        subfic  r6,r6,4096
        cmpld   r6,r5
        ble     strncmp_inside
        mr      r6,r5
strncmp_inside:
        srdi.   r0,r6,3
        li      r6,8
        beq     strncmp_some
        mtctr   r0
        sldi    r0,r0,3
        subf    r5,r0,r5
        addi    r3,r3,-7
        addi    r4,r4,-7
        .p2align 4
strncmp_words:
        ldu     r10,8(r3)
        ldu     r11,8(r4)
        add     r8,r10,r9
        nor     r0,r10,r7
        and.    r8,r8,r0
        cmpld   cr1,r10,r11
        bne     strncmp_found
        bdnzt   4*cr1+eq,strncmp_words
        bne     cr1,strncmp_found
        cmpldi  r5,0
        addi    r3,r3,7
        addi    r4,r4,7
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
        cntlzd  r9,r9
        cntlzd  r8,r8
        clrrdi  r9,r9,3
        cmpld   r8,r9
        li      r3,0
        bltlr
        addi    r9,r9,8             # that byte comes down
        rldcl   r10,r10,r9,56
        rldcl   r11,r11,r9,56
strncmp_difference:
        subf    r3,r11,r10
        blr
