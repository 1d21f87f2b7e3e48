# strncpy: r3 destination, r4 string, r5 bytes to write, zeros behind the string; r3 the
# destination.
#
# As shared/power4/string, with r5 the bytes that are left.  Zeros are doublewords, the last one in
# front of the end.

strncpy:
        cmpldi  r5,0
        neg     r0,r4
        lis     r7,0x7f7f
        beqlr
        clrldi. r0,r0,61
        ori     r7,r7,0x7f7f
        rldimi  r7,r7,32,0
        add     r9,r7,r7
        addi    r9,r9,1             # 0xfefefefefefefeff
        addi    r6,r3,-1
        addi    r4,r4,-1
        beq     strncpy_aligned
        cmpld   r0,r5
        ble     strncpy_head
strncpy_few:                        # the r5 bytes that are left
        mr      r0,r5
strncpy_head:
        mtctr   r0
        subf    r5,r0,r5
strncpy_bytes:
        lbzu    r8,1(r4)
        cmpdi   r8,0
        stbu    r8,1(r6)
        bdnzf   eq,strncpy_bytes
        mfctr   r0
        add     r5,r5,r0
        beq     strncpy_zeros
        cmpldi  r5,0
        beqlr
strncpy_aligned:
        srdi.   r0,r5,3
        beq     strncpy_few
        mtctr   r0
        clrldi. r5,r5,61
        addi    r4,r4,-7
        addi    r6,r6,-7
        .p2align 4
strncpy_words:
        ldu     r8,8(r4)
        add     r10,r8,r9
        nor     r0,r8,r7
        and.    r10,r10,r0
        bne     strncpy_last
        stdu    r8,8(r6)
        bdnz    strncpy_words
        cmpldi  r5,0
        addi    r4,r4,7
        addi    r6,r6,7
        bne     strncpy_few
        blr
strncpy_last:                       # this doubleword has the end
        mfctr   r0
        sldi    r0,r0,3
        add     r5,r5,r0
        addi    r6,r6,7
strncpy_end:
        rotldi  r8,r8,8
        addi    r5,r5,-1
        andi.   r0,r8,255
        stbu    r8,1(r6)
        bne     strncpy_end
strncpy_zeros:                      # r5 of them behind r6
        cmpldi  r5,8
        add     r7,r6,r5            # the last one
        li      r8,0
        blt     strncpy_zero
        addi    r5,r5,-1
        srdi    r0,r5,3
        mtctr   r0
        addi    r6,r6,-7
        cmpldi  r0,0
        beq     strncpy_zero_last
strncpy_zero_words:
        stdu    r8,8(r6)
        bdnz    strncpy_zero_words
strncpy_zero_last:
        addi    r7,r7,-7
        std     r8,0(r7)
        blr
strncpy_zero:
        cmpldi  r5,0
        beqlr
        mtctr   r5
strncpy_zero_bytes:
        stbu    r8,1(r6)
        bdnz    strncpy_zero_bytes
        blr
