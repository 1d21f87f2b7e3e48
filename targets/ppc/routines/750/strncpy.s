# strncpy: r3 destination, r4 string, r5 bytes to write, zeros behind the string; r3 the
# destination.
#
# As shared/750/string, with r5 the bytes that are left.  Zeros are words, the last one in front
# of the end.

strncpy:
        cmplwi  r5,0
        neg     r0,r4
        lis     r7,0x7f7f
        lis     r9,-257             # 0xfefefeff
        beqlr
        clrlwi. r0,r0,30
        ori     r7,r7,0x7f7f
        addi    r9,r9,-257
        addi    r6,r3,-1
        addi    r4,r4,-1
        beq     strncpy_aligned
        cmplw   r0,r5
        ble     strncpy_head
strncpy_few:                        # the r5 bytes that are left
        mr      r0,r5
strncpy_head:
        mtctr   r0
        subf    r5,r0,r5
strncpy_bytes:
        lbzu    r8,1(r4)
        cmpwi   r8,0
        stbu    r8,1(r6)
        bdnzf   eq,strncpy_bytes
        mfctr   r0
        add     r5,r5,r0
        beq     strncpy_zeros
        cmplwi  r5,0
        beqlr
strncpy_aligned:
        srwi.   r0,r5,2
        beq     strncpy_few
        mtctr   r0
        clrlwi. r5,r5,30
        addi    r4,r4,-3
        addi    r6,r6,-3
        .p2align 4
strncpy_words:
        lwzu    r8,4(r4)
        add     r10,r8,r9
        nor     r0,r8,r7
        and.    r10,r10,r0
        bne     strncpy_last
        stwu    r8,4(r6)
        bdnz    strncpy_words
        cmplwi  r5,0
        addi    r4,r4,3
        addi    r6,r6,3
        bne     strncpy_few
        blr
strncpy_last:                       # this word has the end
        mfctr   r0
        slwi    r0,r0,2
        add     r5,r5,r0
        addi    r6,r6,3
strncpy_end:
        rotlwi  r8,r8,8
        addi    r5,r5,-1
        andi.   r0,r8,255
        stbu    r8,1(r6)
        bne     strncpy_end
strncpy_zeros:                      # r5 of them behind r6
        cmplwi  r5,4
        add     r7,r6,r5            # the last one
        li      r8,0
        blt     strncpy_zero
        addi    r5,r5,-1
        srwi    r0,r5,2
        mtctr   r0
        addi    r6,r6,-3
        cmplwi  r0,0
        beq     strncpy_zero_last
strncpy_zero_words:
        stwu    r8,4(r6)
        bdnz    strncpy_zero_words
strncpy_zero_last:
        stw     r8,-3(r7)
        blr
strncpy_zero:
        cmplwi  r5,0
        beqlr
        mtctr   r5
strncpy_zero_bytes:
        stbu    r8,1(r6)
        bdnz    strncpy_zero_bytes
        blr
